"""log: write the signals that pass by to a log.

Group: look on
Marble: a.log('orders') over -1-2-3-4-|
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.relay import Leg, Relay
from penstock.engine.words.arguments import name_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Gives, Joint, Sight

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Log(Joint[T, T]):
    """Write every signal that passes, in both directions, to the logger `penstock.<name>`.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes. Cancels when
    downstream cancels. If the logger does not take the level when the stream is subscribed, nothing stands in the way.
    """

    sight: ClassVar[Sight] = Sight.ITEM
    name: str
    level: int = logging.INFO
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        name_given("log", self.name)
        if isinstance(self.level, bool) or not isinstance(self.level, int):
            raise TypeError(f"log: level must be a level of logging, got {self.level!r}")

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay in front of what follows, if the logger takes the level."""
        logger = logging.getLogger(f"penstock.{self.name}")
        if not logger.isEnabledFor(self.level):
            return downstream
        return _LogRun(downstream, logger, self.level).entrance


class _LogRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], logger: logging.Logger, level: int) -> None:
        super().__init__(downstream)
        self._logger = logger
        self._level = level

    def _write(self, text: str, *args: object) -> None:
        self._logger.log(self._level, text, *args)

    def subscribed(self, leg: Leg, subscription: Subscription) -> None:
        self._write("subscribed")
        super().subscribed(leg, subscription)

    def requested(self, n: int, first: bool) -> None:
        self._write("requested %s", "all" if n >= UNBOUNDED else n)

    def arrived(self, element: Any) -> None:
        self._write("next %r", element)
        super().arrived(element)

    def failed(self, error: Exception) -> None:
        self._write("failed %r", error)
        super().failed(error)

    def completed(self) -> None:
        self._write("completed")
        super().completed()

    def cancelled(self) -> None:
        self._write("cancelled")
