"""buffer_timeout: collect elements into lists, for so many or so long."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from penstock.engine.alarm import Alarm
from penstock.engine.arguments import count_given
from penstock.engine.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.credit import Credit
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Joint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BufferTimeout(Joint[T, list[T]]):
    """Emit lists of `count` elements, or of fewer when `seconds` have passed since the first of them.

    Emits when `count` elements have come, when the time of those at hand is up, or upstream completes with some at
    hand. Backpressures when downstream does: at most `count` elements are held; a list whose time is up while nobody
    asks goes on to fill. Completes when upstream completes. Cancels when downstream cancels.
    """

    count: int
    seconds: float
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        count_given("buffer_timeout", "count", self.count, 1)
        seconds_of("buffer_timeout", "seconds", self.seconds, zero=False)
        clock_given("buffer_timeout", self.clock)

    def open(self, downstream: Subscriber[list[T]], /) -> Subscriber[T]:
        """Put a list with a timer in front of what follows."""
        return _BufferTimeoutRun(self, downstream)


class _BufferTimeoutRun(Part):
    """Keep a list and the time at which it is due; a timer that rings before is set again."""

    def __init__(self, step: BufferTimeout[Any], downstream: Subscriber[Any]) -> None:
        self._step = step
        self.height = height_of(downstream) + 1
        self._lock = Lock()
        self._credit = Credit(step.count)
        self._items: list[Any] = []
        self._sizes: deque[int] = deque()
        """How many elements the lists in the queue have."""
        self._due = 0.0
        self._late = False
        """Whether the list at hand has been due since a time when nobody asked."""
        self._armed = False
        self._done = False
        self._upstream: Subscription | None = None
        self._alarm = Alarm(step.clock, self._ring)
        self._outlet: Outlet[list[Any]] = Outlet(downstream)
        self._outlet.also_held = lambda: len(self._items)
        self._outlet.on_request = self._requested
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
        if element is None:
            element_or_raise(element, "on_next")
        count = self._step.count
        set_timer = False
        with self._lock:
            self._credit.arrived()
            items = self._items
            items.append(element)
            full = len(items) >= count
            if full:
                self._emit()
            elif len(items) == 1:
                self._due = self._step.clock.now() + self._step.seconds
                set_timer, self._armed = not self._armed, True
            ask = not self._credit.owed
        if full:
            self._outlet.wake()
        elif set_timer:
            self._alarm.set(self._step.seconds)
        if ask:
            self._ask()

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._ended(error)

    def on_complete(self) -> None:
        self._ended(None)

    def _ended(self, error: Exception | None) -> None:
        with self._lock:
            self._done = True
            if self._items:
                self._emit()
        self._outlet.complete(error)

    def _emit(self) -> None:
        """Queue the list at hand; under the lock."""
        items, self._items = self._items, []
        self._late = False
        self._sizes.append(len(items))
        self._outlet.queue.append(items)

    def _ring(self) -> None:
        now = self._step.clock.now()
        with self._lock:
            self._armed = bool(self._items) and not self._late
            left = self._due - now
            if self._armed and left <= 0:
                self._armed = False
                self._late = True
            emits = self._emit_if_late()
        if emits:
            self._outlet.wake()
        elif self._armed:
            self._alarm.set(left)

    def _emit_if_late(self) -> bool:
        late = self._late and self._outlet.demand > len(self._outlet.queue)
        if late:
            self._emit()
        return late

    def _requested(self, _: int) -> None:
        with self._lock:
            self._emit_if_late()
        self._ask()

    def _taken(self, lists: int) -> None:
        with self._lock:
            for _ in range(lists):
                self._credit.held -= self._sizes.popleft()
            self._emit_if_late()
        self._ask()

    def _ask(self) -> None:
        upstream = self._upstream
        with self._lock:
            if upstream is None or self._done or self._outlet.closed:
                return
            wanted = self._credit.ask(self._outlet.demand * self._step.count)
        if wanted:
            upstream.request(wanted)

    def _cancelled(self) -> None:
        with self._lock:
            self._items = []
        if self._upstream is not None and not self._done:
            self._upstream.cancel()
