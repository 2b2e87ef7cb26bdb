"""interleave: take elements of several streams in turns.

Group: bring streams together
Marble: a.interleave(b) over (123)| and ---x-y|
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar

from penstock.engine.many.combining import Lanes
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import pull_all, reads_nothing
from penstock.engine.weaving.iterators import in_turns, opened
from penstock.engine.words.arguments import count_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Source, Tie


@dataclass(frozen=True, slots=True)
class Interleave(Source[Any]):
    """Emit `count` elements of the first stream, then of the second, and so on, again and again.

    Emits when the stream whose turn it is does; one that has completed is passed over. Backpressures when downstream
    does: at most `prefetch` elements of each stream are held. Completes when all streams have completed; fails with
    the first failure. Cancels all streams.
    """

    tie: ClassVar[Tie] = Tie.INPUTS
    streams: tuple[Chain, ...]
    count: int = 1
    prefetch: int = 32
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count_given("interleave", "count", self.count, 1)
        count_given("interleave", "prefetch", self.prefetch, 1)

    def length(self) -> int | None:
        """Return zero if nothing has to be read of any stream."""
        return 0 if all(map(reads_nothing, self.streams)) else None

    def opener(self) -> Opener[Any] | None:
        """Iterate in turns, if each can be iterated."""
        openers = pull_all(self.streams)
        if openers is None:
            return None
        return partial(in_turns, openers) if self.count == 1 else lambda gate: _some_by_some(openers, gate, self.count)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to all."""
        _InterleaveRun(self, downstream).start(self.streams)


def _some_by_some(openers: list[Opener[Any]], gate: LoopGate | None, count: int) -> Iterator[Any]:
    inputs = opened(openers, gate)
    with inputs as iterators:
        if gate is not None:
            gate.left = inputs.left
        live = list(iterators)
        while live:
            ended: list[Iterator[Any]] = []
            for iterator in live:
                given = 0
                for element in islice(iterator, min(count, sys.maxsize)):
                    given += 1
                    yield element
                if given < count:
                    ended.append(iterator)
            if ended:
                live = [iterator for iterator in live if all(iterator is not other for other in ended)]


class _InterleaveRun(Lanes):
    def __init__(self, step: Interleave, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, len(step.streams), step.prefetch)
        self._count = step.count
        self._turns = list(self.lanes)
        self._turn = 0
        self._given = 0

    def make(self) -> Any:
        if self._pass_on() or not self._turns:
            return None
        self._given += 1
        return self._turns[self._turn].take()

    def _pass_on(self) -> bool:
        """Pass the turn on to a lane that has not completed; tell whether it has to be waited for."""
        if self._given == self._count:
            self._given = 0
            self._turn = (self._turn + 1) % len(self._turns)
        while self._turns:
            lane = self._turns[self._turn]
            if lane.queue:
                return False
            if not lane.used_up:
                return True
            self._given = 0
            del self._turns[self._turn]
            if self._turn == len(self._turns):
                self._turn = 0
        return False

    def settled(self) -> bool:
        self._pass_on()
        return not self._turns
