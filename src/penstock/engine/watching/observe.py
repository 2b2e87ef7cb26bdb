"""observe: let a listener see every step of a stream while it runs.

Nothing of this is in the way of a stream that is not observed: its loops are woven as ever. For one that is, a copy of
its chain is made when it is run, in which every chain that is described there, those inside of merge, zip and the like
included, has its own watch. Streams that functions make while it runs belong to the step that has the function.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any, Protocol

from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, seconds_of
from penstock.engine.runs.chain import Chain, with_other_chains
from penstock.engine.watching.chain_meter import Counts, Meter
from penstock.engine.watching.watched_chain import ChainWatch
from penstock.engine.weaving.blame import describe, operator_name
from penstock.engine.words.dropped import drop
from penstock.stage import Joint, Source, Step

MOST_NESTED = 32
"""How deep chains inside of chains are seen."""


class RunState(Enum):
    """How a run is doing."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of one step of a run at one moment."""

    step: str
    """The operator and its function, such as `map(parse)`."""
    place: tuple[int, ...]
    """Its number, 0 for the source; for a stream inside the source that number, the stream's, and the step's."""
    requested: int
    """How many elements were asked of it."""
    delivered: int
    """How many elements it gave."""
    buffered: int
    """How many elements wait there."""
    errors: int
    """How many failures began there."""
    seconds: float
    """How long it worked, estimated from some of the elements."""
    waited: float
    """How long elements that were asked for did not come from there, where steps are connected by signals."""
    bound: int | None = None
    """How many elements may wait there at most, where the step says so."""


@dataclass(frozen=True, slots=True)
class SharedStream:
    """A stream that a run takes part in, and that another observation sees."""

    place: tuple[int, ...]
    """The place of the step that takes from it."""
    run: Observation
    """The observation that sees the stream."""
    last: tuple[int, ...]
    """The place of the stream's last step there."""


class Listener(Protocol):
    """A party that is told of runs, on the thread of the run, so its methods have to be quick."""

    def started(self, run: Observation, /) -> None:
        """Know that a run has begun."""
        ...

    def progressed(self, run: Observation, /) -> None:
        """Know that a run goes on; not more often than was asked for."""
        ...

    def ended(self, run: Observation, /) -> None:
        """Know that a run is over."""
        ...


class Observation:
    """A run that a listener sees; it can be read at any time and from any thread, also when it is over."""

    __slots__ = (
        "_began", "_chain", "_due", "_ended", "_error", "_every", "_listener", "_lock", "_parts", "clock", "cost",
        "part", "shares", "state",
    )  # fmt: skip

    def __init__(self, chain: Chain, listener: Listener, every: float, clock: Clock) -> None:
        self._chain = chain
        self.state = RunState.RUNNING
        self.clock = monotonic if clock is SYSTEM_CLOCK else clock.now
        self.cost = _cost_of(self.clock)
        self._listener = listener
        self._every = every
        self._lock = Lock()
        self._began: float | None = None
        self._due = 0.0
        self._ended: float | None = None
        self._error: BaseException | None = None
        self._parts: list[tuple[tuple[int, ...], Chain, Meter]] = []
        self.shares: list[SharedStream] = []
        """Where it takes part in a stream that another observation sees."""
        self.part: object = None
        """Which part of a larger whole it is a run of, where the party that runs it says so."""

    def __repr__(self) -> str:
        return f"Observation({self.chain}, {self.state.value})"

    @property
    def chain(self) -> str:
        """Return the stream as text."""
        return str(self._chain)

    @property
    def source(self) -> Source[Any]:
        """Return the source of the stream."""
        return self._chain.source

    @property
    def elapsed(self) -> float:
        """Return the seconds since it began, up to its end."""
        if self._began is None:
            return 0.0
        return (self.clock() if self._ended is None else self._ended) - self._began

    @property
    def error(self) -> BaseException | None:
        """Return the error that ended it, while the listener is told of it."""
        return self._error

    def readings(self) -> tuple[Reading, ...]:
        """Return what is known of every step, from the sources down."""
        parts = [_readings(place, chain, meter.read()) for place, chain, meter in self._parts]
        return tuple(reading for part in parts for reading in part)

    # What the parts of the run say.

    def watched(self, chain: Chain) -> Chain:
        """Return a copy of the chain that is seen."""
        return self._watched(chain, (), top=True)

    def _watched(self, chain: Chain, place: tuple[int, ...], *, top: bool = False) -> Chain:
        known = chain.watch
        if isinstance(known, ChainWatch) and isinstance(known.meter.run, Observation) and not top:
            other = known.meter.run
            there = next(at for at, _, meter in other._parts if meter is known.meter)
            self.shares.append(SharedStream(place[:-1], other, (*there, len(chain.steps))))
            return chain
        source = chain.source
        if len(place) < 2 * MOST_NESTED:
            numbers = itertools.count()
            source = with_other_chains(source, lambda each: self._watched(each, (*place, 0, next(numbers))))
        meter = Meter(self, chain.steps)  # pyright: ignore[reportArgumentType]  it binds what slots hold
        self._parts.append((place, chain, meter))
        return Chain(source, chain.steps, chain.places, ChainWatch(meter, top=top))

    def begin(self) -> None:
        """Say that it runs, once."""
        with self._lock:
            if self._began is not None:
                return
            self._began = self.clock()
            self._due = self._began + self._every
        self._tell("started")

    def tick(self, now: float, /) -> None:
        """Tell the listener that it goes on, if it is time to.

        Args:
            now: What time it is.
        """
        if now >= self._due:
            with self._lock:
                late = now < self._due or self.state is not RunState.RUNNING
                self._due = now + self._every
            if not late:
                self._tell("progressed")

    def begins(self, error: BaseException, /) -> bool:
        """Tell whether an error was not seen before."""
        with self._lock:
            new, self._error = error is not self._error, error
        return new

    def end(self, error: BaseException | None, /, *, whole: bool) -> None:
        """Say that it is over, once.

        Args:
            error: The failure, or None.
            whole: Whether the stream came to its end by itself.
        """
        self.begin()
        with self._lock:
            if self.state is not RunState.RUNNING:
                return
            self._ended = self.clock()
            self._error = error
            done = RunState.COMPLETED if whole else RunState.CANCELLED
            self.state = RunState.FAILED if error is not None else done
        self._tell("ended")
        self._error = None  # rule 3.13: the frames of its traceback know the subscriber

    def _tell(self, what: str) -> None:
        try:
            getattr(self._listener, what)(self)
        except Exception as error:  # noqa: BLE001  what is observed must not suffer from it
            drop(f"observe: the listener raised in {what}", error)


