"""concat: emit one stream after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.chain import Chain, connect, pull_all
from penstock.engine.relay import Relay
from penstock.engine.segment import no_item
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gate, Opener, Source


@dataclass(frozen=True, slots=True)
class Concat(Source[Any]):
    """Emit all of the first stream, then all of the second, and so on.

    Emits when the stream at hand does. Backpressures when downstream does; demand left over moves on to the next.
    Completes when the last stream completes; fails with the first failure. Cancels the stream at hand; those after it
    are never subscribed.
    """

    streams: tuple[Chain, ...]
    clean: ClassVar[bool] = True

    def opener(self) -> Opener[Any] | None:
        """Iterate over one after the other, if each can be iterated."""
        openers = pull_all(self.streams, looks=True)
        return None if openers is None else lambda gate: _one_after_the_other(openers, gate)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the first."""
        run = _ConcatRun(downstream, self.streams)
        run.completed()


def _one_after_the_other(openers: list[Opener[Any]], gate: Gate | None) -> Iterator[Any]:
    for opener in openers:
        iterator = opener(gate)
        if hasattr(iterator, "close"):
            yield from iterator  # a loop, which has looked for None
            continue
        for element in iterator:
            if element is None:
                raise no_item()
            yield element


class _ConcatRun(Relay[Any]):
    """Attach the next stream when one has completed."""

    def __init__(self, downstream: Subscriber[Any], streams: tuple[Chain, ...]) -> None:
        super().__init__(downstream)
        self._rest = iter(streams)

    def completed(self) -> None:
        chain = next(self._rest, None)
        if chain is None:
            self.end()
        else:
            self.attach(lambda leg: connect(chain, leg))
