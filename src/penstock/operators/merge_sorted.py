"""merge_sorted: merge sorted streams into one sorted stream.

Group: bring streams together
Marble: a.merge_sorted(b) over -1---4---| and --2-3---5|
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, ClassVar

from penstock.engine.many.combining import Lanes
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import pull_all, reads_nothing
from penstock.engine.weaving.blame import blamed, no_stop, note_on
from penstock.engine.weaving.iterators import opened
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Source, Tie

_END = object()


@dataclass(frozen=True, slots=True)
class MergeSorted(Source[Any]):
    """Emit the elements of all streams in the order of their keys; each stream must be in that order itself.

    Emits when every stream that has not completed has an element; of equal ones that of the earlier stream comes
    first. Backpressures when downstream does: at most `prefetch` elements of each stream are held. Completes when all
    streams have completed; fails with the first failure. Cancels all streams.
    """

    tie: ClassVar[Tie] = Tie.INPUTS
    streams: tuple[Chain, ...]
    key: Callable[[Any], Any] | None = None
    prefetch: int = 32
    clean: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.key is not None:
            function_given("merge_sorted", "key", self.key)
        count_given("merge_sorted", "prefetch", self.prefetch, 1)

    def length(self) -> int | None:
        """Return zero if nothing has to be read of any stream."""
        return 0 if all(map(reads_nothing, self.streams)) else None

    def opener(self) -> Opener[Any] | None:
        """Iterate side by side, if each can be iterated."""
        openers = pull_all(self.streams)
        if openers is None:
            return None
        merged = _two_by_two if self.key is None and len(openers) == 2 else _by_key
        return lambda gate: merged(self, openers, gate)

    def blamed(self, error: Exception) -> Exception:
        """Note who raised: the key, or the comparison of two keys; a stream's own error says so already."""
        if self.key is not None:
            return blamed(error, self, self.key)
        error = no_stop(error, "merge_sorted: a comparison")
        note_on(error, "in merge_sorted")
        return error

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to all."""
        _MergeSortedRun(self, downstream).start(self.streams)


def _two_by_two(step: MergeSorted, openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[Any]:
    """Merge two by comparing them; no heap is needed."""
    inputs, waiting = opened(openers, gate), 1
    with inputs as (first, second):
        if gate is not None:
            gate.left = lambda: waiting or inputs.left()
        try:
            one: Any = next(first, _END)
            other: Any = next(second, _END)
            while one is not _END and other is not _END:
                if other < one:
                    yield other
                    other = next(second, _END)
                else:
                    yield one
                    one = next(first, _END)
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise step.blamed(error)  # noqa: B904  it is the same error, unless it was a stop
        waiting = 0
        if one is not _END:
            yield one
            yield from first
        elif other is not _END:
            yield other
            yield from second


def _by_key(step: MergeSorted, openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[Any]:
    """Merge with a heap of each one's next element and its key."""
    key = step.key
    heads: list[list[Any]] = []
    inputs, waiting = opened(openers, gate), 1
    with inputs as iterators:
        if gate is not None:
            gate.left = lambda: waiting or inputs.left()
        try:
            for place, iterator in enumerate(iterators):
                element = next(iterator, _END)
                if element is not _END:
                    heads.append([element if key is None else key(element), place, element, iterator])
            heapify(heads)
            while len(heads) > 1:
                head = heads[0]
                yield head[2]
                element = next(head[3], _END)
                if element is _END:
                    heappop(heads)
                else:
                    head[2] = element
                    head[0] = element if key is None else key(element)
                    heapreplace(heads, head)
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise step.blamed(error)  # noqa: B904
        waiting = 0
        for head in heads:
            yield head[2]
            yield from head[3]


class _MergeSortedRun(Lanes):
    """A run that holds the key of each lane's next element in a heap."""

    def __init__(self, step: MergeSorted, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, len(step.streams), step.prefetch)
        self._step = step
        self._heads: list[tuple[Any, int]] = []
        self._wanted = set(range(len(step.streams)))

    def make(self) -> Any:
        if self._wanted and not self._look():
            return None
        if not self._heads:
            return None
        try:
            _, place = heappop(self._heads)
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise self._step.blamed(error)  # noqa: B904
        self._wanted.add(place)
        return self.lanes[place].take()

    def _look(self) -> bool:
        """Take note of the next elements that are there; tell whether there are all that are needed."""
        key = self._step.key
        for place in sorted(self._wanted):
            lane = self.lanes[place]
            if lane.queue:
                element = lane.queue[0]
                try:
                    heappush(self._heads, (element if key is None else key(element), place))
                except Exception as error:  # noqa: BLE001  rule 1.4
                    raise self._step.blamed(error)  # noqa: B904
            elif not lane.used_up:
                continue
            self._wanted.discard(place)
        return not self._wanted

    def settled(self) -> bool:
        for lane in self.lanes:
            if lane.done and not lane.queue:
                lane.fail_if_failed()  # without its next element none of the others can be the first
        return super().settled()

    def forget(self) -> None:
        self._heads.clear()
