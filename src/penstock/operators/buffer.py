"""buffer: collect elements into lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.arguments import count_given
from penstock.engine.demand import UNBOUNDED
from penstock.stage import Body, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Buffer(Stage[T, list[T]]):
    """Emit lists of `count` elements; the last may be shorter.

    Emits when `count` elements have come, or upstream completes with some at hand. Backpressures when downstream does;
    it holds fewer than `count` elements. Completes when upstream completes. Cancels when downstream cancels.
    """

    count: int
    loop: ClassVar[Body] = Body(
        "{items}.append(v)\nif len({items}) < {count}: skip\nv = {items}\n{items} = []",
        state=(("items", "[]"),),
        tail="({items},) if {items} else ()",
    )

    def __post_init__(self) -> None:
        count_given("buffer", "count", self.count, 1)

    def demand(self, n: int) -> int:
        """Ask for whole lists."""
        return min(n * self.count, UNBOUNDED)
