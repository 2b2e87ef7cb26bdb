"""foreign: the relay for publishers of other libraries, which are held to the contract and served by it."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from threading import Lock
from typing import Any

from penstock.engine.grounds.cold_paths import interrupts_told
from penstock.engine.grounds.relay import Leg, Relay
from penstock.engine.words.demand import add
from penstock.engine.words.dropped import attempt
from penstock.errors import InterruptionError, ProtocolError
from penstock.spec.dialects.cpp import returned
from penstock.spec.interfaces import Publisher, Subscriber, Subscription


def subscribe_to(publisher: Publisher[Any], subscriber: Subscriber[Any]) -> None:
    """Subscribe to a publisher of another library, which is held to the contract."""
    relay = ForeignRelay(subscriber)
    leg = relay.entrance
    found: object = None
    try:
        found = publisher.subscribe(leg)  # type: ignore[func-returns-value]
    except Exception as error:  # noqa: BLE001  rule 1.9: a foreign subscribe that raises is a failure
        relay.end(error, cancel=not relay.over)  # behind an end it goes to the hook
    if found is not None and leg.subscription is None:
        subscription = returned(found)
        if subscription is not None:  # a publisher of the C++ text, which calls no on_subscribe
            leg.on_subscribe(subscription)


class ForeignRelay(Relay[Any]):
    """The relay of a foreign publisher: requests to it never overlap; if one raises, the stream fails by rule 3.16."""

    def subscribed(self, leg: Leg, subscription: Subscription) -> None:
        """Take the subscription, guarded."""
        super().subscribed(leg, _OneAtATime(subscription, self._raised))

    def _raised(self, error: Exception) -> None:
        if isinstance(error, InterruptionError):
            self.end(error, cancel=True)
            return
        failure = ProtocolError("3.16", f"the publisher's request raised {error!r}")
        failure.__cause__ = error
        self.end(failure, cancel=True)


class _OneAtATime:
    """A subscription that passes requests on one by one and adds up the others (rule 2.7); it cancels at once."""

    __slots__ = ("_busy", "_lock", "_pending", "_raised", "_subscription")

    def __init__(self, subscription: Subscription, raised: Callable[[Exception], None]) -> None:
        self._subscription = subscription
        self._raised = raised
        self._lock = Lock()
        self._busy = False
        self._pending = 0

    def request(self, n: int, /) -> None:
        with self._lock:
            self._pending = add(self._pending, n)
            if self._busy:
                return
            self._busy = True
        while True:
            with self._lock:
                asked, self._pending = self._pending, 0
                if not asked:
                    self._busy = False
                    return
            try:
                with interrupts_told(self._raised):
                    self._subscription.request(asked)
            except Exception as error:  # noqa: BLE001  rule 3.16: it is the publisher's breach, not the caller's
                self._raised(error)

    def cancel(self) -> None:
        cancel(self._subscription)


def cancel(subscription: Subscription) -> None:
    """Cancel; what a publisher raises then goes to the hook."""
    attempt("rule 3.15: the publisher's cancel raised", methodcaller("cancel"), subscription)  # it may have none
