"""chain: a source and its steps as data, and how they are wired for one run.

Wiring goes from the subscriber up to the source, in a loop and not by recursion. Adjacent stages are one segment. The
first segment is iterated where its source can be; everything after the first joint is connected by signals. In long
rows of joints, and in sources nested in sources, signals take a fresh stack now and then (`Landing`), since each of
them adds to the stack; so do the loops of a segment, of which a run has a bounded number.
"""

from __future__ import annotations

import dataclasses
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.engine.grounds.cold_paths import interruption, left_alone
from penstock.engine.grounds.landing import Landing
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.runs.async_run import AsyncRun
from penstock.engine.runs.drain import DrainRun
from penstock.engine.runs.fed_run import FedRun
from penstock.engine.runs.pushed_run import pushed
from penstock.engine.weaving.assembly import Assembly, Traced
from penstock.engine.weaving.blame import describe, operator_name
from penstock.engine.weaving.segment import Segment, Trace
from penstock.engine.weaving.weave import pieces
from penstock.engine.words.part import Part, height_of
from penstock.engine.words.trampoline import HIGHEST, here, run_all
from penstock.spec.interfaces import Subscriber
from penstock.stage import AsyncOpener, Joint, LoopGate, Opener, Source, Stage, Step

MOST_NESTED = 12
MOST_LOOPS = 32
ITERATED = -1
AWAITED = -2
_HEAD = (-1, -1)
_BARE = Segment(())


class Watch(Protocol):
    """The view of one run of a chain for a listener: in its loops, and between its steps."""

    def segment(self, stages: Sequence[Any], first: int, total: int, trace: Trace | None, /) -> Segment:
        """Return a segment whose loops are seen."""
        ...

    def behind(self, start: int, stop: int, subscriber: Subscriber[Any], /) -> Subscriber[Any]:
        """Return a subscriber that sees what steps[start:stop] signal to this one.

        For a source that signals both are 0; for one that is iterated together with stages behind it, `start` is
        ITERATED or AWAITED.
        """
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Chain:
    """A source followed by steps; a value, without any state of a run.

    Sources may hold chains, a thousand inside of each other; so what Python does to values by recursion is done here
    in a loop, from the inside out.
    """

    source: Source[Any]
    steps: tuple[Step, ...] = ()
    places: tuple[str, ...] = dataclasses.field(default=(), repr=False, compare=False)
    """Where the source and the steps were written, if that was asked for."""
    watch: Watch | None = dataclasses.field(default=None, repr=False, compare=False)
    """What a listener sees one run through; a description has none."""
    _segments: dict[tuple[int, int], Segment] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def then(self, step: Step) -> Chain:
        """Return this chain with one more step."""
        return Chain(self.source, (*self.steps, step), self.places)

    @property
    def head(self) -> Segment:
        """Return the leading stages."""
        found = self._segments.get(_HEAD)
        if found is None:
            if not (self.steps or self.places) and self.watch is None:
                return _BARE
            steps = self.steps
            stop = next((index for index, step in enumerate(steps) if isinstance(step, Joint)), len(steps))
            stop = _cuts(steps[:stop])[0]  # type: ignore[arg-type]
            found = self._segments[_HEAD] = self.segment(0, stop)
        return found

    def segment(self, start: int, stop: int) -> Segment:
        """Return some of the steps, all of them stages, prepared once for all runs."""
        found = self._segments.get((start, stop))
        if found is None:
            trace = self.assembly.note if self.places else None
            make = Segment if self.watch is None else self.watch.segment
            stages: Any = self.steps[start:stop]
            found = self._segments[start, stop] = make(stages, start, len(self.steps), trace)
        return found

    @property
    def assembly(self) -> Assembly:
        """Return where it was built."""
        return Assembly(self.source, self.steps, self.places)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return _equal(self, other) if isinstance(other, Chain) else NotImplemented

    def __hash__(self) -> int:
        return _hash(self)

    def __reduce__(self) -> tuple[Callable[..., Chain], tuple[Any, ...]]:
        inside = _from_the_inside(self)
        numbers = {id(chain): _Number(at) for at, chain in enumerate(inside)}
        parts = [
            (_changed(each.source, lambda at: numbers.get(id(at), at)), each.steps, each.places) for each in inside
        ]
        return (_linked, tuple(parts))

    def __repr__(self) -> str:
        return f"Chain({self})"

    def __str__(self) -> str:
        return " | ".join([operator_name(self.source), *map(describe, self.steps)])


