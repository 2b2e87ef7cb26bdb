"""race: emit the stream that answers first, and no other.

Group: bring streams together
Marble: a.race(b) over ---1-2-| and -x--y-|
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import accepts, element_or_raise
from penstock.engine.grounds.relay import Leg, Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull, reads_nothing
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.engine.words.part import Part
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Opener, Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Race(Source[Any]):
    """Emit all of the stream that is the first to emit, to complete or to fail.

    Emits when that stream does. Backpressures when downstream does: until one has answered, each is asked for what
    downstream asks for. Completes or fails as that stream does. Cancels the others as soon as one has answered, and
    that one when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.INPUTS
    streams: tuple[Chain, ...]
    clean: ClassVar[bool] = True

    def opener(self) -> Opener[Any] | None:
        """Iterate over the first stream, if it can be iterated: it answers at once, unless another needs no request."""
        first, *others = self.streams
        return None if any(map(reads_nothing, others)) and not reads_nothing(first) else pull(first)

    def length(self) -> int | None:
        """Return zero if nothing has to be read of one of the streams."""
        return 0 if any(map(reads_nothing, self.streams)) else None

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to one after the other until one has answered."""
        run = _RaceRun(downstream, len(self.streams))
        run.enter()
        for chain, runner in zip(self.streams, run.field.runners, strict=True):
            if run.over or run.field.winner is not None:
                return
            connect(chain, runner)


class _Runner(Part):
    """The subscriber of one of the streams."""

    __slots__ = ("_field", "_leg", "asked", "done", "height", "subscription")

    def __init__(self, field: _Field, leg: Leg) -> None:
        self._field = field
        self._leg = leg
        self.height = leg.height
        self.asked = 0
        self.done = False
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if accepts(subscription, self.subscription):
            self._field.entered(self, subscription)

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        if self._field.wins(self):
            self._leg.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self.done = True
        if self._field.wins(self):
            self._leg.on_error(error)
        else:
            too_late(error)

    def on_complete(self) -> None:
        self.done = True
        if self._field.wins(self):
            self._leg.on_complete()


class _Field:
    """The relay's upstream: all streams until one has answered, then that one."""

    __slots__ = ("_lock", "_over", "_wanted", "runners", "winner")

    def __init__(self, leg: Leg, count: int) -> None:
        self._lock = Lock()
        self._over = False
        self._wanted = 0
        self.runners = [_Runner(self, leg) for _ in range(count)]
        self.winner: _Runner | None = None

    def entered(self, runner: _Runner, subscription: Subscription) -> None:
        with self._lock:
            late = self._over or self.winner is not None
            if not late:
                runner.subscription = subscription
        if late:
            subscription.cancel()
        else:
            self._ask(runner)

    def wins(self, runner: _Runner) -> bool:
        """Tell whether this one was the first; the others are cancelled with its first signal."""
        if self.winner is runner:
            return True
        with self._lock:
            won = self.winner is None and not self._over
            if won:
                self.winner = runner
        if won:
            self._cancel(but=runner)
        return won

    def request(self, n: int, /) -> None:
        with self._lock:
            self._wanted = add(self._wanted, n)
        for runner in self.runners:
            if self.winner is None or self.winner is runner:
                self._ask(runner)

    def _ask(self, runner: _Runner) -> None:
        with self._lock:
            subscription = runner.subscription
            more = 0 if subscription is None else self._wanted - runner.asked
            runner.asked += more
            if self._wanted == UNBOUNDED and more:
                more = UNBOUNDED
        if more and subscription is not None:
            subscription.request(more)

    def cancel(self) -> None:
        with self._lock:
            self._over = True
        self._cancel()

    def _cancel(self, but: _Runner | None = None) -> None:
        for runner in self.runners:
            if runner is not but and runner.subscription is not None and not runner.done:
                runner.subscription.cancel()


class _RaceRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], count: int) -> None:
        super().__init__(downstream)
        assert self.leg is not None
        self.field = _Field(self.leg, count)

    def enter(self) -> None:
        leg = self.leg
        assert leg is not None
        leg.on_subscribe(self.field)
