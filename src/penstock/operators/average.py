"""average: say what the mean of the elements is.

Group: ask one thing of all
Marble: a.average() over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class Average(Stage[Any, Any]):
    """Emit one element: the sum of all elements divided by their number; nothing if there is none.

    Emits when upstream completes. Backpressures never: it asks for everything and holds the sum. Completes when
    upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    # It begins with the first element and not with 0, so that durations and the like have a mean too.
    loop: ClassVar[Body] = Body(
        "{total} = {total} + v if {number} else v\n{number} += 1\nskip",
        state=(("total", "None"), ("number", "0")),
        tail="({total} / {number},) if {number} else ()",
    )

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
