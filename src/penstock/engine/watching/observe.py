"""observe: let a listener see every step of a stream while it runs.

Nothing of this is in the way of a stream that is not observed: its loops are woven as ever. For one that is, a copy of
its chain is made when it is run, in which every chain that is described there, those inside of merge, zip and the like
included, has its own watch. Streams that functions make while it runs belong to the step that has the function.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any, Protocol

from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.runs.chain import Chain, with_other_chains
from penstock.engine.runs.one_result import one_result
from penstock.engine.watching.chain_meter import Meter
from penstock.engine.watching.watched_chain import ChainWatch
from penstock.engine.words.arguments import of_class
from penstock.engine.words.dropped import attempt
from penstock.spec.predicates import missing_methods
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
        "_began", "_chain", "_dues", "_ended", "_lock", "_observers", "_parts", "clock", "cost",
        "error", "part", "shares", "state",
    )  # fmt: skip

    def __init__(self, chain: Chain, observers: tuple[Observer, ...]) -> None:
        self._chain = chain
        self.state = RunState.RUNNING
        clock = observers[-1].clock if observers else SYSTEM_CLOCK  # a run has one time, that of the innermost block
        self.clock = monotonic if clock is SYSTEM_CLOCK else clock.now
        self.cost = _cost_of(self.clock)
        self._observers = observers
        self._lock = Lock()
        self._began: float | None = None
        self._dues = [0.0] * len(observers)
        self._ended: float | None = None
        self.error: BaseException | None = None
        """The error that ended it, while the listener is told of it."""
        self._parts: list[Meter] = []
        self.shares: list[SharedStream] = []
        """Where it takes part in a stream that another observation sees."""
        self.part: object = None
        """Which part of a larger whole it is a run of, where the party that runs it says so."""

    def __repr__(self) -> str:
        return f"Observation({self.chain}, {self.state.value})"

    @property
    def chain(self) -> str:
        """Return the stream as text."""
        return " | ".join(self._parts[-1].names)

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

    def readings(self) -> tuple[Reading, ...]:
        """Return what is known of every step, from the sources down."""
        return tuple(reading for meter in self._parts for reading in _readings(meter))

    # What the parts of the run say.

    def watched(self, chain: Chain, place: tuple[int, ...] = ()) -> Chain:
        """Return a copy of the chain that is seen; those inside of it have a place."""
        known = chain.watch
        if isinstance(known, ChainWatch) and place:
            self.shares.append(SharedStream(place[:-1], known.meter.run, (*known.meter.place, len(chain.steps))))
            return chain
        source = chain.source
        if len(place) < 2 * MOST_NESTED:
            numbers = itertools.count()
            source = with_other_chains(source, lambda each: self.watched(each, (*place, 0, next(numbers))))
        meter = Meter(self, chain, place)
        self._parts.append(meter)
        return Chain(source, chain.steps, chain.places, ChainWatch(meter, top=not place))

    def leave(self, meter: Meter, other: Observation) -> None:
        """Leave a stream inside of it to an observation that sees it by itself.

        Args:
            meter: What would have counted the stream.
            other: The observation that sees it.
        """
        if meter in self._parts:
            self._parts = [part for part in self._parts if part is not meter]
            self.shares.append(SharedStream(meter.place[:-1], other, (len(meter.chain.steps),)))

    def begin(self) -> None:
        """Say that it runs, once."""
        with self._lock:
            if self._began is not None:
                return
            self._began = self.clock()
            self._dues = [self._began + each.every for each in self._observers]
        self._tell("started", self._observers)

    def tick(self, now: float, /) -> None:
        """Tell the listeners for whom it is time that it goes on.

        Args:
            now: What time it is.
        """
        if now >= min(self._dues):
            with self._lock:
                running = self.state is RunState.RUNNING
                told = [each for each, due in zip(self._observers, self._dues, strict=True) if now >= due and running]
                self._dues = [
                    now + each.every if now >= due else due
                    for each, due in zip(self._observers, self._dues, strict=True)
                ]
            self._tell("progressed", told)

    def begins(self, error: BaseException, /) -> bool:
        """Tell whether an error was not seen before."""
        with self._lock:
            new, self.error = error is not self.error, error
        return new

    def end(self, error: BaseException | None, /, *, whole: bool) -> None:
        """Say that it is over, once.

        Args:
            error: The failure, or None.
            whole: Whether the stream came to its end by itself. One that comes down to one result is at its end with
                that, also if the subscriber, as that of a pipeline, then lets go of it before it is told.
        """
        self.begin()
        whole = whole or (error is None and self._parts[-1].read()[-1].delivered > 0 and one_result(self._chain))
        with self._lock:
            if self.state is not RunState.RUNNING:
                return
            self._ended = self.clock()
            self.error = error
            done = RunState.COMPLETED if whole else RunState.CANCELLED
            self.state = RunState.FAILED if error is not None else done
        self._tell("ended", self._observers)
        self.error = None  # rule 3.13: the frames of its traceback know the subscriber

    def _tell(self, what: str, observers: Sequence[Observer]) -> None:
        for each in observers:  # what is observed must not suffer from it
            attempt(f"observe: the listener raised in {what}", getattr(each.listener, what), self)


@lru_cache(maxsize=8)
def _cost_of(clock: Callable[[], float]) -> float:
    """Return what it takes to read a clock, in its own seconds."""
    return min(-clock() + clock() for _ in range(20))


def _readings(meter: Meter) -> Iterator[Reading]:
    before = 0.0
    steps: tuple[Step | None, ...] = (None, *meter.chain.steps)
    for number, (name, step, count) in enumerate(zip(meter.names, steps, meter.read(), strict=True)):
        if isinstance(step, Joint):
            count.seconds = max(0.0, before - count.inside)
        before = count.inside
        count.requested = max(count.requested, count.delivered)
        seen = vars(count)
        del seen["inside"]
        yield Reading(name, (*meter.place, number), **seen)


@dataclass(frozen=True, slots=True)
class Observer:
    """A listener, how often it is told, and by which clock."""

    listener: Listener
    every: float = 1.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        if missing_methods(self.listener, ("started", "progressed", "ended")):
            raise TypeError(
                f"observe: listener must have started, progressed and ended, got {self.listener!r}"
                f"{of_class(self.listener)}"
            )
        seconds_of("observe", "every", self.every)
        clock_given("observe", self.clock)

    def watched(self, chain: Chain) -> Chain:
        """Return a copy of the chain for one run that the listener sees."""
        run = Observation(chain, (self,))
        if isinstance(chain.watch, ChainWatch):  # of the stream around it
            chain.watch.meter.run.leave(chain.watch.meter, run)
        return run.watched(chain)


_observers: ContextVar[tuple[Observer, ...]] = ContextVar("penstock_observers", default=())


class observe:  # noqa: N801  reads as a word; contextlib's own would set the traceback of what is raised inside
    """A context manager: the listener sees every stream run inside the block, every `every` seconds at most.

    Where blocks are inside each other, all their listeners see it.
    """

    __slots__ = ("_observer", "_token")

    def __init__(self, listener: Listener, *, every: float | timedelta = 1.0, clock: Clock = SYSTEM_CLOCK) -> None:
        self._observer = Observer(listener, seconds_of("observe", "every", every), clock)

    def __enter__(self) -> None:
        self._token = _observers.set((*_observers.get(), self._observer))

    def __exit__(self, *exc: object) -> None:
        _observers.reset(self._token)


def is_observed(chain: Chain) -> bool:
    """Tell whether a run of the chain would be seen by a listener here."""
    return chain.watch is not None or bool(_observers.get())


def observed(chain: Chain, part: object = None) -> Chain:
    """Return the chain for one run: as it is, or a copy that is seen if there is a listener here.

    Args:
        chain: The chain that is run.
        part: What larger whole it is a part of.
    """
    observers = _observers.get()
    if not observers or chain.watch is not None:
        return chain
    run = Observation(chain, observers)
    run.part = part
    return run.watched(chain)
