"""skip_until: leave out elements until another stream emits.

Group: let some through
Marble: a.skip_until(b) over -1-2-3-4-| and ----x---|
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
class SkipUntil(Source[Any]):
    """Emit the elements that come after the other stream has emitted its first one; if that never comes, none.

    Emits when the stream does and the other one has. Backpressures when downstream does; what is left out does not
    count, so until then the stream is asked for more at once. Completes when the stream does; fails with the first
    failure of either. Cancels both; the other one after its first element.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.INPUTS
    stream: Chain
    other: Chain
    passes: ClassVar[bool] = True

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the other one, then to the stream."""
        run = _SkipUntilRun(downstream)
        connect(self.other, run.notice)
        leg = run.leg
        if leg is not None:
            connect(self.stream, leg)


class _SkipUntilRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._open = False
        self.notice = notice(self, self._opens)

    def _opens(self) -> None:
        self._open = True

    def arrived(self, element: Any) -> None:
        if self._open:
            super().arrived(element)
        else:
            self.left_out()

    def released(self) -> None:
        self.notice.cancel()
