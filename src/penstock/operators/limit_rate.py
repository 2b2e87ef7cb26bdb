"""limit_rate: ask upstream in small portions.

Group: deal with what comes too fast
Marble: a.limit_rate(2) over (12345)|, asked 2---3
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.relay import Leg, Relay
from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Gives, Joint, Sight

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LimitRate(Joint[T, T]):
    """Ask upstream for at most `high` elements at a time, and again once no more than `low` of them are to come.

    Emits when upstream emits. Backpressures when downstream does: nothing is held, and nothing asked for that was not
    asked for below. Completes when upstream completes. Cancels when downstream cancels.
    """

    high: int
    low: int
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        count_given("limit_rate", "high", self.high, 1)
        count_given("limit_rate", "low", self.low, 0)
        if self.low >= self.high:
            raise ValueError(f"limit_rate: low must be < {self.high}, which is high, got {self.low}")

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay that portions demand in front of what follows."""
        return _LimitRun(self, downstream).entrance


class _LimitRun(Relay[Any]):
    def __init__(self, step: LimitRate[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._high = step.high
        self._low = step.low
        self._portions: _Portions | None = None

    def subscribed(self, leg: Leg, subscription: Subscription) -> None:
        self._portions = _Portions(subscription, self._high, self._low)
        super().subscribed(leg, self._portions)

    def arrived(self, element: Any) -> None:
        super().arrived(element)
        portions = self._portions
        if portions is not None:
            portions.came()


class _Portions:
    """The subscription that the relay takes for its upstream; it asks upstream in portions."""

    __slots__ = ("_high", "_lock", "_low", "_owed", "_subscription", "_wanted", "cancel")

    def __init__(self, subscription: Subscription, high: int, low: int) -> None:
        self._subscription = subscription
        self.cancel = subscription.cancel
        self._high = high
        self._low = low
        self._lock = Lock()
        self._wanted = 0
        self._owed = 0

    def request(self, n: int, /) -> None:
        self._pass_on(n, 0)

    def came(self) -> None:
        """Count one element as come."""
        self._pass_on(0, 1)

    def _pass_on(self, asked: int, came: int) -> None:
        with self._lock:
            self._wanted = add(self._wanted, asked)
            self._owed -= came
            portion = min(self._wanted, self._high - self._owed) if self._owed <= self._low else 0
            self._owed += portion
            if self._wanted < UNBOUNDED:
                self._wanted -= portion
        if portion:
            self._subscription.request(portion)
