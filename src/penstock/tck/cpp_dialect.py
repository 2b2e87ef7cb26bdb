"""cpp_dialect: a publisher of the C++ text, seen as one of the JVM text.

There `subscribe` takes the subscriber over and returns the subscription; signals that are sent before it returns (the
end of an empty stream) are kept back until the subscription has been handed over, as on_subscribe must come first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.spec.interfaces import Subscriber


class CppPublisher:
    """Make on_subscribe of the subscription that `subscribe` returned."""

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Subscribe as the C++ text says, then hand the subscription over."""
        relay = _Relay(subscriber)
        subscription = self._publisher.subscribe(relay)
        del self
        subscriber.on_subscribe(subscription)
        del subscriber, subscription
        relay.release()


class _Relay:
    """Be a subscriber without on_subscribe, which holds signals back until it is released."""

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self._held: list[Callable[[], None]] | None = []
        self._lock = threading.Lock()

    def on_next(self, element: Any, /) -> None:
        """Pass an element on."""
        self._pass(lambda: self._subscriber.on_next(element))

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on."""
        self._pass(lambda: self._subscriber.on_error(error))

    def on_complete(self) -> None:
        """Pass the completion on."""
        self._pass(self._subscriber.on_complete)

    def release(self) -> None:
        """Pass on what was held back, in order, and hold nothing back any more."""
        while True:
            with self._lock:
                held = self._held or []
                if not held:
                    self._held = None
                    return
                signal = held.pop(0)
            signal()

    def _pass(self, signal: Callable[[], None]) -> None:
        with self._lock:
            if self._held is not None:
                self._held.append(signal)
                return
        signal()
