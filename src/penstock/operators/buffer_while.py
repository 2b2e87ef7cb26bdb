"""buffer_while: collect runs of elements that satisfy a predicate into lists.

Group: collect
Marble: a.buffer_while(lambda n: n != 0) over -1-2-0-3-0-4|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given, function_given
from penstock.errors import OverflowedError
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BufferWhile(Stage[T, list[T]]):
    """Emit lists of neighbours for which the predicate is true; the elements between the lists are left out.

    Emits when the predicate is false for the element after a list, or upstream completes while elements are held; fails
    with OverflowedError when a list would have more than `size` elements. Backpressures when downstream does; it holds
    `size` elements at the most. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    predicate: Callable[[T], object]
    size: int = 65_536
    loop: ClassVar[Body] = Body(
        "if {predicate}(v):\n    if len({items}) == {size}: raise {overflowed}()\n    {items}.append(v)\n    skip\n"
        "if not {items}: skip\nv = {items}\n{items} = []",
        state=(("items", "[]"),),
        tail="({items},) if {items} else ()",
    )

    def __post_init__(self) -> None:
        function_given("buffer_while", "predicate", self.predicate)
        count_given("buffer_while", "size", self.size, 1)

    def overflowed(self) -> OverflowedError:
        """Return the error for a list that would be too long."""
        return OverflowedError(
            f"buffer_while: {self.size} elements wait for one that ends their list; say size= for longer lists"
        )
