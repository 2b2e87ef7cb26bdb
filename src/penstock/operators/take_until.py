"""take_until: let elements through until another stream emits.

Group: let some through
Marble: a.take_until(b) over -1-2-3-4-| and ----x---|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.beside import notice
from penstock.engine.grounds.relay import Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class TakeUntil(Source[Any]):
    """Emit the stream until the other one emits its first element; if that never comes, all of it.

    Emits when the stream does. Backpressures when downstream does; of the other stream one element is asked for.
    Completes when the stream does, or with the first element of the other one, whose completion alone means nothing;
    fails with the first failure of either. Cancels both, also when it completes.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.INPUTS
    stream: Chain
    other: Chain
    passes: ClassVar[bool] = True

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the other one, then to the stream."""
        run = _TakeUntilRun(downstream)
        connect(self.other, run.notice)
        leg = run.leg
        if leg is not None:
            connect(self.stream, leg)


class _TakeUntilRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self.notice = notice(self, lambda: self.end(cancel=True))

    def released(self) -> None:
        self.notice.cancel()
