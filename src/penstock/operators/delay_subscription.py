"""delay_subscription: subscribe a while later.

Group: mind the time
Marble: a.delay_subscription(3, clock=clock) over -1-2-|
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.relay import Relay
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class DelaySubscription(Source[Any]):
    """Subscribe to the stream once `seconds` have passed.

    Emits when the stream does, which is subscribed `seconds` late. Backpressures when downstream does; what is asked
    for meanwhile is kept for the stream. Completes when the stream completes. Cancels the wait or the stream.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.TIME
    stream: Chain
    seconds: float
    clock: Clock = SYSTEM_CLOCK
    follows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        seconds_of("delay_subscription", "seconds", self.seconds)
        clock_given("delay_subscription", self.clock)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Set the timer."""
        run = _LateRun(self, downstream)
        run.start()
        run.alarm.set(self.seconds)


class _LateRun(Relay[Any]):
    def __init__(self, step: DelaySubscription, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self.alarm = Alarm(step.clock, self._subscribe, partial(self.end, cancel=True))

    def _subscribe(self, _: object) -> None:
        self.attach(lambda leg: connect(self._step.stream, leg))

    def released(self) -> None:
        self.alarm.close()