def _cuts(stages: Sequence[Stage[Any, Any]]) -> list[int]:
    """Return where each of the runs ends that these stages need."""
    if len(stages) <= MOST_LOOPS:
        return [len(stages)]
    stops = [stop for _, stop in pieces([stage.body for stage in stages])]
    return [*stops[MOST_LOOPS - 1 : -1 : MOST_LOOPS], stops[-1]]


def _parts(chain: Chain, start: int, stop: int) -> list[int]:
    """Return where each of the runs ends that these stages need behind a joint.

    A loop that is fed does not tell how its stages stand, so those that count stand in front of it.
    """
    whole = chain.segment(start, stop)
    cuts = _cuts(whole.stages)
    if whole.expands and (whole.gathers or whole.capped):
        at = next(index for index, stage in enumerate(whole.stages) if stage.body.each is not None)
        front = chain.segment(start, start + at)
        if at and (front.gathers or front.capped or whole.stages[at].demand(1) > 1):
            return sorted({at, *cuts})
    return cuts


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


def reads_nothing(chain: Chain) -> bool:
    """Tell whether a chain is known to end, or to fail, without reading anything; its steps may add elements."""
    if _depth.pulls >= MOST_NESTED:
        return False
    _depth.pulls += 1
    try:
        source: Any = chain.source
        head = chain.head
        if source.length() == 0 or head.never_asks or (source.passes and reads_nothing(source.stream)):
            return True
        return any(isinstance(step, Stage) and step.cap == 0 for step in chain.steps[len(head.stages) :])
    finally:
        _depth.pulls -= 1


def is_empty(chain: Chain) -> bool:
    """Tell whether a chain is known to complete without an element."""
    if not reads_nothing(chain):
        return False
    source: Any = chain.source
    while not _adds(chain) and source.passes:
        chain, source = source.stream, source.stream.source
    # A source that holds chains may read nothing of them and emit what their steps add.
    return not _adds(chain) and not inner_chains(source) and source.opener() is not None


def _adds(chain: Chain) -> bool:
    """Tell whether a step may emit something that no element has led to."""
    return any(isinstance(step, Joint) or step.body.head or step.body.tail for step in chain.steps)


def unseen(chain: Chain) -> bool:
    """Tell whether a chain is a plain collection that was not searched for None yet."""
    return chain.source.plain and chain.source.may_hold_none and not (chain.steps or chain.places or chain.watch)


def pull(chain: Chain, *, waits: bool = False, looks: bool = False) -> Opener[Any] | None:
    """Return how to iterate over a fresh run of the whole chain, or None if it needs signals.

    A thread that `waits` for elements anyway can iterate over more sources than one that must not. Who `looks` for None
    among the elements gets a plain collection as it is.
    """
    if looks and unseen(chain):
        return chain.source.opener()
    segment = chain.head
    if len(segment.stages) < segment.total:
        return None
    opener = _opener_of(chain.source)
    if opener is None and waits:
        opener = chain.source.waiting_opener()
    clean = not chain.source.may_hold_none
    if opener is None or (not segment.total and clean and chain.watch is None):
        return opener

    def open_segment(gate: LoopGate | None) -> Iterator[Any]:
        if gate is not None and reads_nothing(chain):
            gate.finish()
        return segment.open(opener, gate, clean=clean)

    return open_segment


def pull_all(chains: tuple[Chain, ...], *, looks: bool = False) -> list[Opener[Any]] | None:
    """Return how to iterate over each of several chains, or None if any needs signals; see `pull`.

    A chain that reads nothing and yet may fail needs signals: without them the failure would wait for the first
    request.
    """
    openers: list[Opener[Any]] = []
    for chain in chains:
        opener = None if reads_nothing(chain) and not is_empty(chain) else pull(chain, looks=looks)
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
    return lambda gate: segment.open_async(opener, gate or LoopGate())


