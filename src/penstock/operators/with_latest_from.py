"""with_latest_from: emit each element together with the latest of other streams.

Group: bring streams together
Marble: a.with_latest_from(b) over -1--2---3| and --x--y-z--|
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.relay import Relay
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull_all
from penstock.engine.weaving.iterators import opened
from penstock.engine.weaving.segment import no_item
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Source, Tie

_END = object()


@dataclass(frozen=True, slots=True)
class WithLatestFrom(Source[tuple[Any, ...]]):
    """Emit a tuple of each element of the stream and the latest element of each other one.

    Emits when the stream does and every other has emitted; elements that come before are left out. If all can be
    iterated, the others take one step before each element. Backpressures when downstream does; the others are asked
    for everything, and only their latest element is kept. Completes when the stream does, or another one without an
    element; fails with the first failure. Cancels all streams.
    """

    tie: ClassVar[Tie] = Tie.INPUTS
    stream: Chain
    others: tuple[Chain, ...]
    clean: ClassVar[bool] = True
    passes: ClassVar[bool] = True

    def opener(self) -> Opener[tuple[Any, ...]] | None:
        """Iterate side by side, if each can be iterated."""
        openers = pull_all((self.stream, *self.others), looks=True)
        if openers is None:
            return None
        beside = _beside_one if len(openers) == 2 else _side_by_side
        return lambda gate: beside(openers, gate)

    def connect(self, downstream: Subscriber[tuple[Any, ...]], /) -> None:
        """Subscribe to the others, then to the stream."""
        run = _WithLatestFromRun(downstream, len(self.others))
        for chain, other in zip(self.others, run.others, strict=True):
            connect(chain, other)
        leg = run.leg
        if leg is not None:
            connect(self.stream, leg)


def _side_by_side(openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[tuple[Any, ...]]:
    inputs = opened(openers, gate)
    with inputs as (iterator, *others):
        if gate is not None:
            gate.left = inputs.left_in_first
        latest: list[Any] = [_END] * len(others)
        for element in iterator:
            for place, other in enumerate(others):
                latest[place] = newest = next(other, latest[place])
                if newest is _END:
                    return
                if newest is None:
                    raise no_item()
            if element is None:
                raise no_item()
            yield (element, *latest)


def _beside_one(openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[tuple[Any, ...]]:
    """Do what `_side_by_side` does, for one other stream."""
    inputs = opened(openers, gate)
    with inputs as (iterator, other):
        if gate is not None:
            gate.left = inputs.left_in_first
        latest: Any = _END
        for element in iterator:
            latest = next(other, latest)
            if latest is _END:
                return
            if element is None or latest is None:
                raise no_item()
            yield element, latest


class _Other(Upstream):
    """The subscriber of one of the others; it keeps the latest element."""

    __slots__ = ("_run", "latest")

    def __init__(self, run: _WithLatestFromRun) -> None:
        super().__init__(run.height)
        self._run = run
        self.latest: Any = None

    def subscribed(self) -> None:
        self.begin()

    def came(self, element: Any, /) -> None:
        if not self._run.over:
            self.latest = element

    def ended(self, error: Exception | None, /) -> None:
        if self._run.over:
            too_late(error)
        elif error is not None or self.latest is None:
            self._run.end(error, cancel=True)

    def cancel(self) -> None:
        self.latest = None
        super().cancel()


class _WithLatestFromRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], others: int) -> None:
        super().__init__(downstream)
        self.others = [_Other(self) for _ in range(others)]

    def arrived(self, element: Any) -> None:
        latest = [other.latest for other in self.others]
        if any(each is None for each in latest):
            self.left_out()
        else:
            super().arrived((element, *latest))

    def released(self) -> None:
        for other in self.others:
            other.cancel()
