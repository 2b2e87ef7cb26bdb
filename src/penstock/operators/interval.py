"""interval: emit numbers at a steady pace.

Group: make a stream
Marble: Stream.interval(2, clock=clock)
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.seat import Seat
from penstock.engine.many.emitter import EmitResult, Emitter, Overflow
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Source


@dataclass(frozen=True, slots=True)
class Interval(Source[int]):
    """Emit 0, 1, 2, … one every `seconds`, the first after `seconds`.

    Emits when the clock ticks and downstream has asked. Backpressures by `overflow`: a clock cannot be slowed, so ticks
    that were not asked for are replaced by the latest, dropped, held up to `size`, or fail the stream. Completes never.
    Cancels the timer.
    """

    seconds: float
    overflow: Overflow = Overflow.LATEST
    size: int = 256
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("interval", "seconds", self.seconds, zero=False)
        count_given("interval", "size", self.size, 1)
        clock_given("interval", self.clock)
        if not isinstance(self.overflow, Overflow):
            raise TypeError(f"interval: overflow must be an Overflow, got {self.overflow!r}")

    @property
    def again(self) -> Again:
        """Give the ticks from then on."""
        return Again.LATER

    @property
    def pace(self) -> float:
        """Return the seconds."""
        return self.seconds

    def connect(self, downstream: Subscriber[int], /) -> None:
        """Start the timer."""
        seat = Seat(downstream)
        ticker = _Ticker(self, Emitter("interval", seat, self.overflow, self.size))
        seat.open()
        ticker.set()


class _Ticker:
    """A run that emits at each tick and sets the alarm for the next; ticks count from the start, without drift."""

    __slots__ = ("_alarm", "_emitter", "_seconds", "_start", "_tick")

    def __init__(self, step: Interval, emitter: Emitter[int]) -> None:
        self._seconds = step.seconds
        self._emitter = emitter
        self._alarm = Alarm(step.clock, self._rang, emitter.fail)
        self._start = self._alarm.now()
        self._tick = 0
        emitter.on_close(self._alarm.close)

    def set(self) -> None:
        self._alarm.at(self._start + (self._tick + 1) * self._seconds)

    def _rang(self, _: object) -> None:
        if self._emitter.emit(self._tick) not in {EmitResult.CANCELLED, EmitResult.TERMINATED}:
            self._tick += 1
            self.set()
