"""concat: emit one stream after the other.

Group: bring streams together
Marble: a.concat(b) over -1-2-| and -x-y-|
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from penstock.engine.grounds.sequence import Following, sequence_before
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull_all, reads_nothing
from penstock.engine.weaving.iterators import left_in, open_inner
from penstock.engine.weaving.segment import no_item
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Source, Tie


@dataclass(frozen=True, slots=True)
class Concat(Source[Any]):
    """Emit all of the first stream, then all of the second, and so on.

    Emits when the current stream does. Backpressures when downstream does; demand left over moves on to the next, which
    is not subscribed before downstream asks for its elements. Completes when the last stream completes; fails with the
    first failure. Cancels the current stream; those after it are never subscribed.
    """

    tie: ClassVar[Tie] = Tie.INPUTS
    streams: tuple[Chain, ...]
    clean: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def length(self) -> int | None:
        """Return zero if nothing has to be read of any stream."""
        return 0 if all(map(reads_nothing, self.streams)) else None

    def opener(self) -> Opener[Any] | None:
        """Iterate over one after the other, if each can be iterated."""
        openers = pull_all(self.streams, looks=True)
        return None if openers is None else lambda gate: self._one_after_the_other(openers, gate)

    def _one_after_the_other(self, openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[Any]:
        for place, opener in enumerate(openers, 1):
            iterator, inner = open_inner(opener, gate)
            if gate is not None and all(map(reads_nothing, self.streams[place:])):
                gate.left = partial(left_in, inner)
            if hasattr(iterator, "close"):
                yield from iterator  # a loop, which has looked for None
                continue
            for element in iterator:
                if element is None:
                    raise no_item()
                yield element

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the first."""
        sequence_before(downstream).begin(_Rest(self.streams))


class _Rest:
    """What is left of the streams."""

    __slots__ = ("_place", "_streams")

    def __init__(self, streams: tuple[Chain, ...]) -> None:
        self._streams = streams
        self._place = 0

    def __call__(self, error: Exception | None, /) -> Following | Exception | None:
        if error is not None or self._place == len(self._streams):
            return error
        chain = self._streams[self._place]
        self._place += 1
        last = self._place == len(self._streams)
        return Following(partial(connect, chain), last=last, at_once=reads_nothing(chain))
