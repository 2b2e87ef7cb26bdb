"""checked: watch the contract at this place of a chain.

Group: look on
Marble: a.checked() over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.cold_paths import left_alone
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.part import Part, height_of
from penstock.spec.interfaces import Subscriber, Subscription
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

        monitor(_Unchecked(self.stream, downstream)).subscribe(downstream)


@dataclass(frozen=True, slots=True)
class _Unchecked:
    stream: Chain
    behind: Subscriber[Any]

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        connect(self.stream, _BeforeMonitor(subscriber, self.behind))


class _BeforeMonitor(Part):
    """The monitor as a part: who is behind it hears what only parts tell each other."""

    __slots__ = ("_behind", "_monitor", "height", "on_complete", "on_error")

    def __init__(self, monitor: Subscriber[Any], behind: Subscriber[Any]) -> None:
        self.height = height_of(behind) + 1
        self.on_error = monitor.on_error
        self.on_complete = monitor.on_complete
        self._monitor = monitor
        self._behind = behind

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Pass the subscription on."""
        self._pass_on(self._monitor.on_subscribe, subscription)

    def on_next(self, element: Any, /) -> None:
        """Pass an element on."""
        self._pass_on(self._monitor.on_next, element)

    def _pass_on(self, signal: Callable[[Any], None], what: Any) -> None:
        try:
            signal(what)
        except Exception:  # by who is behind; the monitor has cut off those before it
            left_alone(self._behind)
            raise

    def stand_aside(self) -> Subscriber[Any]:
        """Return who is behind the monitor."""
        return self._behind
