"""timer: emit one number after a while.

Group: make a stream
Marble: Stream.timer(3, clock=clock)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Results, Source


@dataclass(frozen=True, slots=True)
class Timer(Source[int]):
    """Emit 0 once `seconds` have passed since the subscription.

    Emits when the time has come and downstream has asked. Backpressures by holding its one element. Completes with
    that element. Cancels the timer.
    """

    results: ClassVar[Results] = Results.ONE
    seconds: float
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        seconds_of("timer", "seconds", self.seconds)
        clock_given("timer", self.clock)

    @property
    def again(self) -> Again:
        """Give a tick from then on."""
        return Again.LATER

    def connect(self, downstream: Subscriber[int], /) -> None:
        """Set the timer."""
        outlet: Outlet[Any] = Outlet(downstream)

        def ring(_: object) -> None:
            outlet.queue.append(0)
            outlet.complete()

        alarm = Alarm(self.clock, ring, outlet.complete)
        outlet.on_close = alarm.close
        outlet.open()
        alarm.set(self.seconds)