def connect(chain: Chain, subscriber: Subscriber[Any]) -> None:
    """Start a run of the chain that signals `subscriber`."""
    if here.connects >= MOST_NESTED:
        # Who is no part of ours has no height, so it is not known how far a signal goes from there in one call.
        front = subscriber if isinstance(subscriber, Part) else Landing(subscriber)
        here.deferred.append(lambda: _connect(chain, front))
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


def refuse(subscriber: Subscriber[Any], error: Exception) -> None:
    """Tell a subscriber that there is nothing to subscribe to (rule 1.9)."""
    outlet: Outlet[Any] = Outlet(subscriber)
    outlet.complete(error)
    outlet.open()


def _connect(chain: Chain, subscriber: Subscriber[Any]) -> None:
    segment = chain.head
    opener = _opener_of(chain.source)
    async_opener = chain.source.async_opener() if opener is None else None
    connects = opener is None and async_opener is None
    first = 0 if connects else len(segment.stages)
    front = _wire(chain, first, subscriber)
    if front is None:
        return
    if chain.places or chain.watch is not None:
        front = _seen(chain, 0 if connects else ITERATED if async_opener is None else AWAITED, first, front)
    if connects:
        returned = False
        try:
            chain.source.connect(front)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 1.9: before it signals anything, or never
            returned = True
            refuse(front, error)
        finally:
            if not returned and isinstance(front, Part):  # subscribed or not: it takes one subscription, and one end
                refuse(front, interruption())
                left_alone(front)
    elif opener is not None:
        source = chain.source
        unread = segment.never_asks or source.length() == 0 or (source.passes and reads_nothing(chain))
        DrainRun(segment, opener, 0 if unread else None, front).start()
    elif segment.never_asks or async_opener is None:
        DrainRun(segment, lambda _: iter(()), 0, front).start()  # needs no event loop to end at once
    else:
        AsyncRun(segment, async_opener, front).start()


def _seen(chain: Chain, start: int, stop: int, subscriber: Subscriber[Any]) -> Subscriber[Any]:
    """Put in front of a subscriber what a trace or a listener has to see of steps[start:stop], or of the source."""
    signals = start == stop or (stop > 0 and isinstance(chain.steps[stop - 1], Joint))
    if chain.places and signals:  # loops name their steps themselves
        subscriber = Traced(subscriber, chain.assembly, stop)
    return subscriber if chain.watch is None else chain.watch.behind(start, stop, subscriber)


def _wire(chain: Chain, first: int, subscriber: Subscriber[Any]) -> Subscriber[Any] | None:
    """Return the subscriber in front of steps[first:]; None, and an error sent, if a joint fails to open."""
    steps, seen = chain.steps, bool(chain.places) or chain.watch is not None
    stop = len(steps)
    if height_of(subscriber) >= HIGHEST:
        subscriber = Landing(subscriber)
    while stop > first:
        step = steps[stop - 1]
        if isinstance(step, Joint):
            stop -= 1
            if seen:
                subscriber = _seen(chain, stop, stop + 1, subscriber)
            try:
                subscriber = step.open(subscriber)
            except Exception as error:  # noqa: BLE001  an executor that has no worker, say
                refuse(subscriber, error)
                return None
            if height_of(subscriber) >= HIGHEST:
                subscriber = Landing(subscriber)
            continue
        start = stop
        while start > first and isinstance(steps[start - 1], Stage):
            start -= 1
        for part in reversed([start, *[start + cut for cut in _parts(chain, start, stop)[:-1]]]):
            if seen:
                subscriber = _seen(chain, part, stop, subscriber)
            segment = chain.segment(part, stop)
            subscriber = pushed(segment, subscriber) or FedRun(segment, subscriber)
            stop = part
            if height_of(subscriber) >= HIGHEST:
                subscriber = Landing(subscriber)
    return subscriber


