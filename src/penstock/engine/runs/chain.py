"""chain: a source and its steps as data; `wiring.py` says how they run."""

from __future__ import annotations

import dataclasses
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeGuard

from penstock.engine.weaving.assembly import note_built
from penstock.engine.weaving.blame import describe, operator_name
from penstock.engine.weaving.pieces import pieces
from penstock.engine.weaving.segment import Segment, Trace
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Source, Stage, Step

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
        if not (self.steps or self.places) and self.watch is None:
            return _BARE
        found = self._segments.get(_HEAD)
        if found is None:
            steps = self.steps
            stop = next((index for index, step in enumerate(steps) if isinstance(step, Joint)), len(steps))
            stop = cuts(steps[:stop])[0]  # type: ignore[arg-type]
            found = self._segments[_HEAD] = self.segment(0, stop)
        return found

    def segment(self, start: int, stop: int) -> Segment:
        """Return some of the steps, all of them stages, prepared once for all runs."""
        found = self._segments.get((start, stop))
        if found is None:
            make = Segment if self.watch is None else self.watch.segment
            stages: Any = self.steps[start:stop]
            found = self._segments[start, stop] = make(stages, start, len(self.steps), self.trace)
        return found

    @property
    def trace(self) -> Trace | None:
        """Return what notes on an error where it was built, if that is known."""
        return partial(note_built, self.source, self.steps, self.places) if self.places else None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return _equal(self, other) if isinstance(other, Chain) else NotImplemented

    def __hash__(self) -> int:
        return _hash(self)

    def __reduce__(self) -> tuple[Callable[..., Chain], tuple[Any, ...]]:
        inside = from_the_inside(self, lambda source: _held(source, parts=True))
        numbers = {id(chain): _Number(at) for at, chain in enumerate(inside)}
        parts = [
            (_changed(each.source, lambda at: numbers.get(id(at), at)), each.steps, each.places) for each in inside
        ]
        return (_linked, tuple(parts))

    def __repr__(self) -> str:
        return f"Chain({self})"

    def __str__(self) -> str:
        return " | ".join(self.names())

    def names(self) -> list[str]:
        """Return what its source and its steps are called."""
        return [operator_name(self.source), *map(describe, self.steps)]


def cuts(stages: Sequence[Stage[Any, Any]]) -> list[int]:
    """Return where each of the runs ends that these stages need."""
    if len(stages) <= MOST_LOOPS:
        return [len(stages)]
    stops = [stop for _, stop in pieces([stage.body for stage in stages])]
    return [*stops[MOST_LOOPS - 1 : -1 : MOST_LOOPS], stops[-1]]


def inner_chains(source: Source[Any]) -> list[Chain]:
    """Return the chains that a source holds in its fields."""
    return [item for _, row in _rows(source) for item in row if _is_chain(item)]


def with_other_chains(source: Source[Any], other: Callable[[Chain], Chain], /, **changes: object) -> Source[Any]:
    """Return a source with others in the place of the chains in its fields, and further changes; itself if none."""
    for field, row in _rows(source):
        if field.init and any(_is_chain(item) for item in row):
            others = tuple([other(item) if _is_chain(item) else item for item in row])
            changes[field.name] = others if row is getattr(source, field.name) else others[0]
    return dataclasses.replace(source, **changes) if changes else source  # type: ignore[type-var]


# Chains as values: all that follows would be recursion, were it left to Python.


class Composed:
    """A stream, a flow or a sink: a value with a chain, and with the parts that it was composed of."""

    __slots__ = ()
    _chain: Chain
    _parts: tuple[Any, ...]


def _held(source: Source[Any], *, parts: bool = False) -> list[Chain]:
    """Return the chains that a source holds, those of streams and sinks included, and those of their parts."""
    found: list[Chain] = []
    for _, row in _rows(source):
        items = list(row)
        for item in items:
            composed = issubclass(type(item), Composed)
            chain = item._chain if composed else item
            if _is_chain(chain):
                found.append(chain)
            if parts and composed:
                items.extend(item._parts)
    return found


def _rows(source: Source[Any]) -> Iterator[tuple[dataclasses.Field[Any], tuple[Any, ...]]]:
    """Return each field of a source with the items of its tuple, or with its one value."""
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(source) if dataclasses.is_dataclass(source) else ()
    for field in fields:
        value = getattr(source, field.name)
        yield field, value if type(value) is tuple else (value,)


def _is_chain(item: object) -> TypeGuard[Chain]:
    return issubclass(type(item), Chain)  # an element of a user's may say anything about its `__class__`, or raise


def from_the_inside(chain: Chain, inside: Callable[[Source[Any]], list[Chain]] = _held) -> list[Chain]:
    """Return the chains inside a chain, each once and before those that hold it, and the chain itself."""
    found: dict[int, Chain] = {}
    waiting = [chain]
    while waiting:
        at = waiting[-1]
        missing = [] if id(at) in found else [each for each in inside(at.source) if id(each) not in found]
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
        for each in from_the_inside(chain):
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
    """Return a source, a stream or a sink with something else in the place of its chains; it is not checked again."""

    def changed(item: Any) -> Any:
        return _changed(item, change) if issubclass(type(item), Composed) else change(item)

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
