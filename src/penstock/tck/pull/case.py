"""case: what the trials of pull-stream modules share: subjects, the settings they are tried in, and waiting.

A producer is tried with one ask at a time and with twenty; a through, besides, under an upstream that answers at once
and under one that answers later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.spec.pull_interfaces import End, Read
from penstock.tck.elements import alike
from penstock.tck.environment import Environment, NotApplicable
from penstock.tck.pull.asker import Asker
from penstock.tck.pull.feed import AnswerFeed
from penstock.tck.trial import Trials

MANY = 20
"""How many asks are out at a time where there are several."""
LENGTH = 6
"""How many values an upstream has unless a trial needs another number."""
_RUNS = 5  # in which what differs by chance is likely to differ
FRAMES = 100
"""How much deeper the stack may get, however many values pass."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Whether upstream answers at once, where there is one, and how many asks are out at a time."""

    at_once: bool
    asks: int
    upstream: bool = True

    def __str__(self) -> str:
        asks = "one ask at a time" if self.asks == 1 else f"{self.asks} asks at a time"
        if not self.upstream:
            return asks
        return f"upstream answers {'at once' if self.at_once else 'later'}, {asks}"


LINEAR = Setting(True, 1)
ALONE = (Setting(True, 1, upstream=False), Setting(True, MANY, upstream=False))
UNDER_UPSTREAM = tuple(Setting(at_once, asks) for at_once in (True, False) for asks in (1, MANY))


@dataclass(slots=True)
class ProducerUnderTest:
    """A producer that is being read: who asks, the trial's upstream if there is one, and what it should give."""

    setting: Setting
    asker: Asker
    feed: AnswerFeed | None = None
    expected: list[Any] | None = None


class PullCase:
    """The feeds of one trial, and the wait for what must come."""

    settings: tuple[Setting, ...] = UNDER_UPSTREAM

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._feeds: list[AnswerFeed] = []

    def feed(self, setting: Setting, values: Sequence[Any] | None, **options: Any) -> AnswerFeed:
        """Make an upstream of these values, or an endless one, which answers by the setting."""
        options.setdefault("at_once", lambda number: setting.at_once)
        made = AnswerFeed(self.environment, values, **options)
        self._feeds.append(made)
        return made

    def step(self) -> bool:
        """Let every feed make a move that is due; tell whether there was one."""
        made = [feed.step() for feed in self._feeds]
        return any(made)

    def settle(self) -> None:
        """Let everything happen that is due."""
        while self.step():
            pass

    def wait(self, holds: Callable[[], bool]) -> bool:
        """Let happen what is due, and wait for the rest, until `holds()`; tell whether it came to hold."""
        while not holds():
            if not self.step():
                came = self.environment.comes(lambda: holds() or any(feed.due for feed in self._feeds))
                if not came:
                    return holds()
        return True

    def check(self, holds: bool, setting: Setting, message: str) -> None:
        """Fail the trial unless `holds`."""
        self.environment.check(holds, f"{message} ({setting})")

    def answered(self, joint: ProducerUnderTest, blame: str, what: str) -> None:
        """Wait until nothing is open; if that does not come, `blame` is broken, and the trial bows out."""
        asker, feed = joint.asker, joint.feed
        if not self.wait(lambda: asker.open <= 0):
            if feed is not None and feed.hold_asks and not feed.aborts:
                blame = "A7"  # a through that waits for upstream has to abort it
            message = f"{what}: {asker.open} of {asker.requests} requests were not answered ({joint.setting})"
            self.environment.breach(blame, message)
            raise NotApplicable(f"{message} (property {blame})")

    def drain(self, joint: ProducerUnderTest, most: int) -> None:
        """Ask, so many at a time as the setting says, until an end comes or so many asks were made."""
        asker, at_a_time = joint.asker, joint.setting.asks
        while not asker.ends and asker.asks < most:
            asker.ask(min(at_a_time, most - asker.asks))
            self.answered(joint, "B2" if at_a_time == 1 else "B4", f"asked {asker.asks} times")


