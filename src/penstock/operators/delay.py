"""delay: emit everything a while later.

Group: mind the time
Marble: a.delay(2, clock=clock) over -1-2-3-4-|
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.timed import Timed
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gives, Holding, Joint, MakeWaiting, Tie

T = TypeVar("T")


class _Line(Holding):
    """The rule, in pieces: each element is held with its time, and the end behind them."""

    __slots__ = ("last",)
    kept: ClassVar[tuple[str, ...]] = ("items", "last", "due")
    lingers: ClassVar[bool] = True

    def begin(self, now: float, /) -> None:
        super().begin(now)
        self.last: float | None = None

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        if not self.seconds:
            return (element,)
        self.items.append((now + self.seconds, element))
        self.due = self.items[0][0]
        return ()

    def rang(self, now: float, /) -> Iterable[Any]:
        held = self.items
        self.items = [one for one in held if one[0] > now]
        if self.items:
            self.due = self.items[0][0]
        else:
            self.due = self.last if self.last is not None and self.last > now else None
        return [element for due, element in held if due <= now]

    def ended(self, now: float, /) -> Iterable[Any]:
        self.last = now + self.seconds
        if self.due is None and self.seconds:
            self.due = self.last
        return ()


@dataclass(frozen=True, slots=True)
class Delay(Joint[T, T]):
    """Emit each element `seconds` after it came; completion and failure are late by as much.

    Emits when an element has waited `seconds`. Backpressures when downstream does, and while `size` elements wait:
    nothing is asked for that was not asked for below. Completes `seconds` after upstream. Cancels when downstream
    cancels, dropping what waits.
    """

    tie: ClassVar[Tie] = Tie.TIME
    waits: ClassVar[MakeWaiting | None] = lambda step: _Line(step.seconds)
    seconds: float
    size: int = 256
    clock: Clock = SYSTEM_CLOCK
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        seconds_of("delay", "seconds", self.seconds)
        count_given("delay", "size", self.size, 1)
        clock_given("delay", self.clock)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a waiting line with a timer in front of what follows."""
        return _DelayRun(self, downstream)


class _DelayRun(Timed):
    """A run that holds elements, and the end behind them, in the order of their times; the alarm is for the first."""

    def __init__(self, step: Delay[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, step.clock, step.size)
        self._seconds = step.seconds
        self._line: deque[tuple[float, Any, bool]] = deque()
        """When each is due, the element or error, and whether that is the end."""
        self.outlet.also_held = lambda: len(self._line)

    def arrived(self, element: Any) -> None:
        self._wait(element, last=False)

    def ended(self, error: Exception | None) -> None:
        self._wait(error, last=True)

    def _wait(self, what: Any, *, last: bool) -> None:
        due = self.alarm.now() + self._seconds
        with self.lock:
            if not last:
                self.credit.arrived()
            self._line.append((due, what, last))
            first = len(self._line) == 1
        if first:
            self.alarm.at(due)

    def rang(self, due: float) -> None:
        """Let go of what is due, and set the alarm for what comes next."""
        now, line = max(self.alarm.now(), due), self._line
        over, error = False, None
        with self.lock:
            while line and line[0][0] <= now:
                _, what, over = line.popleft()
                if over:
                    error = what
                else:
                    self.outlet.queue.append(what)
            first = line[0][0] if line else None
        if first is not None:
            self.alarm.at(first)
        if over:
            self.outlet.complete(error)
        else:
            self.outlet.wake()

    def closed(self) -> None:
        self.alarm.close()
        with self.lock:
            error = next((what for _, what, last in self._line if last), None)
            self._line.clear()
        too_late(error)
