"""checked: watch the contract at this place of a chain.

Group: look on
Marble: a.checked() over -1-2-3-4-|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.spec.interfaces import Subscriber
from penstock.stage import Results, Source, Tie


@dataclass(frozen=True, slots=True)
class Checked(Source[Any]):
    """Report a broken rule at this place by its name, and who broke it: the stream above or the subscriber below.

    Emits when the stream does. Backpressures when downstream does. Completes when the stream completes; fails with
    ProtocolError when the stream breaks a rule. Cancels the stream.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.PLACE
    stream: Chain
    passes: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Put a monitor between the two."""
        from penstock.tck.monitor import monitor  # noqa: PLC0415  the kit is loaded by those who use it

        monitor(_Unchecked(self.stream)).subscribe(downstream)


@dataclass(frozen=True, slots=True)
class _Unchecked:
    stream: Chain

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        connect(self.stream, subscriber)
