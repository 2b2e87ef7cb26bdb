"""on_backpressure_latest: hold the latest element that downstream has not asked for.

Group: deal with what comes too fast
Marble: a.on_backpressure_latest() over -1-2-3-4-5|, asked 1---1----1-1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.beside import Flood
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Results, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnBackpressureLatest(Joint[T, T]):
    """Let an element through if it was asked for, else hold it until a newer one takes its place.

    Emits when upstream emits and downstream has asked, or when downstream asks and one is held. Backpressures never: it
    asks for everything and holds one element. Completes when upstream completes, after the one it holds. Cancels when
    downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.DEMAND

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a slot in front of what follows."""
        return _LatestRun(downstream)


class _LatestRun(Flood):
    def came(self, element: Any) -> None:
        outlet = self.outlet
        with outlet.lock:
            if outlet.queue:
                outlet.queue.pop()
            outlet.queue.append(element)
        outlet.wake()