@lru_cache(maxsize=8)
def _cost_of(clock: Callable[[], float]) -> float:
    """Return what it takes to read a clock, in its own seconds."""
    return min(-clock() + clock() for _ in range(20))


def _readings(place: tuple[int, ...], chain: Chain, counts: list[Counts]) -> Iterator[Reading]:
    before = 0.0
    steps: tuple[Step | None, ...] = (None, *chain.steps)
    for number, (step, count) in enumerate(zip(steps, counts, strict=True)):
        seconds = count.seconds
        if isinstance(step, Joint):
            seconds = max(0.0, before - count.inside)
        before = count.inside
        yield Reading(
            operator_name(chain.source) if step is None else describe(step),
            (*place, number),
            max(count.asked, count.delivered),
            count.delivered,
            count.buffered,
            count.errors,
            seconds,
            count.waited,
            count.bound,
        )


@dataclass(frozen=True, slots=True)
class Observer:
    """A listener, how often it is told, and by which clock."""

    listener: Listener
    every: float = 1.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        for name in ("started", "progressed", "ended"):
            if not callable(getattr(self.listener, name, None)):
                raise TypeError(f"observe: listener must have started, progressed and ended, got {self.listener!r}")
        seconds_of("observe", "every", self.every)

    def watched(self, chain: Chain, part: object = None) -> Chain:
        """Return a copy of the chain for one run that the listener sees; `part` says what it is a part of."""
        run = Observation(chain, self.listener, self.every, self.clock)
        run.part = part
        return run.watched(chain)


_observer: ContextVar[Observer | None] = ContextVar("penstock_observer", default=None)


class observe:  # noqa: N801  reads as a word; contextlib's own would set the traceback of what is raised inside
    """A context manager: the listener sees every stream run inside the block, every `every` seconds at most."""

    __slots__ = ("_observer", "_token")

    def __init__(self, listener: Listener, *, every: float = 1.0, clock: Clock = SYSTEM_CLOCK) -> None:
        self._observer = Observer(listener, every, clock)

    def __enter__(self) -> None:
        self._token = _observer.set(self._observer)

    def __exit__(self, *exc: object) -> None:
        _observer.reset(self._token)


def is_observed(chain: Chain) -> bool:
    """Tell whether a run of the chain would be seen by a listener here."""
    return chain.watch is not None or _observer.get() is not None


def observed(chain: Chain, part: object = None) -> Chain:
    """Return the chain for one run: as it is, or a copy that is seen if there is a listener here."""
    observer = _observer.get()
    return chain if observer is None or chain.watch is not None else observer.watched(chain, part)
