"""count: say how many elements there were.

Group: collect
Marble: a.count() over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class Count(Stage[Any, int]):
    """Emit one element: the number of elements.

    Emits when upstream completes. Backpressures never: it asks for everything and holds a number. Completes when
    upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    tallies: ClassVar[bool] = True
    loop: ClassVar[Body] = Body("{total} += 1\nskip", state=(("total", "0"),), tail="({total},)")

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
