"""result: the subscriber at the end of a pipeline, which asks for one element."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from penstock.errors import EmptyError
from penstock.spec.interfaces import Subscription

Settle = Callable[[Any, Exception | None], object]


class ResultSubscriber:
    """The subscriber at the end; it asks for one element, which is the result."""

    def __init__(self, name: str, settle: Settle) -> None:
        self._name = name
        self._settle = settle
        self._lock = Lock()
        self._cancelled = False
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Ask for the result."""
        with self._lock:
            self._subscription = subscription
            cancelled = self._cancelled
        if cancelled:
            subscription.cancel()
        else:
            subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        """Take the result; the rest is not needed."""
        self.cancel()
        self._settle(element, None)

    def on_error(self, error: Exception, /) -> None:
        """Take the failure."""
        self._settle(None, error)

    def on_complete(self) -> None:
        """Refuse to end without a result."""
        self._settle(None, EmptyError(f"{self._name}: the stream completed without an element"))

    def cancel(self) -> None:
        """Cancel the upstream, once there is one."""
        with self._lock:
            self._cancelled = True
            subscription = self._subscription
        if subscription is not None:
            subscription.cancel()


__all__ = ["ResultSubscriber", "Settle"]
