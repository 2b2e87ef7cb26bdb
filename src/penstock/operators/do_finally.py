"""do_finally: call a function when the stream is over, however it ends.

Group: look on
Marble: a.do_finally(connection.close) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.relay import Relay
from penstock.engine.words.arguments import effect_given
from penstock.engine.words.dropped import drop
from penstock.spec.interfaces import Subscriber
from penstock.stage import Gives, Joint, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DoFinally(Joint[T, T]):
    """Call the function once for each run: before the end is passed on, or when downstream cancels.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes. Cancels when
    downstream cancels.
    """

    tie: ClassVar[Tie] = Tie.RUN
    fn: Callable[[], object]
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        effect_given("do_finally", "fn", self.fn)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay in front of what follows."""
        return _DoFinallyRun(downstream, self.fn).entrance


class _DoFinallyRun(Relay[Any]):
    plain = True

    def __init__(self, downstream: Subscriber[Any], fn: Callable[[], object]) -> None:
        super().__init__(downstream)
        self._fn = fn

    def released(self) -> None:
        try:
            self._fn()
        except Exception as error:  # noqa: BLE001  the stream has ended already
            drop("do_finally: fn raised", error)
