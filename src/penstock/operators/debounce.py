"""debounce: emit an element once no other has come for a while.

Group: mind the time
Marble: a.debounce(2, clock=clock) over -1-2---3--4-|
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.beside import Flood
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.spec.interfaces import Subscriber
from penstock.stage import Holding, Joint, MakeWaiting, Results, Tie

T = TypeVar("T")


class _Quiet(Holding):
    """The rule, in pieces: the latest element is held until its time has come."""

    __slots__ = ()

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        self.items, self.due = [element], now + self.seconds
        return ()


@dataclass(frozen=True, slots=True)
class Debounce(Joint[T, T]):
    """Emit the latest element when none has followed it for `seconds`.

    Emits when upstream has been quiet for `seconds`. Backpressures never: it asks for everything and holds, beyond what
    was asked for, the latest element alone; an element that was not asked for gives way to a newer one. Completes when
    upstream completes, after the element that it holds. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.TIME
    waits: ClassVar[MakeWaiting | None] = lambda step: _Quiet(step.seconds)
    seconds: float
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("debounce", "seconds", self.seconds)
        clock_given("debounce", self.clock)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a slot with a timer in front of what follows."""
        return _DebounceRun(self, downstream)


class _DebounceRun(Flood):
    """A run that holds the latest element, for which the alarm is set."""

    def __init__(self, step: Debounce[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._seconds = step.seconds
        self._lock = Lock()
        self._latest: tuple[Any] | None = None
        self._alarm = Alarm(step.clock, self._quiet, self.fail)
        self.outlet.on_close = self._closed

    def came(self, element: Any) -> None:
        latest = (element,)  # a new tuple tells two equal elements apart
        with self._lock:
            self._latest = latest
        self._alarm.set(self._seconds, latest)

    def _quiet(self, latest: tuple[Any] | None) -> None:
        with self._lock:
            if latest is None or self._latest is not latest:
                return
            self._latest = None
        outlet = self.outlet
        with outlet.lock:
            if len(outlet.queue) > outlet.demand:
                outlet.queue.pop()
            outlet.queue.append(latest[0])
        outlet.wake()

    def on_error(self, error: Exception, /) -> None:
        self._quiet(self._latest)
        super().on_error(error)

    def on_complete(self) -> None:
        self._quiet(self._latest)
        super().on_complete()

    def _closed(self) -> None:
        self._alarm.close()
        self._latest = None
