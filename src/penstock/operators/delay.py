"""delay: emit everything a while later."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from penstock.engine.alarm import Alarm
from penstock.engine.arguments import count_given
from penstock.engine.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.cold_paths import too_late
from penstock.engine.credit import Credit
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Joint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Delay(Joint[T, T]):
    """Emit each element `seconds` after it came; completion and failure are late by as much.

    Emits when an element has waited `seconds`. Backpressures when downstream does, and while `size` elements wait:
    nothing is asked for that was not asked for below. Completes `seconds` after upstream. Cancels when downstream
    cancels, dropping what waits.
    """

    seconds: float
    size: int = 256
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("delay", "seconds", self.seconds)
        count_given("delay", "size", self.size, 1)
        clock_given("delay", self.clock)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a waiting line with a timer in front of what follows."""
        return _DelayRun(self, downstream)


class _DelayRun(Part):
    """Keep elements in the order of their times, and one timer for the first of them."""

    def __init__(self, step: Delay[Any], downstream: Subscriber[Any]) -> None:
        self._step = step
        self.height = height_of(downstream) + 1
        self._lock = Lock()
        self._credit = Credit(step.size)
        self._line: deque[tuple[float, Any]] = deque()
        self._end: tuple[float, Exception | None] | None = None
        self._armed = False
        self._alarm = Alarm(step.clock, self._release)
        self._upstream: Subscription | None = None
        self._outlet: Outlet[Any] = Outlet(downstream)
        self._outlet.also_held = lambda: len(self._line)
        self._outlet.on_request = self._ask
        self._outlet.on_taken = self._taken
        self._outlet.on_cancel = self._cancelled
        self._outlet.on_close = self._alarm.close

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        self._outlet.open()
        self._ask()

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        due = self._step.clock.now() + self._step.seconds
        with self._lock:
            self._credit.arrived()
            self._line.append((due, element))
            set_timer, self._armed = not self._armed, True
            ask = not self._credit.owed
        if set_timer:
            self._alarm.set(self._step.seconds)
        if ask:
            self._ask()

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._ended(error)

    def on_complete(self) -> None:
        self._ended(None)

    def _ended(self, error: Exception | None) -> None:
        due = self._step.clock.now() + self._step.seconds
        with self._lock:
            self._end = (due, error)
            set_timer, self._armed = not self._armed, True
        if set_timer:
            self._alarm.set(self._step.seconds)

    def _release(self) -> None:
        """Let go of what is due, and set the timer for what comes next."""
        now = self._step.clock.now()
        with self._lock:
            line, end = self._line, self._end
            while line and line[0][0] <= now:
                self._outlet.queue.append(line.popleft()[1])
            first = line[0][0] if line else end[0] if end is not None else None
            over = not line and end is not None and end[0] <= now
            self._armed = first is not None and not over
            if over:
                self._end = (now, None)  # rule 3.13: the frames of an error know the subscriber
        if over and end is not None:
            self._outlet.complete(end[1])
            return
        if first is not None:
            self._alarm.set(first - now)
        self._outlet.wake()

    def _taken(self, count: int) -> None:
        with self._lock:
            self._credit.held -= count
        self._ask()

    def _ask(self, _: int = 0) -> None:
        upstream = self._upstream
        with self._lock:
            if upstream is None or self._end is not None or self._outlet.closed:
                return
            wanted = self._credit.ask(self._outlet.demand)
        if wanted:
            upstream.request(wanted)

    def _cancelled(self) -> None:
        with self._lock:
            self._line.clear()
            end, self._end = self._end, (0.0, None)
        if end is None:
            if self._upstream is not None:
                self._upstream.cancel()
        elif end[1] is not None:
            too_late(end[1])
