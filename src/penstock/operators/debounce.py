"""debounce: emit an element once things have been quiet for a while."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from penstock.engine.clocks import SYSTEM_CLOCK, Cancel, Clock, seconds_of
from penstock.engine.demand import UNBOUNDED
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Joint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Debounce(Joint[T, T]):
    """Emit the latest element when none has followed it for `seconds`.

    Emits when upstream has been quiet for `seconds`. Backpressures never: it asks for everything and holds, beyond what
    was asked for, the latest element alone; one that nobody has asked for gives way to a newer one. Completes when
    upstream completes, after the element at hand. Cancels when downstream cancels.
    """

    seconds: float
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("debounce", "seconds", self.seconds)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a slot with a timer in front of what follows."""
        return _DebounceRun(self, downstream)


class _DebounceRun(Part):
    def __init__(self, step: Debounce[Any], downstream: Subscriber[Any]) -> None:
        self._step = step
        self.height = height_of(downstream) + 1
        self._lock = Lock()
        self._latest: tuple[Any] | None = None
        self._cancel: Cancel | None = None
        self._upstream: Subscription | None = None
        self._outlet: Outlet[Any] = Outlet(downstream)
        self._outlet.on_cancel = self._cancelled

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream):
            return
        self._upstream = subscription
        self._outlet.open()
        if not self._outlet.closed:
            subscription.request(UNBOUNDED)

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        latest = (element,)  # a tuple of its own tells two equal elements apart
        with self._lock:
            before, self._cancel = self._cancel, None
            self._latest = latest
        if before is not None:
            before()
        cancel = self._step.clock.call_later(self._step.seconds, lambda: self._quiet(latest))
        with self._lock:
            waits = self._latest is latest and not self._outlet.closed
            if waits:
                self._cancel = cancel
        if not waits:
            cancel()

    def _quiet(self, latest: tuple[Any] | None) -> None:
        with self._lock:
            if latest is None or self._latest is not latest:
                return
            self._latest = self._cancel = None
        outlet = self._outlet
        with outlet.lock:
            if len(outlet.queue) > outlet.demand:
                outlet.queue.pop()
            outlet.queue.append(latest[0])
        outlet.wake()

    def _flush(self) -> None:
        with self._lock:
            cancel, self._cancel = self._cancel, None
            latest = self._latest
        if cancel is not None:
            cancel()
        self._quiet(latest)

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._flush()
        self._outlet.complete(error)

    def on_complete(self) -> None:
        self._flush()
        self._outlet.complete()

    def _cancelled(self) -> None:
        with self._lock:
            cancel, self._cancel = self._cancel, None
            self._latest = None
        if cancel is not None:
            cancel()
        if self._upstream is not None:
            self._upstream.cancel()