def inner_chains(source: Source[Any]) -> list[Chain]:
    """Return the chains that a source holds in its fields."""
    values = [getattr(source, field.name) for field in dataclasses.fields(source)]  # type: ignore[arg-type]
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [item for row in rows for item in row if isinstance(item, Chain)]


# Chains as values: all that follows would be recursion, were it left to Python.


def _held(source: Source[Any]) -> list[Chain]:
    """Return the chains that a source holds, those of streams that it takes for publishers included."""
    found: list[Chain] = []
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(source) if dataclasses.is_dataclass(source) else ()
    for field in fields:
        value = getattr(source, field.name)
        for item in value if type(value) is tuple else (value,):
            chain = item._chain if _is_stream(item) else item
            if isinstance(chain, Chain):
                found.append(chain)
    return found


def _is_stream(item: object) -> bool:
    return dataclasses.is_dataclass(item) and isinstance(getattr(item, "_chain", None), Chain | _Number)


def _from_the_inside(chain: Chain) -> list[Chain]:
    """Return the chains inside a chain, each once and before those that hold it, and the chain itself."""
    found: dict[int, Chain] = {}
    waiting = [chain]
    while waiting:
        at = waiting[-1]
        missing = [] if id(at) in found else [each for each in _held(at.source) if id(each) not in found]
        waiting.extend(missing)
        if not missing:
            found[id(at)] = waiting.pop()
    return list(found.values())


class _Known(threading.local):
    """What is known of the chains inside those that are looked at on this thread."""

    def __init__(self) -> None:
        self.hashes: dict[int, int] = {}
        self.pairs: dict[tuple[int, int], bool] = {}


_known = _Known()


def _hash(chain: Chain) -> int:
    before = _known.hashes
    if id(chain) in before:
        return before[id(chain)]
    hashes = _known.hashes = {}
    try:
        for each in _from_the_inside(chain):
            hashes[id(each)] = hash((each.source, each.steps))  # which asks here for the chains inside
    finally:
        _known.hashes = before
    return hashes[id(chain)]


def _equal(chain: Chain, other: Chain) -> bool:
    before = _known.pairs
    if (id(chain), id(other)) in before:
        return before[id(chain), id(other)]
    pairs = _known.pairs = {}
    waiting = [(chain, other)]
    try:
        while waiting:
            one, two = waiting[-1]
            if (id(one), id(two)) not in pairs:
                inner, others = _held(one.source), _held(two.source)
                alike = type(one.source) is type(two.source) and len(inner) == len(others) and one.steps == two.steps
                among = zip(inner, others, strict=True) if alike else ()
                missing = [(a, b) for a, b in among if a is not b and (id(a), id(b)) not in pairs]
                if missing:
                    waiting.extend(missing)
                    continue
                pairs[id(one), id(two)] = alike and one.source == two.source  # which asks here for the chains inside
            waiting.pop()
    finally:
        _known.pairs = before
    return pairs[id(chain), id(other)]


@dataclass(frozen=True, slots=True)
class _Number:
    """The number that stands for one of several chains that are copied together."""

    at: int


def _linked(*parts: tuple[Source[Any], tuple[Step, ...], tuple[str, ...]]) -> Chain:
    """Make chains again of sources with numbers in the place of the chains that they hold; return the last."""
    chains: list[Chain] = []

    def numbered(item: Any) -> Any:
        return chains[item.at] if isinstance(item, _Number) else item

    for source, steps, places in parts:
        chains.append(Chain(_changed(source, numbered), steps, places))
    return chains[-1]


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a source, or a stream, with something else in the place of its chains; it is not checked again."""

    def changed(item: Any) -> Any:
        return _changed(item, change) if _is_stream(item) else change(item)

    if not dataclasses.is_dataclass(value):
        return value
    made = object.__new__(type(value))
    same = True
    for field in dataclasses.fields(value):
        was = getattr(value, field.name)
        now = changed(was)
        if type(was) is tuple:
            items = tuple(map(changed, was))
            now = was if all(map(operator.is_, items, was)) else items
        same = same and now is was
        object.__setattr__(made, field.name, now)
    return value if same else made
