"""ignore_elements: let only the end through.

Group: let some through
Marble: a.ignore_elements() over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Never

from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Results, Stage


@dataclass(frozen=True, slots=True)
class IgnoreElements(Stage[Any, Never]):
    """Run upstream to its end and drop its elements.

    Emits never. Backpressures never: it asks for everything and holds nothing. Completes when upstream completes.
    Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.ONE
    loop: ClassVar[Body] = Body("skip")

    def demand(self, n: int) -> int:
        """Ask for everything."""
        return UNBOUNDED
