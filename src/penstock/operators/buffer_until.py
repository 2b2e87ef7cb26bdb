"""buffer_until: collect elements into lists that end with a certain element.

Group: collect
Marble: a.buffer_until(lambda n: n == 0) over -1-2-0-3-0-4|
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
class BufferUntil(Stage[T, list[T]]):
    """Emit lists that each end with an element for which the predicate is true; the last may end otherwise.

    Emits when the predicate is true for an element, or upstream completes while elements are held; fails with
    OverflowedError when a list would have more than `size` elements. Backpressures when downstream does; it holds
    `size` elements at the most. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    predicate: Callable[[T], object]
    size: int = 65_536
    loop: ClassVar[Body] = Body(
        "if len({items}) == {size}: raise {overflowed}()\n"
        "{items}.append(v)\nif not {predicate}(v): skip\nv = {items}\n{items} = []",
        state=(("items", "[]"),),
        tail="({items},) if {items} else ()",
    )

    def __post_init__(self) -> None:
        function_given("buffer_until", "predicate", self.predicate)
        count_given("buffer_until", "size", self.size, 1)

    def overflowed(self) -> OverflowedError:
        """Return the error for a list that would be too long."""
        return OverflowedError(
            f"buffer_until: {self.size} elements wait for one that ends their list; say size= for longer lists"
        )
