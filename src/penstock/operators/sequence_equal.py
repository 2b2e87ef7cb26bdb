"""sequence_equal: tell whether two streams have the same elements in the same order.

Group: bring streams together
Marble: a.sequence_equal(b) over -1--2--| and --1--2-|
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

from penstock.engine.many.combining import NOTHING, Lanes
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import pull_all, unseen
from penstock.engine.weaving.blame import blamed, no_stop, note_on
from penstock.engine.weaving.iterators import opened
from penstock.engine.weaving.segment import no_item
from penstock.engine.words.arguments import count_given, function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import LeftLoop, LoopGate, Opener, Results, Source, Tie

_END = object()


@dataclass(frozen=True, slots=True)
class SequenceEqual(Source[bool]):
    """Emit True if both streams have equal elements in the same order and complete after as many, else False.

    Emits once: at the first difference, or when both have completed. Backpressures when downstream does; nothing is
    compared before downstream asks, and at most `prefetch` elements of each stream are held. Completes with the answer;
    fails with the first failure. Cancels both streams, also when it completes.
    """

    results: ClassVar[Results] = Results.ONE
    tie: ClassVar[Tie] = Tie.INPUTS
    stream: Chain
    other: Chain
    equal: Callable[[Any, Any], object] | None = None
    prefetch: int = 32

    def __post_init__(self) -> None:
        if self.equal is not None:
            function_given("sequence_equal", "equal", self.equal)
        count_given("sequence_equal", "prefetch", self.prefetch, 1)

    def opener(self) -> Opener[bool] | None:
        """Iterate side by side, if both can be iterated."""
        openers = pull_all((self.stream, self.other), looks=True)
        return None if openers is None else lambda gate: self._side_by_side(openers, gate)

    def _side_by_side(self, openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[bool]:
        with opened(openers, gate) as iterators:
            answer = self._compared(iterators, gate)
        if gate is not None:
            gate.finish()  # completes with the answer
        yield answer

    def _compared(self, iterators: list[Iterator[Any]], gate: LoopGate | None) -> bool:
        equal = self.equal
        if equal is None and gate is None:
            return self._same(iterators)
        for one, other in zip_longest(*iterators, fillvalue=_END):
            if one is _END or other is _END:
                return False
            if one is None or other is None:
                raise no_item()
            try:
                same = one == other if equal is None else equal(one, other)
                if not same:
                    return False
            except Exception as error:  # noqa: BLE001  rule 1.4
                raise self.blamed(error)  # noqa: B904  it is the same error, unless it was a stop
            if gate is not None and gate.over:
                raise LeftLoop
        return True

    def _same(self, iterators: list[Iterator[Any]]) -> bool:
        """Do what `_compared` does, in as few words as possible; None stands for the end."""
        one = other = None
        try:
            for one, other in zip_longest(*iterators):
                if one is None or other is None or not one == other:  # noqa: SIM201  `!=` is another question
                    break
            else:
                return True
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise self.blamed(error)  # noqa: B904  it is the same error, unless it was a stop
        if one is None or other is None:
            self._look()
        return False

    def _look(self) -> None:
        """Fail if a None was one of the items and not the end."""
        for chain in filter(unseen, (self.stream, self.other)):
            opener = chain.source.opener()
            if opener is not None and any(item is None for item in opener(None)):
                raise no_item()

    def blamed(self, error: Exception) -> Exception:
        """Note who raised: the function, or the elements themselves."""
        if self.equal is not None:
            return blamed(error, self, self.equal)
        error = no_stop(error, "sequence_equal: a comparison")
        note_on(error, "in sequence_equal")
        return error

    def connect(self, downstream: Subscriber[bool], /) -> None:
        """Subscribe to both."""
        _SequenceEqualRun(self, downstream).start((self.stream, self.other))


class _SequenceEqualRun(Lanes):
    def __init__(self, step: SequenceEqual, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, 2, step.prefetch)
        self._step = step
        self._answered = False

    def make(self) -> Any:
        one, other = self.lanes
        if self._answered:
            return None
        if one.queue and other.queue:
            return NOTHING if self._same(one.take(), other.take()) else self._answer(False)
        done = [lane.done for lane in self.lanes]  # before their queues, since what is there came before the end
        waiting = [bool(lane.queue) for lane in self.lanes]
        if all(waiting) or not all(map(operator.or_, done, waiting)):
            return None
        for lane, waits in zip(self.lanes, waiting, strict=True):
            if not waits:
                lane.fail_if_failed()
        return self._answer(not any(waiting))

    def _same(self, one: Any, other: Any) -> bool:
        equal = self._step.equal
        try:
            return bool(one == other if equal is None else equal(one, other))
        except Exception as error:  # noqa: BLE001  rule 1.4
            raise self._step.blamed(error)  # noqa: B904

    def _answer(self, answer: bool) -> bool:
        self._answered = True
        return answer

    def settled(self) -> bool:
        if not self._answered:
            for lane in self.lanes:
                if not lane.queue and lane.done:
                    lane.fail_if_failed()
        return self._answered
