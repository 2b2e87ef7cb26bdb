"""chain: a source and its steps as data, and how they are wired for one run.

Wiring goes from the subscriber up to the source, in a loop and not by recursion. Adjacent stages are one segment. The
first segment is iterated where its source can be; everything after the first joint is connected by signals. Long rows
of joints, and sources nested in sources, are cut by an inline boundary, since each of them adds to the stack; so do the
loops of a segment, of which a run has a bounded number.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.engine.async_run import AsyncRun
from penstock.engine.blame import describe, operator_name
from penstock.engine.boundary import Boundary
from penstock.engine.drain import Run
from penstock.engine.executors import inline
from penstock.engine.fed import FedRun
from penstock.engine.flat import HIGHEST, height_of, here, run_all
from penstock.engine.foreign import subscribe_to
from penstock.engine.outlet import Outlet
from penstock.engine.segment import Segment
from penstock.engine.weave import pieces
from penstock.spec.interfaces import Subscriber
from penstock.stage import AsyncOpener, Gate, InnerGate, Joint, Opener, Source, Stage, Step

MOST_NESTED = 12
MOST_LOOPS = 32
CUT_WINDOW = 32


@dataclass(frozen=True, slots=True)
class Chain:
    """Be a source followed by steps; a value, without any state of a run."""

    source: Source[Any]
    steps: tuple[Step, ...] = ()
    _head: list[Segment] = dataclasses.field(default_factory=list, init=False, repr=False, compare=False)

    def then(self, step: Step) -> Chain:
        """Return this chain with one more step."""
        return Chain(self.source, (*self.steps, step))

    @property
    def head(self) -> Segment:
        """Return the leading stages, prepared once for all runs."""
        if not self._head:
            steps = self.steps
            stop = next((index for index, step in enumerate(steps) if isinstance(step, Joint)), len(steps))
            stop = _cuts(steps[:stop])[0]  # type: ignore[arg-type]
            self._head.append(Segment(steps[:stop], 0, len(steps)))  # type: ignore[arg-type]
        return self._head[0]

    def __reduce__(self) -> tuple[type[Chain], tuple[Source[Any], tuple[Step, ...]]]:
        return (Chain, (self.source, self.steps))

    def __str__(self) -> str:
        return " | ".join([operator_name(self.source), *map(describe, self.steps)])


def _cuts(stages: Sequence[Stage[Any, Any]]) -> list[int]:
    """Return where each of the runs ends that these stages need."""
    if len(stages) <= MOST_LOOPS:
        return [len(stages)]
    stops = [stop for _, stop in pieces([stage.body for stage in stages])]
    return [*stops[MOST_LOOPS - 1 : -1 : MOST_LOOPS], stops[-1]]


class _Depth(threading.local):
    def __init__(self) -> None:
        self.pulls = 0


_depth = _Depth()


def _opener_of(source: Source[Any]) -> Opener[Any] | None:
    """Return how to iterate over a source; sources nested too deep are left to signals."""
    if _depth.pulls >= MOST_NESTED:
        return None
    _depth.pulls += 1
    try:
        return source.opener()
    finally:
        _depth.pulls -= 1


def pull(chain: Chain, *, waits: bool = False) -> Opener[Any] | None:
    """Return how to iterate over a fresh run of the whole chain, or None if it needs signals.

    A thread that `waits` for elements anyway can iterate over more sources than one that must not.
    """
    segment = chain.head
    if len(segment.stages) < segment.total:
        return None
    opener = _opener_of(chain.source)
    if opener is None and waits:
        opener = chain.source.waiting_opener()
    if opener is None or (not segment.total and chain.source.clean):
        return opener
    return lambda gate: segment.open(opener, None if gate is None else InnerGate(gate))


def pull_all(chains: tuple[Chain, ...]) -> list[Opener[Any]] | None:
    """Return how to iterate over each of several chains, or None if any needs signals."""
    openers: list[Opener[Any]] = []
    for chain in chains:
        opener = pull(chain)
        if opener is None:
            return None
        openers.append(opener)
    return openers


def pull_async(chain: Chain) -> AsyncOpener[Any] | None:
    """Return how to iterate asynchronously over a fresh run of the whole chain, or None if it needs signals."""
    segment = chain.head
    if len(segment.stages) < segment.total:
        return None
    opener = chain.source.async_opener()
    if opener is None:
        return None
    return lambda gate: segment.open_async(opener, gate or Gate())


def connect(chain: Chain, subscriber: Subscriber[Any]) -> None:
    """Start a run of the chain that signals `subscriber`."""
    if here.connects >= MOST_NESTED:
        cut = _cut(subscriber)
        here.deferred.append(lambda: _connect(chain, cut))
        return
    here.connects += 1
    try:
        _connect(chain, subscriber)
    finally:
        try:
            if here.connects == 1:
                run_all(here.deferred)
        finally:
            here.connects -= 1


def _cut(subscriber: Subscriber[Any]) -> Subscriber[Any]:
    return Boundary(subscriber, inline().worker(), CUT_WINDOW)


def refuse(subscriber: Subscriber[Any], error: Exception) -> None:
    """Tell a subscriber that there is nothing to subscribe to (rule 1.9)."""
    outlet: Outlet[Any] = Outlet(subscriber)
    outlet.complete(error)
    outlet.open()


def _connect(chain: Chain, subscriber: Subscriber[Any]) -> None:
    segment, steps = chain.head, chain.steps
    opener = _opener_of(chain.source)
    async_opener = chain.source.async_opener() if opener is None else None
    connects = opener is None and async_opener is None
    front = _wire(steps, 0 if connects else len(segment.stages), subscriber)
    if front is None:
        return
    if connects:
        try:
            chain.source.connect(front)
        except Exception as error:  # noqa: BLE001  rule 1.9: before it signals anything, or never
            refuse(front, error)
    elif opener is not None:
        Run(segment, opener, 0 if segment.never_asks else chain.source.length(), front).start()
    elif segment.never_asks or async_opener is None:
        Run(segment, lambda _: iter(()), 0, front).start()  # needs no event loop to end at once
    else:
        AsyncRun(segment, async_opener, front).start()


def _wire(steps: tuple[Step, ...], first: int, subscriber: Subscriber[Any]) -> Subscriber[Any] | None:
    """Return the subscriber in front of steps[first:]; None, and an error sent, if a joint fails to open."""
    total = stop = len(steps)
    if height_of(subscriber) >= HIGHEST:
        subscriber = _cut(subscriber)
    while stop > first:
        step = steps[stop - 1]
        if isinstance(step, Joint):
            stop -= 1
            try:
                subscriber = step.open(subscriber)
            except Exception as error:  # noqa: BLE001  an executor that has no worker, say
                refuse(subscriber, error)
                return None
            if height_of(subscriber) >= HIGHEST:
                subscriber = _cut(subscriber)
            continue
        start = stop
        while start > first and isinstance(steps[start - 1], Stage):
            start -= 1
        for part in reversed([start, *[start + cut for cut in _cuts(steps[start:stop])[:-1]]]):  # type: ignore[arg-type]
            subscriber = FedRun(Segment(steps[part:stop], part, total), subscriber)  # type: ignore[arg-type]
            stop = part
            if height_of(subscriber) >= HIGHEST:
                subscriber = _cut(subscriber)
    return subscriber


@dataclass(frozen=True, slots=True)
class Items(Source[Any]):
    """Be an iterable that was given where a publisher may stand."""

    items: Iterable[Any]

    def opener(self) -> Opener[Any]:
        """Iterate over the items."""
        return lambda _: iter(self.items)


@dataclass(frozen=True, slots=True)
class AsyncItems(Source[Any]):
    """Be an asynchronous iterable that was given where a publisher may stand."""

    items: AsyncIterable[Any]

    def async_opener(self) -> AsyncOpener[Any]:
        """Iterate over the items."""
        return lambda _: aiter(self.items)


def connect_to(operator: str, given: object, subscriber: Subscriber[Any]) -> None:
    """Subscribe to what a user's function returned: a stream, a publisher of another make or an iterable."""
    if callable(getattr(given, "subscribe", None)):
        chain = getattr(given, "chain", None)
        if isinstance(chain, Chain):
            connect(chain, subscriber)
        else:
            subscribe_to(given, subscriber)  # type: ignore[arg-type]
    elif isinstance(given, Iterable):
        connect(Chain(Items(given)), subscriber)
    elif isinstance(given, AsyncIterable):
        connect(Chain(AsyncItems(given)), subscriber)
    else:
        raise TypeError(f"{operator}: the function must return a Publisher or an iterable, got {given!r}")


