"""first_element: wait for the first element of another stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import accepts, element_or_raise
from penstock.engine.grounds.relay import Relay
from penstock.engine.words.part import Part
from penstock.spec.interfaces import Subscription


class Notice(Part):
    """A subscriber that calls `comes` with the first element, then cancels; a failure ends the relay."""

    __slots__ = ("_comes", "_done", "_relay", "height", "subscription")

    def __init__(self, relay: Relay[Any], comes: Callable[[], None]) -> None:
        self._relay = relay
        self._comes = comes
        self._done = False
        self.height = relay.height
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Ask for one element."""
        if not accepts(subscription, self.subscription, closed=self._done):
            return
        self.subscription = subscription
        if self._done:
            subscription.cancel()
        else:
            subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        """Tell that it has come, once."""
        element_or_raise(element, "on_next")
        if not self._done:
            self.cancel()
            self._comes()

    def on_error(self, error: Exception, /) -> None:
        """Fail the relay."""
        element_or_raise(error, "on_error")
        if self._done:
            too_late(error)
        else:
            self._done = True
            self._relay.end(error, cancel=True)

    def on_complete(self) -> None:
        """Forget about it: it will not come."""
        self._done = True

    def cancel(self) -> None:
        """Wait no longer."""
        done, self._done = self._done, True
        if not done and self.subscription is not None:
            self.subscription.cancel()
