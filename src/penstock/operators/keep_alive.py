"""keep_alive: emit something when nothing comes for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, Literal, TypeVar

from penstock.engine.alarm import Alarm
from penstock.engine.arguments import Missing, count_given, elements_given, function_given
from penstock.engine.blame import blamed
from penstock.engine.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.credit import Credit
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part, height_of
from penstock.engine.segment import no_element
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Joint

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class KeepAlive(Joint[T, T | U], Generic[T, U]):
    """Emit `value`, or what `fn` returns, when an element that was asked for has not come for `seconds`.

    Emits when upstream emits, or has been silent for `seconds`. Backpressures when downstream does: while nothing is
    asked for no time passes, and at most `size` elements are held, those whose place was taken meanwhile. Completes
    when upstream completes; fails if the function raises. Cancels when downstream cancels.
    """

    seconds: float
    value: U | Literal[Missing.MISSING] = Missing.MISSING
    fn: Callable[[], U] | None = None
    size: int = 256
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("keep_alive", "seconds", self.seconds, zero=False)
        if (self.value is Missing.MISSING) == (self.fn is None):
            raise TypeError("keep_alive: one of value and fn must be given")
        elements_given("keep_alive", self.value)
        if self.fn is not None:
            function_given("keep_alive", "fn", self.fn)
        count_given("keep_alive", "size", self.size, 1)
        clock_given("keep_alive", self.clock)

    def open(self, downstream: Subscriber[T | U], /) -> Subscriber[T]:
        """Put an outlet with a timer in front of what follows."""
        return _KeepAliveRun(self, downstream)


class _KeepAliveRun(Part):
    """Keep one timer and, while something is asked for, a deadline, which an element only moves."""

    def __init__(self, step: KeepAlive[Any, Any], downstream: Subscriber[Any]) -> None:
        self._step = step
        self.height = height_of(downstream) + 1
        self._lock = Lock()
        self._credit = Credit(step.size)
        self._deadline: float | None = None
        self._armed = False
        self._done = False
        self._upstream: Subscription | None = None
        self._alarm = Alarm(step.clock, self._ring)
        self._outlet: Outlet[Any] = Outlet(downstream)
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
        deadline = self._step.clock.now() + self._step.seconds
        with self._lock:
            self._credit.arrived()
            if self._deadline is not None:
                self._deadline = deadline
            self._outlet.queue.append(element)
            ask = not self._credit.owed
        self._outlet.wake()
        if ask:
            self._ask()

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._done = True
        self._outlet.complete(error)

    def on_complete(self) -> None:
        self._done = True
        self._outlet.complete()

    def _requested(self, _: int) -> None:
        deadline = self._step.clock.now() + self._step.seconds
        with self._lock:
            set_timer = False
            if self._deadline is None:
                self._deadline = deadline
                set_timer, self._armed = not self._armed, True
        if set_timer:
            self._alarm.set(self._step.seconds)
        self._ask()

    def _ring(self) -> None:
        """Fill the silence, unless an element has moved the deadline or nothing is asked for."""
        now = self._step.clock.now()
        with self._lock:
            deadline = self._deadline
            self._armed = goes_on = deadline is not None and not self._done
            left = 0.0 if deadline is None else deadline - now
        if not goes_on:
            return  # the next request sets the timer again
        if left <= 0:
            if not self._fill():
                return
            left = self._step.seconds
            with self._lock:
                if self._deadline is not None:
                    self._deadline = now + left
        self._alarm.set(left)

    def _hungry(self) -> bool:
        return self._outlet.demand > len(self._outlet.queue)

    def _fill(self) -> bool:
        """Offer a filler; tell whether to go on."""
        fn = self._step.fn
        filler: Any = self._step.value
        if fn is not None:
            try:
                filler = fn()
                if filler is None:
                    raise no_element()
            except Exception as error:  # noqa: BLE001  rule 1.4
                self._outlet.complete(blamed(error, self._step, fn))
                self._cancelled()
                return False
        with self._lock:
            hungry = self._hungry() and not self._done
            if hungry:
                self._credit.held += 1
                self._outlet.queue.append(filler)
        if hungry:
            self._outlet.wake()
        return True

    def _taken(self, count: int) -> None:
        with self._lock:
            self._credit.held -= count
            if not self._hungry():
                self._deadline = None  # while nothing is asked for, no time passes
        self._ask()

    def _ask(self) -> None:
        upstream = self._upstream
        with self._lock:
            if upstream is None or self._done or self._outlet.closed:
                return
            wanted = self._credit.ask(self._outlet.demand)
        if wanted:
            upstream.request(wanted)

    def _cancelled(self) -> None:
        if self._upstream is not None and not self._done:
            self._upstream.cancel()
