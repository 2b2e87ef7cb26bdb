"""never: neither emit nor end.

Group: make a stream
Marble: Stream.never()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.outlet import Outlet
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Results, Source


@dataclass(frozen=True, slots=True)
class Never(Source[Any]):
    """Stay silent.

    Emits never. Backpressures never. Completes never. Cancels at once.
    """

    results: ClassVar[Results] = Results.ONE

    @property
    def again(self) -> Again:
        """Give nothing, again."""
        return Again.SAME

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Signal `on_subscribe` and nothing else."""
        Outlet(downstream).open()