class Producer(Protocol):
    """The case of a module that is read: a source, or a through under an upstream of the trial's."""

    environment: Environment

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Return how it is tried."""
        ...

    def open(self, setting: Setting, *, fails: Exception | None = None, checked: bool = True) -> ProducerUnderTest:
        """Make one of a few values, or one that fails after a few."""
        ...

    def open_waiting(self, setting: Setting) -> ProducerUnderTest:
        """Make one and ask, so many times as the setting says, in a way that the asks wait."""
        ...

    def open_endless(self, setting: Setting) -> ProducerUnderTest:
        """Make one of very many values."""
        ...

    def differs(self) -> bool:
        """Tell whether several that are made alike give different values, whatever is done to them."""
        ...

    def check(self, holds: bool, setting: Setting, message: str) -> None:
        """Fail the trial unless `holds`."""

    def answered(self, joint: ProducerUnderTest, blame: str, what: str) -> None:
        """Wait until nothing is open."""

    def drain(self, joint: ProducerUnderTest, most: int) -> None:
        """Ask until an end comes or so many asks were made."""

    def wait(self, holds: Callable[[], bool]) -> bool:
        """Wait until `holds()`."""
        ...


# The sources.


@dataclass(frozen=True, slots=True)
class SourceSubject:
    """How sources are made, and what they claim."""

    factory: Callable[[int | None], Any]
    failing: Callable[[int], Any] | None
    over: Callable[[Iterator[Any]], Any] | None
    stuck: Callable[[], Any] | None
    combines: Callable[[list[Any]], Any] | None
    exactly: int | None
    finite: bool
    deep: int


class SourceCase(PullCase):
    """The case of sources."""

    settings = ALONE

    def __init__(self, subject: SourceSubject, environment: Environment) -> None:
        super().__init__(environment)
        self.subject = subject

    @property
    def count(self) -> int:
        """Return how many values a source is made with."""
        return LENGTH if self.subject.exactly is None else self.subject.exactly

    def make(self, count: int | None) -> Read:
        """Make a source of so many values, or an endless one."""
        if count is None and self.subject.exactly is not None:
            raise NotApplicable(f"it has {self.subject.exactly} values, and no more")
        if count is not None and not self.subject.finite:
            raise NotApplicable("it has no end")
        return as_read(self.subject.factory(count))

    def open(self, setting: Setting, *, fails: Exception | None = None, checked: bool = True) -> ProducerUnderTest:
        if fails is None:
            count = self.count if self.subject.finite else None
            return ProducerUnderTest(setting, Asker(self.environment, self.make(count), checked=checked))
        if self.subject.failing is None:
            raise NotApplicable("no way was given to make one that fails")
        return ProducerUnderTest(setting, Asker(self.environment, as_read(self.subject.failing(2)), checked=checked))

    def open_waiting(self, setting: Setting) -> ProducerUnderTest:
        if self.subject.stuck is not None:
            joint = ProducerUnderTest(setting, Asker(self.environment, as_read(self.subject.stuck())))
        else:
            joint = self.open(setting)
        joint.asker.ask(setting.asks)
        return joint

    def open_endless(self, setting: Setting) -> ProducerUnderTest:
        if self.subject.exactly is not None:
            raise NotApplicable(f"it has {self.subject.exactly} values, and no more")
        return ProducerUnderTest(setting, Asker(self.environment, self.make(None)))

    def differs(self) -> bool:
        runs = []
        for _ in range(_RUNS):  # one after another, so that what they share does not count
            joint = self.open(LINEAR)
            self.drain(joint, MANY)
            runs.append(joint.asker.values)
        return not all(alike(runs[0], run) for run in runs[1:])


# The throughs.


def same(values: list[Any]) -> list[Any]:
    """Return what a through gives that changes nothing."""
    return values


@dataclass(frozen=True, slots=True)
class ThroughSubject:
    """How throughs are made, and what they claim."""

    factory: Callable[[], Any]
    expects: Callable[[list[Any]], list[Any]]
    eager: bool
    recovers: bool
    stopping: Callable[[int], Any] | None
    failing: Callable[[Exception], Any] | None
    working: Callable[[Any], Any] | None
    hooked: Callable[[Any], Any] | None
    flattens: Callable[[], Any] | None
    deep: int


class ThroughCase(PullCase):
    """The case of throughs under an upstream."""

    def __init__(self, subject: ThroughSubject, environment: Environment) -> None:
        super().__init__(environment)
        self.subject = subject

    def wire(
        self, setting: Setting, feed: AnswerFeed, through: Any = None, *, checked: bool = True
    ) -> ProducerUnderTest:
        """Put a through, a fresh one if none is given, under a feed."""
        made = (self.subject.factory() if through is None else through)(feed.read)
        return ProducerUnderTest(setting, Asker(self.environment, as_read(made), checked=checked), feed)

    def open(self, setting: Setting, *, fails: Exception | None = None, checked: bool = True) -> ProducerUnderTest:
        values = list(range(LENGTH))
        if fails is not None and self.subject.recovers:
            raise NotApplicable("it recovers from failures")
        joint = self.wire(setting, self.feed(setting, values, end=True if fails is None else fails), checked=checked)
        joint.expected = self.subject.expects(values)
        return joint

    def open_waiting(self, setting: Setting) -> ProducerUnderTest:
        joint = self.open(setting)
        assert joint.feed is not None
        joint.feed.hold_asks = True
        joint.asker.ask(setting.asks)
        return joint

    def open_endless(self, setting: Setting) -> ProducerUnderTest:
        return self.wire(setting, self.feed(setting, None))

    def differs(self) -> bool:
        return False  # its values are those of the trial


# The sinks.


@dataclass(frozen=True, slots=True)
class SinkSubject:
    """How sinks are made, and what they claim."""

    factory: Callable[[Any], Any]
    stopping: Callable[[Any, int], Any] | None
    failing: Callable[[Any, Exception], Any] | None
    deep: int


@dataclass(slots=True)
class Told:
    """A note of what a sink tells at its end."""

    environment: Environment
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, error: Exception | None = None, *rest: Any) -> None:
        self.calls.append((error, *rest))
        self.environment.pulse()


class SinkCase(PullCase):
    """The case of sinks under an upstream."""

    settings = tuple(Setting(at_once, 1) for at_once in (True, False))

    def __init__(self, subject: SinkSubject, environment: Environment) -> None:
        super().__init__(environment)
        self.subject = subject

    def run(self, feed: AnswerFeed, make: Callable[[Told], Any] | None = None) -> Told:
        """Have a sink read a feed, and let happen what is due."""
        told = Told(self.environment)
        (make or self.subject.factory)(told)(feed.read)
        self.settle()
        return told


def as_read(made: Any) -> Read:
    """Return what a source is read by: itself, or its `read`."""
    read: Any = made if callable(made) else getattr(made, "read", None)
    if not callable(read):
        raise TypeError(f"a source must be callable or have read, got {made!r}")
    found: Read = read
    return found


def ends_with(end: End | None, *allowed: End) -> bool:
    """Tell whether an end is one of those allowed."""
    return any(end is each for each in allowed)


source_trials: Trials[SourceCase] = Trials("pull_source")
through_trials: Trials[ThroughCase] = Trials("pull_through")
sink_trials: Trials[SinkCase] = Trials("pull_sink")


def feed_of(joint: ProducerUnderTest) -> AnswerFeed:
    """Return the feed above a producer that has one."""
    assert joint.feed is not None
    return joint.feed
