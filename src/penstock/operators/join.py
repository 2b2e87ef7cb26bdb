"""join: pair the elements of two streams that have the same key.

Group: bring streams together
Marble: a.join(b, lambda n: n % 2) over -1--2-----| and ---3--4-5|
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal

from penstock.engine.many.combining import NOTHING, Lanes
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import is_empty, pull_all, reads_nothing
from penstock.engine.weaving.blame import blamed
from penstock.engine.weaving.iterators import opened
from penstock.engine.words.arguments import count_given, function_given
from penstock.errors import OverflowedError
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Source, Tie

How = Literal["inner", "left", "right", "outer"]
Pair = tuple[Any, Any]

_LEFT, _RIGHT = 0, 1
_END = object()


@dataclass(frozen=True, slots=True)
class Join(Source[Pair]):
    """Emit a pair for every two elements with equal keys, one of each stream.

    Emits when an element comes whose match has come before; "left", "right" and "outer" also emit the elements of that
    side that found none, paired with None, once the other stream has completed. If both can be iterated, the other
    stream is read first. Backpressures when downstream does; an element is held while the other stream goes on. At most
    `size` elements of each stream are held, besides `prefetch` that wait: a stream that has no room waits for the other
    one to complete, and if both have none, it fails with OverflowedError. Completes when no pair can follow any more:
    both streams have completed, or one has and the other's elements would find none. Fails with the first failure.
    Cancels both streams.
    """

    tie: ClassVar[Tie] = Tie.INPUTS
    stream: Chain
    other: Chain
    key: Callable[[Any], Hashable]
    other_key: Callable[[Any], Hashable]
    how: How = "inner"
    size: int = 10_000
    prefetch: int = 32
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        function_given("join", "key", self.key)
        function_given("join", "other_key", self.other_key)
        if self.how not in ("inner", "left", "right", "outer"):
            raise ValueError(f"join: how must be 'inner', 'left', 'right' or 'outer', got {self.how!r}")
        count_given("join", "size", self.size, 1)
        count_given("join", "prefetch", self.prefetch, 1)

    def length(self) -> int | None:
        """Return zero if nothing has to be read of either."""
        left, right = reads_nothing(self.stream), reads_nothing(self.other)
        # Asked once of a stream that has something to read: streams may be nested deep.
        return 0 if (left and right) or ((left or right) and self._vain) else None

    def opener(self) -> Opener[Pair] | None:
        """Iterate over one and then the other, if both can be iterated."""
        if self._vain:
            return lambda _: iter(())
        openers = pull_all((self.stream, self.other))
        return None if openers is None else lambda gate: self._one_by_one(openers, gate)

    @property
    def _vain(self) -> bool:
        """Whether a stream that is needed is known to be empty."""
        return (self.how in ("inner", "left") and is_empty(self.stream)) or (
            self.how in ("inner", "right") and is_empty(self.other)
        )

    def _one_by_one(self, openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[Pair]:
        match = _Match(self)
        inputs = opened(openers, gate)
        waiting: list[Any] = [_END, _END]  # an element for which there is no room
        with inputs as iterators:
            if gate is not None:
                gate.left = lambda: inputs.left() or any(element is not _END for element in waiting)
            match.read(iterators[_RIGHT])
            if match.done[_RIGHT] and self.how in ("inner", "right"):
                yield from match.found(iterators[_LEFT])
            while not match.over:
                for side in (_RIGHT, _LEFT):
                    if match.done[side]:
                        continue
                    element, waiting[side] = waiting[side], _END
                    if element is _END:
                        element = next(iterators[side], _END)
                    if element is _END:
                        yield from match.end(side)
                    elif match.full(side):
                        waiting[side] = element
                        continue
                    else:
                        yield from match.arrive(side, element)
                    break
                else:
                    raise match.overflowed()

    def connect(self, downstream: Subscriber[Pair], /) -> None:
        """Subscribe to both."""
        _JoinRun(self, downstream).start((self.stream, self.other))


class _Match:
    """The elements of each side that may still find a match, by key.

    Elements of one key have found a match all or none, so it is enough to remember the keys. Where those without one
    are wanted (`_alone`), elements are kept in the order they came as well.
    """

    def __init__(self, step: Join) -> None:
        self._step = step
        self._keys = (step.key, step.other_key)
        self._size = step.size
        self._kept: tuple[dict[Hashable, list[Any]], ...] = ({}, {})
        self._counts = [0, 0]
        self._alone = (step.how in ("left", "outer"), step.how in ("right", "outer"))
        self._matched: tuple[set[Hashable], ...] = (set(), set())
        self._order: tuple[list[tuple[Hashable, Any]], ...] = ([], [])
        self.done = [False, False]

    @property
    def over(self) -> bool:
        """Tell whether no pair can follow: both sides have ended, or one that is needed has and holds nothing."""
        return all(self.done) or any(map(self._vain, (_LEFT, _RIGHT)))

    def _vain(self, side: int) -> bool:
        """Tell whether a side has ended with nothing left to match, and the other is of no use without it."""
        return self.done[side] and not self._counts[side] and not self._alone[1 - side]

    @property
    def held(self) -> int:
        """Return how many elements are held."""
        return sum(self._counts)

    def full(self, side: int) -> bool:
        """Tell whether another element of this side could not be held."""
        return self._counts[side] >= self._size and not self.done[1 - side]

    def overflowed(self) -> OverflowedError:
        """Return the error for two sides that have no room."""
        return OverflowedError(
            f"join: {self._size} elements of each stream are held and neither has completed; raise size above the "
            "length of the shorter one, or let fewer through"
        )

    def read(self, iterator: Iterator[Any]) -> None:
        """Hold all elements of the right side, as far as there is room, before the left one has any."""
        fn, kept, order = self._keys[_RIGHT], self._kept[_RIGHT], self._order[_RIGHT]
        alone = self._alone[_RIGHT]
        count = 0
        try:
            for element in islice(iterator, min(self._size, sys.maxsize)):
                key = fn(element)
                row = kept.get(key)
                if row is None:
                    kept[key] = [element]
                else:
                    row.append(element)
                if alone:
                    order.append((key, element))
                count += 1
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise blamed(error, self._step, fn)  # noqa: B904  it is the same error, unless it was a stop
        self._counts[_RIGHT] = count
        self.done[_RIGHT] = count < self._size

    def found(self, iterator: Iterator[Any]) -> Iterator[Pair]:
        """Pair the left side's elements with those held: the fast way, for when the right side has ended."""
        fn, find = self._keys[_LEFT], self._kept[_RIGHT].get
        matched = self._matched[_RIGHT] if self._alone[_RIGHT] else None
        try:
            for element in iterator:
                row = find(key := fn(element))
                if row is not None:
                    if matched is not None:
                        matched.add(key)
                    for other in row:
                        yield element, other
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise blamed(error, self._step, fn)  # noqa: B904

    def arrive(self, side: int, element: Any) -> list[Pair]:
        """Return the pairs that an element makes, and hold it if more may come."""
        other = 1 - side
        fn = self._keys[side]
        try:
            key = fn(element)
            row = self._kept[other].get(key)
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise blamed(error, self._step, fn)  # noqa: B904
        if row is not None and self._alone[other]:
            self._matched[other].add(key)
        if not self.done[other]:
            self._hold(side, key, element, matched=row is not None)
        elif row is None and self._alone[side]:
            return [_alone(side, element)]
        if row is None:
            return []
        return [(element, match) for match in row] if side == _LEFT else [(match, element) for match in row]

    def _hold(self, side: int, key: Hashable, element: Any, *, matched: bool) -> None:
        self._kept[side].setdefault(key, []).append(element)
        self._counts[side] += 1
        if self._alone[side]:
            self._order[side].append((key, element))
            if matched:
                self._matched[side].add(key)

    def end(self, side: int) -> list[Pair]:
        """Return the pairs of those on the other side that have waited in vain, and hold them no more."""
        self.done[side] = True
        other = 1 - side
        alone = [_alone(other, element) for key, element in self._order[other] if key not in self._matched[other]]
        self._clear(other)
        return alone

    def clear(self) -> None:
        """Let go of everything."""
        self._clear(_LEFT)
        self._clear(_RIGHT)

    def _clear(self, side: int) -> None:
        for kept in (self._kept, self._matched, self._order):
            kept[side].clear()
        self._counts[side] = 0


