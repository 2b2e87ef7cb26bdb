"""retry: subscribe again after a failure.

Group: handle failure
Marble: a.retry(1) over -1-2-#
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.relay import Relay
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, reads_nothing
from penstock.engine.weaving.blame import blamed, caused_by
from penstock.engine.weaving.handled_errors import When, caught, when_given
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie

MOST_DOUBLINGS = 64


@dataclass(frozen=True, slots=True)
class Retry(Source[Any]):
    """Subscribe again when the stream fails, `times` times at the most, waiting `backoff` seconds and then twice that.

    Emits when the stream does; what it emitted before a failure may come again. Backpressures when downstream does;
    demand left over moves on to the next attempt. Completes when an attempt completes; fails with the last error, or
    with the first that `when` does not name; the error of the first attempt is its cause, those between are not kept.
    Cancels the current attempt or the wait for the next.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.AGAIN
    stream: Chain
    times: int | None = None
    backoff: float = 0.0
    clock: Clock = SYSTEM_CLOCK
    when: When | None = None
    jitter: float | Callable[[float], float] = 0.0
    """The share of a wait by which chance makes it shorter or longer, or a function from the wait to the real one."""
    max_delay: float | None = None

    def __post_init__(self) -> None:
        if self.times is not None:
            count_given("retry", "times", self.times, 0)
        seconds_of("retry", "backoff", self.backoff)
        clock_given("retry", self.clock)
        when_given("retry", self.when)
        if callable(self.jitter):
            function_given("retry", "jitter", self.jitter)
        elif isinstance(self.jitter, bool) or not isinstance(self.jitter, int | float):
            raise TypeError(f"retry: jitter must be a number or a function of the wait, got {self.jitter!r}")
        elif not 0 <= self.jitter <= 1:
            raise ValueError(f"retry: jitter must be between 0 and 1, got {self.jitter!r}")
        if self.max_delay is not None:
            seconds_of("retry", "max_delay", self.max_delay)

    def length(self) -> int | None:
        """Return zero if nothing has to be read, or waited for, in any attempt."""
        return 0 if self.times is not None and not self.backoff and reads_nothing(self.stream) else None

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Start the first attempt."""
        run = _RetryRun(self, downstream)
        run.try_again()

    def wait(self, failures: int) -> float:
        """Return how long to wait before the next attempt, after so many failures before this one."""
        seconds = self.backoff * 2.0 ** min(failures, MOST_DOUBLINGS)
        if self.max_delay is not None:
            seconds = min(seconds, self.max_delay)
        if callable(self.jitter):
            seconds = seconds_of("retry", "jitter's wait", self.jitter(seconds))
        elif self.jitter:
            import random  # noqa: PLC0415  only programs that use it pay for it

            seconds *= 1 + self.jitter * random.uniform(-1, 1)
        return seconds if self.max_delay is None else min(seconds, self.max_delay)


class _RetryRun(Relay[Any]):
    def __init__(self, step: Retry, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self._failures = 0
        self._first: Exception | None = None
        self._alarm = Alarm(step.clock, self.try_again, self.end)

    def try_again(self, _: object = None) -> None:
        self.attach(lambda leg: connect(self._step.stream, leg))

    def failed(self, error: Exception) -> None:
        step = self._step
        if self._first is None:
            self._first = error
        meant, error = caught(step, step.when, error)
        if not meant or (step.times is not None and self._failures >= step.times):
            self.end(caused_by(error, self._first))  # an attempt that failed for another reason must not hide the first
            return
        try:
            wait = step.wait(self._failures)
        except Exception as failure:  # noqa: BLE001  rule 1.4
            self.end(blamed(caused_by(failure, error), step, step.jitter))
            return
        self._failures += 1
        if wait:
            self._alarm.set(wait)
        else:
            self.try_again()

    def released(self) -> None:
        self._first = None  # rule 3.13: the frames of its traceback know the subscriber
        self._alarm.close()
