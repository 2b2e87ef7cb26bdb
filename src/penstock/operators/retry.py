"""retry: subscribe again after a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.engine.arguments import count_given
from penstock.engine.chain import Chain, connect
from penstock.engine.clocks import SYSTEM_CLOCK, Cancel, Clock, seconds_of
from penstock.engine.relay import Relay
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source

MOST_DOUBLINGS = 64


@dataclass(frozen=True, slots=True)
class Retry(Source[Any]):
    """Subscribe again when the stream fails, `times` times at the most, waiting `backoff` seconds and then twice that.

    Emits when the stream does; what it emitted before a failure may come again. Backpressures when downstream does;
    demand left over moves on to the next attempt. Completes when an attempt completes; fails with the last error.
    Cancels the attempt at hand or the wait for the next.
    """

    stream: Chain
    times: int | None = None
    backoff: float = 0.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        if self.times is not None:
            count_given("retry", "times", self.times, 0)
        seconds_of("retry", "backoff", self.backoff)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Start the first attempt."""
        run = _RetryRun(self, downstream)
        run.try_again()


class _RetryRun(Relay[Any]):
    def __init__(self, step: Retry, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step
        self._failures = 0
        self._before: Exception | None = None
        self._cancel: Cancel | None = None

    def try_again(self) -> None:
        self._cancel = None
        self.attach(lambda leg: connect(self._step.stream, leg))

    def failed(self, error: Exception) -> None:
        step = self._step
        if error.__cause__ is None and self._before is not None and error is not self._before:
            error.__cause__ = self._before  # an attempt that failed for another reason must not hide the first one
        self._before = error
        if step.times is not None and self._failures >= step.times:
            self.end(error)
            return
        wait = step.backoff * 2.0 ** min(self._failures, MOST_DOUBLINGS)
        self._failures += 1
        if wait:
            self._cancel = step.clock.call_later(wait, self.try_again)
            if self.over:
                self.released()
        else:
            self.try_again()

    def released(self) -> None:
        self._before = None  # rule 3.13: the frames of its traceback know the subscriber
        cancel, self._cancel = self._cancel, None
        if cancel is not None:
            cancel()
