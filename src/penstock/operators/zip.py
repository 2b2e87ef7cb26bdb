"""zip: pair the elements of several streams.

Group: bring streams together
Marble: a.zip(b) over -1--2---3| and --x--y-z--|
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

from penstock.engine.many.combining import Lanes
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import is_empty, pull_all, reads_nothing, unseen
from penstock.engine.weaving.iterators import opened
from penstock.engine.weaving.segment import no_item
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import SIZED, LoopGate, Opener, Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Zip(Source[tuple[Any, ...]]):
    """Emit tuples of the first elements, the second elements, and so on.

    Emits when every stream has one more element. Backpressures when downstream does: at most `prefetch` elements of
    each stream are held, and none before downstream asks. Completes as soon as one stream has completed and its
    elements are used up; fails when one has failed and its elements are used up. Cancels all streams, also when it
    completes.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.INPUTS
    streams: tuple[Chain, ...]
    prefetch: int = 32
    clean: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count_given("zip", "prefetch", self.prefetch, 1)

    def length(self) -> int | None:
        """Return zero if nothing has to be read of a stream that has no element."""
        first, *others = self.streams
        return 0 if reads_nothing(first) or any(map(is_empty, others)) else None

    def opener(self) -> Opener[tuple[Any, ...]] | None:
        """Iterate side by side, if each can be iterated."""
        if any(map(is_empty, self.streams)):
            return lambda _: iter(())
        openers = pull_all(self.streams, looks=True)
        if openers is None:
            return None
        open_rows = _looked_through if any(map(unseen, self.streams)) else _side_by_side
        return lambda gate: open_rows(openers, gate)

    def connect(self, downstream: Subscriber[tuple[Any, ...]], /) -> None:
        """Subscribe to all."""
        _ZipRun(downstream, len(self.streams), self.prefetch).start(self.streams)


class _Inputs(opened):
    """The iterators whose items are paired."""

    __slots__ = ("near_end",)

    def __init__(self, openers: list[Opener[Any]], gate: LoopGate | None) -> None:
        super().__init__(openers, gate or LoopGate())
        self.near_end = False
        """Whether one of them was seen to need no reading to find its end."""
        if gate is not None:
            gate.left = self.left_in_all

    def left_in_all(self) -> bool:
        """Tell whether something has to be read to know whether another row follows."""
        return not any(self.over())

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Pair them; nothing is read in vain of one where another one knows that it has nothing left."""
        iterators = self.iterators
        places = sorted(builtins.range(len(iterators)), key=lambda place: type(iterators[place]) not in SIZED)
        columns: list[Iterator[Any]] = [iterators[place] for place in places]  # those that always know are read first
        later: list[Any] = [self._inners[place] for place in places if type(iterators[place]) not in SIZED][1:]
        if later:
            places.insert(0, -1)
            columns.insert(0, self._while_left(later))
        rows = builtins.zip(*columns, strict=False)
        if places == sorted(places) and not later:
            return rows
        in_order = map(itemgetter(*[places.index(place) for place in builtins.range(len(iterators))]), rows)
        return self._to_the_end(in_order) if later else in_order

    def _while_left(self, gates: list[LoopGate]) -> Iterator[None]:
        while not self.near_end:
            yield None
            for gate in gates:
                if gate.spent():
                    self.near_end = True

    def _to_the_end(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        yield from rows
        while self.near_end:  # it may still have something that is added at the end
            last = self._row()
            if last is None:
                return
            yield last

    def _row(self) -> tuple[Any, ...] | None:
        """Return one item of each, of those that need not read for it first; None if one has no more."""
        over = self.over()
        places = sorted(builtins.range(len(over)), key=lambda place: not over[place])
        found: dict[int, Any] = {}
        for place in places:
            for item in self.iterators[place]:
                found[place] = item
                break
            else:
                return None
        return tuple([found[place] for place in builtins.range(len(places))])


def _side_by_side(openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[tuple[Any, ...]]:
    inputs = _Inputs(openers, gate)
    iterators = inputs.__enter__()
    # Where nothing has to be closed, the built-in alone is the fastest there is.
    return _closing(inputs) if any(hasattr(each, "close") for each in iterators) else inputs.rows()


def _closing(inputs: _Inputs) -> Iterator[tuple[Any, ...]]:
    try:
        yield from inputs.rows()
    finally:
        inputs.__exit__()


def _looked_through(openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[tuple[Any, ...]]:
    """Do what `_side_by_side` does, and look for None."""
    inputs = _Inputs(openers, gate)
    with inputs as iterators:
        rows = inputs.rows()
        if len(iterators) == 2:
            for row in rows:
                one, other = row
                if one is None or other is None:
                    raise no_item()
                yield row
        else:
            for row in rows:
                for element in row:
                    if element is None:
                        raise no_item()
                yield row


class _ZipRun(Lanes):
    """A run that makes a tuple of one element of each lane."""

    hasty = True
    side_by_side = True

    def make(self) -> Any:
        for lane in self.lanes:
            if not lane.queue:
                return None
        return tuple([lane.take() for lane in self.lanes])

    def settled(self) -> bool:
        for lane in self.lanes:
            if lane.done:
                break
        else:
            return False  # as after most elements
        over = [lane for lane in self.lanes if lane.done and not lane.queue]
        if over and all(lane.error is not None for lane in over):
            over[0].fail_if_failed()
        return bool(over)
