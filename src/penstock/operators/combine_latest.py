"""combine_latest: emit the latest elements of several streams whenever one of them changes.

Group: bring streams together
Marble: a.combine_latest(b) over -1--2---3| and --x--y-z--|
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.many.combining import NOTHING, Lane, Lanes
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import is_empty, pull_all, reads_nothing
from penstock.engine.weaving.iterators import opened
from penstock.engine.weaving.segment import no_item
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Results, Source, Tie

_END = object()


@dataclass(frozen=True, slots=True)
class CombineLatest(Source[tuple[Any, ...]]):
    """Emit a tuple of the latest element of each stream; streams that can be iterated take turns.

    Emits when any stream does, once all of them have. Backpressures when downstream does: no combination is left out,
    and at most `prefetch` elements of each stream wait. Completes when all streams have completed, or one of them
    without an element; fails with the first failure. Cancels all streams.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.INPUTS
    streams: tuple[Chain, ...]
    prefetch: int = 32
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count_given("combine_latest", "prefetch", self.prefetch, 1)

    def length(self) -> int | None:
        """Return zero if nothing has to be read of a stream that has no element."""
        ended = [stream for stream in self.streams if reads_nothing(stream)]  # asked once: streams may be nested deep
        return 0 if len(ended) == len(self.streams) or any(map(is_empty, ended)) else None

    def opener(self) -> Opener[tuple[Any, ...]] | None:
        """Iterate in turns, if each can be iterated."""
        if any(map(is_empty, self.streams)):
            return lambda _: iter(())
        openers = pull_all(self.streams, looks=True)
        if openers is None:
            return None
        turns = _two_in_turns if len(openers) == 2 else _in_turns
        return lambda gate: turns(openers, gate)

    def connect(self, downstream: Subscriber[tuple[Any, ...]], /) -> None:
        """Subscribe to all."""
        _CombineLatestRun(downstream, len(self.streams), self.prefetch).start(self.streams)


def _two_in_turns(openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[tuple[Any, ...]]:
    """Do what `_in_turns` does, without looking whose turn it is."""
    inputs = opened(openers, gate)
    with inputs as (first, second):
        one = next(first, _END)
        other = _END if one is _END else next(second, _END)
        if other is _END:
            return
        if gate is not None:
            gate.left = inputs.left
        if one is None or other is None:
            raise no_item()
        yield one, other
        for one in first:
            if one is None:
                raise no_item()
            yield one, other
            newer = next(second, _END)
            if newer is _END:
                break
            if newer is None:
                raise no_item()
            other = newer
            yield one, other
        for one in first:
            if one is None:
                raise no_item()
            yield one, other
        for other in second:
            if other is None:
                raise no_item()
            yield one, other


def _in_turns(openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[tuple[Any, ...]]:
    inputs = opened(openers, gate)
    with inputs as iterators:
        latest: list[Any] = []
        for iterator in iterators:
            latest.append(next(iterator, _END))
            if latest[-1] is _END:
                return
        if gate is not None:
            gate.left = inputs.left
        if any(element is None for element in latest):
            raise no_item()
        yield tuple(latest)
        live = list(enumerate(iterators))
        while live:
            ended: list[int] = []
            for place, iterator in live:
                element = next(iterator, _END)
                if element is _END:
                    ended.append(place)
                    continue
                if element is None:
                    raise no_item()
                latest[place] = element
                yield tuple(latest)
            if ended:
                live = [turn for turn in live if turn[0] not in ended]


class _CombineLatestRun(Lanes):
    """A run that holds what came in the order of its arrival, ends included: None stands for an end."""

    def __init__(self, downstream: Subscriber[Any], count: int, window: int) -> None:
        super().__init__(downstream, count, window)
        self._arrivals: deque[tuple[Lane, Any]] = deque()
        self._latest: list[Any] = [None] * count
        self._missing = count
        self._live = count
        for lane in self.lanes:
            lane.put = self._putting(lane)

    def _putting(self, lane: Lane) -> Callable[[Any], None]:
        append = self._arrivals.append
        return lambda element: append((lane, element))

    def held(self) -> int:
        return len(self._arrivals)

    def ended(self, lane: Lane) -> None:
        lane.done = True
        self._arrivals.append((lane, None))
        self.tell()

    def make(self) -> Any:
        if not self._arrivals:
            return None
        lane, element = self._arrivals.popleft()
        if element is None:
            self._left(lane)
            return NOTHING if self._live else None
        if self._latest[lane.place] is None:
            self._missing -= 1
        self._latest[lane.place] = element
        lane.taken(1)
        return NOTHING if self._missing else tuple(self._latest)

    def settled(self) -> bool:
        while self._live and self._arrivals and self._arrivals[0][1] is None:
            self._left(self._arrivals.popleft()[0])
        return not self._live

    def _left(self, lane: Lane) -> None:
        lane.fail_if_failed()
        # One that ends without an element keeps all others from ever being combined.
        self._live = 0 if self._latest[lane.place] is None else self._live - 1

    def forget(self) -> None:
        self._arrivals.clear()
        self._latest.clear()
