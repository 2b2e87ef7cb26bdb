"""observed: let a listener see what comes before.

Group: look on
Marble: a.observed(Recorder()) over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull
from penstock.engine.watching.observe import Observer
from penstock.spec.interfaces import Subscriber
from penstock.stage import Opener, Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Observed(Source[Any]):
    """Let the listener see every step of the stream in every run, without a say in it.

    Emits when the stream does. Backpressures when downstream does. Completes when the stream completes. Cancels the
    stream.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.BOOKS
    stream: Chain
    observer: Observer
    passes: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def opener(self) -> Opener[Any] | None:
        """Iterate, seen."""
        if pull(self.stream) is None:
            return None

        def open_seen(gate: Any) -> Any:
            opener = pull(self.observer.watched(self.stream))
            assert opener is not None
            return opener(gate)

        return open_seen

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe, seen."""
        connect(self.observer.watched(self.stream), downstream)
