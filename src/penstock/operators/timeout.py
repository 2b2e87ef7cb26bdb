"""timeout: fail when an element does not come in time."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from penstock.engine.clocks import SYSTEM_CLOCK, Cancel, Clock, seconds_of
from penstock.engine.relay import Relay
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timeout(Joint[T, T]):
    """Fail with TimeoutError when an element that was asked for does not come within `seconds`.

    Emits when upstream emits. Backpressures when downstream does; while nothing is asked for, no time passes.
    Completes when upstream completes. Cancels when downstream cancels, and upstream when time is up.
    """

    seconds: float
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("timeout", "seconds", self.seconds, zero=False)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay with a timer in front of what follows."""
        leg = _TimeoutRun(self, downstream).leg
        assert leg is not None
        return leg


class _TimeoutRun(Relay[Any]):
    """Keep one timer and, while something is asked for, a deadline.

    An element only moves the deadline; a timer that fires before it is set again.
    """

    def __init__(self, step: Timeout[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self._deadline: float | None = None
        self._guard = Lock()
        self._armed = False
        self._cancel: Cancel | None = None

    def requested(self, n: int, first: bool) -> None:
        if first:
            deadline = self._step.clock.now() + self._step.seconds
            with self._guard:
                self._deadline = deadline
                armed, self._armed = self._armed, True
            if not armed:
                self._set_timer(self._step.seconds)

    def arrived(self, element: Any) -> None:
        deadline = self._step.clock.now() + self._step.seconds
        with self._guard:
            self._deadline = deadline if self.demand else None
        super().arrived(element)

    def _set_timer(self, seconds: float) -> None:
        self._cancel = self._step.clock.call_later(seconds, self._fire)
        if self.over:
            self.released()  # meanwhile, by another thread

    def _fire(self) -> None:
        now = self._step.clock.now()
        with self._guard:
            deadline = self._deadline
            self._armed = not self.over and deadline is not None
        if self.over or deadline is None:
            return  # the next request sets the timer again
        left = deadline - now
        if left > 0:
            self._set_timer(left)
        else:
            self.end(
                TimeoutError(f"timeout: no element within {self._step.seconds} seconds of being asked for"), cancel=True
            )

    def released(self) -> None:
        cancel, self._cancel = self._cancel, None
        if cancel is not None:
            cancel()
