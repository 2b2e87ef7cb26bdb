"""bench: what a part is tried with: publishers driven by hand, subscribers that look at everything, and the rules.

Nothing here is the code under test, so nothing here is interrupted, but for the points that are put in by hand: inside
every signal and every request, where a part must expect another thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock import Dropped, Stream, VirtualClock, set_on_dropped
from penstock.engine.runs.chain import Chain
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Source
from tests.explore import scheduler

LATE = (
    "an error came after",
    "an emitter failed after the end",
    "a subject failed after the end",
    "the source failed after",
)
"""What may be dropped when an error comes and the stream ends otherwise."""


class Boom(Exception):
    """Be the failure of a publisher."""


def pause(thing: object) -> None:
    """Be a point in the hands of the bench: all of one thing are one place."""
    import builtins

    builtins.__point__(thing, 0)  # type: ignore[attr-defined]


class Line:
    """Be the subscription of one subscriber of a feed."""

    def __init__(self, feed: Feed, subscriber: Subscriber[Any]) -> None:
        self.feed = feed
        self.subscriber: Subscriber[Any] | None = subscriber
        self.demand = 0
        self.sent = 0
        self.cancelled = False
        self.ended = False
        self.open = False
        """Whether `on_subscribe` has returned: nothing is signalled before that (rule 1.3)."""
        self.busy = False
        self.signalling = False
        self.refused = False

    def request(self, n: int, /) -> None:
        pause(self)
        if n <= 0:
            self.refused = True
            self._refuse()
            return
        self.demand = min(self.demand + n, UNBOUNDED)
        self.serve()

    def serve(self) -> None:
        """Send what was asked for, if the feed does that by itself."""
        if not self.feed.eager or not self.open or self.busy:
            return
        self.busy = True
        while self.can_send():
            self.send()
        self.busy = False
        if self.sent >= self.feed.total:
            self.end(None)

    def cancel(self) -> None:
        pause(self)
        self.cancelled = True

    def can_send(self) -> bool:
        return self.demand > 0 and self.open and not self.over and self.sent < self.feed.total

    @property
    def over(self) -> bool:
        return self.ended or self.cancelled

    def send(self) -> None:
        if not self.can_send():
            return
        if self.demand < UNBOUNDED:
            self.demand -= 1
        self.sent += 1
        assert self.subscriber is not None
        self.signalling = True
        self.subscriber.on_next(self.feed.make(self.sent))
        self.signalling = False
        self._refuse()

    def _refuse(self) -> None:
        """Fail for an illegal request (rule 3.9), after a signal that is under way."""
        if self.refused and not self.signalling:
            self.end(ValueError("rule 3.9: a request must be positive"))

    def end(self, error: Exception | None) -> None:
        if self.over or not self.open:
            return
        self.ended = True
        assert self.subscriber is not None
        if error is None:
            self.subscriber.on_complete()
        else:
            self.subscriber.on_error(error)

    @property
    def state(self) -> tuple[int, int] | None:
        """Return how many were sent and how many more are asked for; None when it is over."""
        return None if self.over else (self.sent, min(self.demand, UNBOUNDED // 2))


class Feed:
    """Be a publisher driven by hand, which keeps the contract."""

    def __init__(self, bench: Bench, name: str, total: int, eager: bool, make: Callable[[int], Any] | None) -> None:
        self.bench = bench
        self.name = name
        self.total = total
        self.eager = eager
        """Whether it sends what it is asked for at once, inside of request."""
        self.make = make or (lambda count: f"{name}{count}")
        self.lines: list[Line] = []

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        line = Line(self, subscriber)
        self.lines.append(line)
        subscriber.on_subscribe(line)
        line.open = True
        line.serve()

    def next(self) -> None:
        for line in self.lines[-1:]:
            line.send()

    def complete(self) -> None:
        for line in self.lines[-1:]:
            line.end(None)

    def error(self) -> None:
        for line in self.lines[-1:]:
            line.end(Boom(self.name))

    def fails(self) -> None:
        self.next()
        self.error()

    def ready(self) -> bool:
        return bool(self.lines) and (self.lines[-1].can_send() or self.lines[-1].cancelled)


@dataclass(frozen=True, slots=True, eq=False)
class Fed(Source[Any]):
    """Put a feed at the head of a chain, with nothing in between."""

    feed: Feed

    def connect(self, downstream: Subscriber[Any], /) -> None:
        self.feed.subscribe(downstream)


class Taker:
    """Be a subscriber that asks when told and looks at everything."""

    def __init__(self, bench: Bench, name: str, *, then: Callable[[Taker, Any], object] | None = None) -> None:
        self.bench = bench
        self.name = name
        self.subscription: Subscription | None = None
        self.taken: list[Any] = []
        self.end: str | None = None
        self.requested = 0
        self.cancelled = False
        self.gone_at: int | None = None
        self.in_on_subscribe: Callable[[Taker], object] | None = None
        self._then = then
        self._inside: int | None = None

    @property
    def over(self) -> bool:
        return self.cancelled or self.end is not None

    # What it does.

    def ask(self, n: int) -> None:
        if self.subscription is None:
            return
        if n > 0:
            self.requested += n
        self.subscription.request(n)

    def cancel(self) -> None:
        if self.subscription is None:
            return
        self.cancelled = True
        self.subscription.cancel()
        scheduler.steps += 1
        self.gone_at = scheduler.steps

    # What it is told.

    def _enter(self, what: str) -> int | None:
        fault, me = self.bench.fault, scheduler.current
        if self._inside not in {None, me}:
            fault(f"rule 1.3: {self.name}: {what} came inside another signal")
        if self.end is not None:
            fault(f"rule 1.7: {self.name}: {what} came after {self.end}")
        if self.subscription is None and what != "on_subscribe":
            fault(f"rule 1.9: {self.name}: {what} came before on_subscribe")
        if self.gone_at is not None and (self.bench.quiet or not self._on_its_way(self.gone_at)):
            fault(f"rule 1.8: {self.name}: {what} came of a call that was made after cancel had returned")
        before, self._inside = self._inside, me
        pause(self)
        return before

    @staticmethod
    def _on_its_way(gone_at: int) -> bool:
        """Tell whether a call goes on that began before a cancel returned; another thread may deliver what it left."""
        return any(task.begun and not task.done and task.started_at < gone_at for task in scheduler.tasks)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        before = self._enter("on_subscribe")
        if self.subscription is not None:
            self.bench.fault(f"rule 2.12: {self.name}: on_subscribe came twice")
        self.subscription = subscription
        if self.in_on_subscribe is not None:
            self.in_on_subscribe(self)
        self._inside = before

    def on_next(self, element: Any, /) -> None:
        before = self._enter("on_next")
        self.taken.append(type(element).__name__ if isinstance(element, Stream) else str(element))
        if len(self.taken) > self.requested:
            self.bench.fault(f"rule 1.1: {self.name}: more elements came than were requested")
        if self._then is not None:
            self._then(self, element)
        pause(self)
        self._inside = before

    def on_error(self, error: Exception, /) -> None:
        before = self._enter("on_error")
        self.end = f"{type(error).__name__}({error})" if isinstance(error, Boom) else type(error).__name__
        if not isinstance(error, Boom) and type(error).__name__ not in self.bench.errors:
            self.bench.fault(f"{self.name}: on_error({error!r})")
        pause(self)
        self._inside = before

    def on_complete(self) -> None:
        before = self._enter("on_complete")
        self.end = "completed"
        pause(self)
        self._inside = before


Call = Callable[[], object]


class Bench:
    """Hold one run of a part: what feeds it, who takes, what can be called, and what was wrong."""

    def __init__(self, *, late: bool = False) -> None:
        self.late = late
        """Whether subscribing is a call of its own."""
        self.rounds = 0
        self.feeds: list[Feed] = []
        self.takers: list[Taker] = []
        self.calls: dict[str, tuple[str, Call]] = {}
        self.finishers: list[Call] = []
        self.faults: list[str] = []
        self.errors: set[str] = {"ValueError"}  # of an illegal request
        """Failures that are no fault of the part."""
        self.drops: tuple[str, ...] = ()
        """Of which drops a failure is no fault of the part, whatever is called."""
        self.results: list[str] = []
        self.quiet = False
        self.exits = False
        """Whether something ends a thread of the part by a SystemExit."""
        self.outlives = False
        """Whether what feeds the part goes on when nobody takes."""
        self.clock: VirtualClock | None = None
        self.dropped: list[Dropped] = []
        set_on_dropped(self.dropped.append)

    def fault(self, what: str) -> None:
        if what not in self.faults:
            self.faults.append(what)

    # What a part is built of.

    def feed(
        self,
        name: str,
        *,
        total: int = 3,
        eager: bool = False,
        make: Callable[[int], Any] | None = None,
        calls: bool = True,
    ) -> Stream[Any]:
        """Return a stream driven by hand."""
        feed = Feed(self, name, total, eager, make)
        self.feeding(feed, calls=calls and not eager)
        return Stream(Chain(Fed(feed)))

    def feeding(self, feed: Feed, *, calls: bool = True) -> None:
        """Add a feed, and the calls that let it signal."""
        self.feeds.append(feed)
        name = feed.name
        for call in ("next", "complete", "error", "fails") if calls else ():
            self.calls.setdefault(f"{name}.{call}", (name, lambda call=call: self._feed(name, call)))  # type: ignore[misc]

    def _feed(self, name: str, call: str) -> None:
        """Let the first feed of a name do something that has not ended: inner streams share one."""
        for feed in self.feeds:
            if feed.name == name and feed.lines and not feed.lines[-1].over:
                getattr(feed, call)()
                return

    def take(
        self,
        stream: Any,
        name: str = "down",
        *,
        then: Callable[[Taker, Any], object] | None = None,
        in_on_subscribe: Callable[[Taker], object] | None = None,
        calls: bool = True,
    ) -> Taker:
        """Subscribe, with the calls that a subscriber can make at any time."""
        taker = Taker(self, name, then=then)
        taker.in_on_subscribe = in_on_subscribe
        self.takers.append(taker)
        if calls:
            self.taking(taker)
        if self.late and calls:
            self.call("subscribe", lambda: stream.subscribe(taker), "subscribe")
        else:
            stream.subscribe(taker)
        return taker

    def taking(self, taker: Taker) -> None:
        """Add the calls of a subscriber."""
        name = taker.name
        self.calls[f"{name}.ask"] = ("", lambda: taker.ask(1))
        self.calls[f"{name}.all"] = ("", lambda: taker.ask(UNBOUNDED))
        self.calls[f"{name}.cancel"] = ("", taker.cancel)
        self.calls[f"{name}.bad"] = ("", lambda: taker.ask(-1))

    def taking_later(self, name: str) -> None:
        """Add the calls of a subscriber that is yet to come."""

        def found() -> list[Taker]:
            return [taker for taker in self.takers if taker.name == name]

        self.calls[f"{name}.ask"] = ("", lambda: [taker.ask(1) for taker in found()])
        self.calls[f"{name}.all"] = ("", lambda: [taker.ask(UNBOUNDED) for taker in found()])
        self.calls[f"{name}.cancel"] = ("", lambda: [taker.cancel() for taker in found()])

    def pushing(self, name: str) -> None:
        """Add calls of a feed that wait until they are asked for."""
        feed = next(feed for feed in self.feeds if feed.name == name)

        def push(call: Call) -> None:
            scheduler.block(feed)
            call()

        self.calls[f"{name}.push"] = (name, lambda: push(feed.next))
        self.calls[f"{name}.end"] = (name, lambda: push(feed.complete))
        self.calls[f"{name}.error"] = (name, lambda: push(feed.error))

    def boom(self, name: str) -> Exception:
        """Return a failure."""
        return Boom(name)

    def call(self, name: str, call: Call, lane: str = "") -> None:
        """Add a call; those of one lane never overlap."""
        self.calls[name] = (lane, call)

    def virtual_clock(self) -> VirtualClock:
        """Return a clock that a call moves on."""
        clock = self.clock = VirtualClock()
        self.calls["tick"] = ("clock", lambda: clock.advance(1.0))
        return clock

    # The end of a run.

    def outcome(self) -> Outcome:
        """Return what can be seen once everything is quiet."""
        return Outcome(
            tuple(
                (taker.name, tuple(taker.taken), taker.end or ("cancelled" if taker.cancelled else "open"))
                for taker in self.takers
            ),
            tuple((feed.name, tuple(line.state for line in feed.lines)) for feed in self.feeds),
            tuple(self.results),
            any(taker.end is None and len(taker.taken) < taker.requested for taker in self.takers),
        )

    def finish(self) -> None:
        """Bring everything to its end: ask for all, send all, complete all."""
        self.quiet = True
        for self.rounds in range(1, 4):
            for taker in list(self.takers):
                if not taker.over:
                    taker.ask(8)
            for feed in list(self.feeds):
                for line in feed.lines:
                    while line.can_send():
                        line.send()
                        scheduler.settle()
            if self.clock is not None:
                self.clock.advance(50.0)
            for finisher in self.finishers:
                finisher()
            scheduler.settle()
            self.leaks()
            for feed in list(self.feeds):
                for line in list(feed.lines):
                    line.end(None)
            scheduler.settle()

    def leaks(self) -> None:
        """Look for what is left behind when nobody takes any more."""
        if self.outlives or any(taker.subscription and not taker.over for taker in self.takers):
            return
        for feed in self.feeds:
            for line in feed.lines:
                if not line.over:
                    self.fault(f"{feed.name} is not let go")
        if self.clock is not None and self.clock.pending:
            self.fault("a timer is left")

    def last_faults(self, living: list[str]) -> None:
        """Look for what there is not after the end, or still."""
        for taker in self.takers:
            if taker.subscription is not None and not taker.over:
                self.fault(f"{taker.name}: no end came")
        self.leaks()
        if living:
            self.fault(f"{', '.join(living)}: not ended")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Be what can be seen of a run: who has got what, and what was asked of whom."""

    takers: tuple[tuple[str, tuple[str, ...], str], ...]
    feeds: tuple[tuple[str, tuple[tuple[int, int] | None, ...]], ...]
    results: tuple[str, ...] = ()
    hungry: bool = False
    """Whether somebody has asked for what has not come, so that it matters what is asked of the feeds."""

    def __str__(self) -> str:
        taken = "; ".join(f"{name}: {' '.join(elements) or '-'}, {end}" for name, elements, end in self.takers)
        fed = "; ".join(
            f"{name}: {', '.join('over' if one is None else f'{one[0]} sent, {_asked(one[1])} asked' for one in lines)}"
            for name, lines in self.feeds
        )
        return f"[{taken} | {fed}{' | ' if self.results else ''}{' '.join(self.results)}]"

    def agrees(self, known: Outcome) -> bool:
        """Tell whether this is a known outcome, or one in which more is asked for."""
        if (self.takers, sorted(self.results)) != (known.takers, sorted(known.results)):
            return False
        mine = [line for _, lines in self.feeds for line in (*lines, ())]
        theirs = [line for _, lines in known.feeds for line in (*lines, ())]
        return len(mine) == len(theirs) and all(map(self._no_less, mine, theirs))

    def _no_less(self, mine: tuple[int, ...] | None, theirs: tuple[int, ...] | None) -> bool:
        if not mine or not theirs:
            return mine == theirs
        return mine[0] == theirs[0] and (mine[1] >= theirs[1] or not self.hungry)


def _asked(demand: int) -> str:
    return "all" if demand >= UNBOUNDED // 2 else str(demand)