def _alone(side: int, element: Any) -> Pair:
    return (element, None) if side == _LEFT else (None, element)


class _JoinRun(Lanes):
    def __init__(self, step: Join, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, 2, step.prefetch)
        self._match = _Match(step)
        self._pairs: deque[Pair] = deque()

    def held(self) -> int:
        return super().held() + self._match.held

    def _end_completed(self) -> None:
        """Note which sides have completed; that may be the end, whatever becomes of the other."""
        for side, lane in enumerate(self.lanes):
            if lane.done and not lane.queue and lane.error is None and not self._match.done[side]:
                self._pairs.extend(self._match.end(side))

    def make(self) -> Any:
        self._end_completed()
        if self._pairs:
            return self._pairs.popleft()
        match, stuck = self._match, 0
        if match.over:
            return None
        for side in (_RIGHT, _LEFT):
            lane = self.lanes[side]
            if lane.queue:
                if match.full(side):
                    stuck += 1
                    continue
                self._pairs.extend(match.arrive(side, lane.take()))
            elif not match.done[side] and lane.used_up:
                self._pairs.extend(match.end(side))
            else:
                continue
            return self._pairs.popleft() if self._pairs else NOTHING
        if stuck == 2:
            raise match.overflowed()
        return None

    def settled(self) -> bool:
        self._end_completed()
        if not self._pairs and not self._match.over:
            for lane in self.lanes:
                if lane.done and not lane.queue:
                    lane.fail_if_failed()
        return not self._pairs and self._match.over

    def forget(self) -> None:
        self._pairs.clear()
        self._match.clear()
