"""sum: add up all elements.

Group: ask one thing of all
Marble: a.sum() over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.words.arguments import elements_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class Sum(Stage[Any, Any]):
    """Emit one element: `start` and all elements added to it, one after the other.

    Emits when upstream completes; `start` itself if it was empty. Backpressures never: it asks for everything and holds
    the sum. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    start: Any = 0
    loop: ClassVar[Body] = Body("{total} = {total} + v\nskip", state=(("total", "{start}"),), tail="({total},)")

    def __post_init__(self) -> None:
        elements_given("sum", self.start)

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
