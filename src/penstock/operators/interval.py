"""interval: emit numbers at a steady pace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.engine.arguments import count_given
from penstock.engine.clocks import SYSTEM_CLOCK, Cancel, Clock, seconds_of
from penstock.engine.emitter import EmitResult, Emitter, Overflow
from penstock.engine.outlet import Outlet
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source


@dataclass(frozen=True, slots=True)
class Interval(Source[int]):
    """Emit 0, 1, 2, … one every `seconds`, the first after `seconds`.

    Emits when the clock ticks and downstream has asked. Backpressures by `overflow`: a clock cannot be slowed, so
    ticks nobody asked for are replaced by the latest, dropped, held up to `size`, or fail the stream. Completes never.
    Cancels the timer.
    """

    seconds: float
    overflow: Overflow = Overflow.LATEST
    size: int = 256
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("interval", "seconds", self.seconds, zero=False)
        count_given("interval", "size", self.size, 1)
        if not isinstance(self.overflow, Overflow):
            raise TypeError(f"interval: overflow must be an Overflow, got {self.overflow!r}")

    def connect(self, downstream: Subscriber[int], /) -> None:
        """Start the timer."""
        outlet: Outlet[Any] = Outlet(downstream)
        ticker = _Ticker(self, Emitter("interval", outlet, self.overflow, self.size))
        outlet.open()
        ticker.start()


class _Ticker:
    """Emit at each tick and set the timer for the next; ticks are counted from the start, so they do not drift."""

    __slots__ = ("_cancel", "_emitter", "_start", "_step", "_stopped", "_tick")

    def __init__(self, step: Interval, emitter: Emitter[int]) -> None:
        self._step = step
        self._emitter = emitter
        self._start = step.clock.now()
        self._tick = 0
        self._stopped = False
        self._cancel: Cancel | None = None

    def start(self) -> None:
        self._set_timer()
        self._emitter.on_close(self._stop)

    def _set_timer(self) -> None:
        due = self._start + (self._tick + 1) * self._step.seconds
        self._cancel = self._step.clock.call_later(max(0.0, due - self._step.clock.now()), self._fire)

    def _fire(self) -> None:
        if self._emitter.emit(self._tick) in {EmitResult.CANCELLED, EmitResult.TERMINATED}:
            return
        self._tick += 1
        self._set_timer()
        if self._stopped:  # meanwhile, by another thread
            self._stop()

    def _stop(self) -> None:
        self._stopped = True
        if self._cancel is not None:
            self._cancel()
