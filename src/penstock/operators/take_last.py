"""take_last: let the last elements through.

Group: let some through
Marble: a.take_last(2) over -1-2-3-4-|
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TakeLast(Stage[T, T]):
    """Emit the last `count` elements, or all if there are fewer.

    Emits when upstream completes. Backpressures then, when downstream does; before, it asks for everything and holds
    `count` elements. Completes with the last element. Cancels when downstream cancels.
    """

    count: int
    loop: ClassVar[Body] = Body("{items}.append(v)\nskip", state=(("items", "deque(maxlen={most})"),), tail="{items}")

    def __post_init__(self) -> None:
        count_given("take_last", "count", self.count, 0)

    @property
    def most(self) -> int:
        """Return the count, or the most that can be held at all."""
        return min(self.count, sys.maxsize)

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED

    @property
    def results(self) -> Results:  # type: ignore[override]
        """Give one where that is what it takes."""
        return Results.ONE if self.count <= 1 else Results.AS_MANY
