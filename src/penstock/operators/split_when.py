"""split_when: cut a stream into lists between neighbours.

Group: collect
Marble: a.split_when(lambda one, other: other < one) over -1-3-2-4-1|
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
class SplitWhen(Stage[T, list[T]]):
    """Emit lists of neighbours, cut wherever the predicate is true for an element and the one after it.

    Emits when an element begins a new list, or upstream completes while elements are held; fails with OverflowedError
    when a list would have more than `size` elements. Backpressures when downstream does; it holds `size` elements at
    the most. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    predicate: Callable[[T, T], object]
    size: int = 65_536
    loop: ClassVar[Body] = Body(
        "if {items} and {predicate}({items}[-1], v):\n    {items}, v = [v], {items}\n"
        "else:\n    if len({items}) == {size}: raise {overflowed}()\n    {items}.append(v)\n    skip",
        state=(("items", "[]"),),
        tail="({items},) if {items} else ()",
    )

    def __post_init__(self) -> None:
        function_given("split_when", "predicate", self.predicate)
        count_given("split_when", "size", self.size, 1)

    def overflowed(self) -> OverflowedError:
        """Return the error for a list that would be too long."""
        return OverflowedError(
            f"split_when: {self.size} elements wait for one that begins the next list; say size= for longer lists"
        )
