"""on_backpressure_error: fail when an element comes that downstream has not asked for.

Group: deal with what comes too fast
Marble: a.on_backpressure_error() over -1-2-3-4-5|, asked 2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.beside import Flood
from penstock.errors import OverflowedError
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Results, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnBackpressureError(Joint[T, T]):
    """Let an element through if it was asked for, else fail with OverflowedError.

    Emits when upstream emits and downstream has asked. Backpressures never: it asks for everything and holds nothing.
    Completes when upstream completes. Cancels when downstream cancels, and upstream when it fails.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.DEMAND

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a door in front of what follows."""
        return _ErrorRun(downstream)


class _ErrorRun(Flood):
    def came(self, element: Any) -> None:
        outlet = self.outlet
        with outlet.lock:
            taken = outlet.demand > len(outlet.queue)
            if taken:
                outlet.queue.append(element)
        if taken:
            outlet.wake()
        else:
            self.fail(OverflowedError("on_backpressure_error: an element came that was not asked for"))
