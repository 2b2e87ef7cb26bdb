"""timeout: fail when an element does not come in time.

Group: mind the time
Marble: a.timeout(3, clock=clock) over -1-2------3|
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.relay import Relay
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gives, Joint, MakeWaiting, Silence, Tie

T = TypeVar("T")


def _too_late(seconds: float) -> TimeoutError:
    return TimeoutError(f"timeout: no element within {seconds} seconds of being asked for")


class _Patience(Silence):
    """The rule, in pieces, where everything is asked for: each element moves the time, and it ends in failure."""

    __slots__ = ()

    def rang(self, now: float, /) -> Iterable[Any]:
        self.due = None
        raise _too_late(self.seconds)


@dataclass(frozen=True, slots=True)
class Timeout(Joint[T, T]):
    """Fail with TimeoutError when an element that was asked for does not come within `seconds`.

    Emits when upstream emits. Backpressures when downstream does; while nothing is asked for, no time passes.
    Completes when upstream completes. Cancels when downstream cancels, and upstream when time is up.
    """

    tie: ClassVar[Tie] = Tie.TIME
    waits: ClassVar[MakeWaiting | None] = lambda step: _Patience(step.seconds)
    seconds: float
    clock: Clock = SYSTEM_CLOCK
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        seconds_of("timeout", "seconds", self.seconds, zero=False)
        clock_given("timeout", self.clock)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay with a timer in front of what follows."""
        return _TimeoutRun(self, downstream).entrance


class _TimeoutRun(Relay[Any]):
    """A run that sets the alarm while something is asked for; an element only moves it."""

    def __init__(self, step: Timeout[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._seconds = step.seconds
        self._alarm = Alarm(step.clock, self._late, partial(self.end, cancel=True))

    def requested(self, n: int, first: bool) -> None:
        if first:
            self._alarm.set(self._seconds)

    def arrived(self, element: Any) -> None:
        if not self.demand:
            self._alarm.call_off()
        if self.demand:  # from the beginning, or since another thread has asked meanwhile
            self._alarm.set(self._seconds)
        super().arrived(element)

    def _late(self, _: object) -> None:
        self.end(_too_late(self._seconds), cancel=True)

    def released(self) -> None:
        self._alarm.close()
