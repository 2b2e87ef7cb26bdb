"""metrics: count what passes, under a name.

Group: look on
Marble: a.metrics('orders', registry=Registry()) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.relay import Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull
from penstock.engine.watching.registry import REGISTRY, Registry, Tally
from penstock.engine.weaving.iterators import open_through
from penstock.engine.weaving.segment import close
from penstock.engine.words.arguments import name_given, of_class
from penstock.spec.interfaces import Subscriber
from penstock.stage import Opener, Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Metrics(Source[Any]):
    """Count runs, requests, elements and ends of the stream in a registry, under `name`.

    Emits when the stream does. Backpressures when downstream does. Completes when the stream completes. Cancels the
    stream.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.BOOKS
    stream: Chain
    name: str
    registry: Registry = REGISTRY
    passes: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name_given("metrics", self.name)
        if not isinstance(self.registry, Registry):
            raise TypeError(f"metrics: registry must be a Registry, got {self.registry!r}{of_class(self.registry)}")

    def opener(self) -> Opener[Any] | None:
        """Iterate, counting."""
        opener = pull(self.stream)
        return (
            None
            if opener is None
            else lambda gate: _counted(self.registry.begin(self.name), open_through(opener, gate))
        )

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe, counting."""
        run = _MetricsRun(downstream, self.registry.begin(self.name))
        run.attach(lambda leg: connect(self.stream, leg))


def _counted(tally: Tally, iterator: Iterator[Any]) -> Iterator[Any]:
    """Count what is iterated; an iterator that is left before its end was cancelled."""
    try:
        for element in iterator:
            tally.delivered += 1
            yield element
        tally.end("completed")
    except Exception:
        tally.end("failed")
        raise
    finally:
        close(iterator)
        tally.end("cancelled")


class _MetricsRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], tally: Tally) -> None:
        super().__init__(downstream)
        self._tally = tally

    def requested(self, n: int, first: bool) -> None:
        self._tally.requested += n

    def arrived(self, element: Any) -> None:
        self._tally.delivered += 1
        super().arrived(element)

    def failed(self, error: Exception) -> None:
        self._tally.end("failed")
        super().failed(error)

    def completed(self) -> None:
        self._tally.end("completed")
        super().completed()

    def released(self) -> None:
        self._tally.end("cancelled")  # unless it has ended before