def graft(chain: Chain, onto: Callable[[Source[Any]], Chain | None]) -> Chain:
    """Replace sources, those inside other sources included; `onto` returns the new start, or None to keep one."""
    grafted: dict[int, Chain] = {}
    waiting = [chain]
    while waiting:  # from the inside out, in a loop: a thousand sources may be nested
        at = waiting[-1]
        found = onto(at.source)
        if found is not None:
            grafted[id(at)] = Chain(found.source, (*found.steps, *at.steps))
            waiting.pop()
            continue
        inner = [each for each in _inner_chains(at.source) if id(each) not in grafted]
        if inner:
            waiting.extend(inner)
        else:
            grafted[id(at)] = _rebuilt(at, grafted)
            waiting.pop()
    return grafted[id(chain)]


def _inner_chains(source: Source[Any]) -> list[Chain]:
    values = [getattr(source, field.name) for field in dataclasses.fields(source)]  # type: ignore[arg-type]
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [item for row in rows for item in row if isinstance(item, Chain)]


def _rebuilt(chain: Chain, grafted: dict[int, Chain]) -> Chain:
    """Return the chain with what was grafted inside its source, and a state of its own where it holds any."""
    if all(grafted[id(each)] is each for each in _inner_chains(chain.source)):
        return chain
    changes: dict[str, object] = {}
    for field in dataclasses.fields(chain.source):  # type: ignore[arg-type]
        value = getattr(chain.source, field.name)
        if field.default_factory is not dataclasses.MISSING:
            changes[field.name] = field.default_factory()  # a hub of other streams must not be joined
        elif isinstance(value, Chain):
            changes[field.name] = grafted[id(value)]
        elif isinstance(value, tuple):
            changes[field.name] = tuple(grafted[id(item)] if isinstance(item, Chain) else item for item in value)
    return Chain(dataclasses.replace(chain.source, **changes), chain.steps)  # type: ignore[type-var]
