"""switch_if_empty: go on with another stream if there was no element.

Group: bring streams together
Marble: a.switch_if_empty(b) over ----| and -x-y-|
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.relay import Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull_all, reads_nothing
from penstock.engine.weaving.iterators import opened
from penstock.engine.weaving.segment import no_item
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Results, Source, Tie


@dataclass(frozen=True, slots=True)
class SwitchIfEmpty(Source[Any]):
    """Emit the stream, or if it completes without an element, the other one.

    Emits when the current stream does. Backpressures when downstream does; demand moves on to the other one. Completes
    when the stream does, or the other one in its place; fails with the first failure. Cancels the current stream; the
    other one is not subscribed before it is needed.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.INPUTS
    stream: Chain
    other: Chain
    clean: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def length(self) -> int | None:
        """Return zero if nothing has to be read of either."""
        return 0 if reads_nothing(self.stream) and reads_nothing(self.other) else None

    def opener(self) -> Opener[Any] | None:
        """Iterate over one or the other, if both can be iterated."""
        openers = pull_all((self.stream, self.other), looks=True)
        return None if openers is None else lambda gate: _one_or_the_other(openers, gate)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the stream."""
        run = _SwitchIfEmptyRun(downstream, self.other)
        assert run.leg is not None
        connect(self.stream, run.leg)


def _one_or_the_other(openers: list[Opener[Any]], gate: LoopGate | None) -> Iterator[Any]:
    for place, opener in enumerate(openers, 1):
        inputs = opened((opener,), gate)
        with inputs as (iterator,):
            if gate is not None and place == len(openers):
                gate.left = inputs.left
            for element in iterator:
                if element is None:
                    raise no_item()
                if gate is not None:
                    gate.left = inputs.left
                yield element
                break
            else:
                continue
            for element in iterator:
                if element is None:
                    raise no_item()
                yield element
            return


class _SwitchIfEmptyRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], other: Chain) -> None:
        super().__init__(downstream)
        self._other: Chain | None = other

    def arrived(self, element: Any) -> None:
        self._other = None
        super().arrived(element)

    def completed(self) -> None:
        other, self._other = self._other, None
        if other is None:
            self.end()
        else:
            self.attach(lambda leg: connect(other, leg))
