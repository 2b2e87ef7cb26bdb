"""materialize: turn signals into elements.

Group: change each element
Marble: a.materialize() over -1---2---|
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.relay import Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import Items
from penstock.engine.runs.wiring import connect, pull
from penstock.engine.weaving.segment import close_quietly
from penstock.engine.words.signals import Completed, Failed, Next, Signal
from penstock.spec.interfaces import Subscriber
from penstock.stage import LoopGate, Opener, Source, Tie


@dataclass(frozen=True, slots=True)
class Materialize(Source[Any]):
    """Emit a Next for each element, then a Failed or a Completed for the end; the stream itself never fails.

    Emits when upstream signals anything. Backpressures when downstream does; the end of upstream is an element too, and
    waits until it is asked for. Completes with that element. Cancels when downstream cancels.
    """

    tie: ClassVar[Tie] = Tie.RUN
    stream: Chain
    follows: ClassVar[bool] = True

    def opener(self) -> Opener[Signal[Any]] | None:
        """Iterate over the stream, if it can be iterated."""
        opener = pull(self.stream)
        return None if opener is None else lambda gate: _signals(opener, gate)

    def connect(self, downstream: Subscriber[Signal[Any]], /) -> None:
        """Subscribe to the stream."""
        _MaterializeRun(downstream).attach(lambda leg: connect(self.stream, leg))


def _signals(opener: Opener[Any], gate: LoopGate | None) -> Iterator[Signal[Any]]:
    end: Signal[Any] = Completed()
    source: Iterator[Any] | None = None
    try:
        source = opener(gate)
        for element in source:
            yield Next(element)
    except Exception as error:  # noqa: BLE001  rule 1.4: whatever it is, it is signalled
        end = Failed(error)
    finally:
        close_quietly(source)
    if gate is not None:
        gate.finish()  # nothing follows, so the end may be looked for without demand
    yield end


class _MaterializeRun(Relay[Any]):
    """A relay that lets a stream of one element follow the one that has ended: the end, which waits for demand."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._ending = False

    def arrived(self, element: Any) -> None:
        super().arrived(element if self._ending else Next(element))

    def failed(self, error: Exception) -> None:
        self._end_with(Failed(error))

    def completed(self) -> None:
        if self._ending:
            self.end()
        else:
            self._end_with(Completed())

    def _end_with(self, signal: Signal[Any]) -> None:
        self._ending = True
        self.attach(lambda leg: connect(Chain(Items((signal,))), leg))
