"""cpp_dialect: the parties of the C++ text, and a publisher of it seen as one of the JVM text.

There `subscribe` takes the subscriber over and returns the subscription; there is no on_subscribe. Signals that are
sent before `subscribe` returns (the end of an empty stream) are kept back until the subscription has been handed over,
as on_subscribe must come first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol

from penstock.spec.interfaces import Subscriber, Subscription, T_co, T_contra


class CppSubscriber(Protocol[T_contra]):
    """Receive `on_next* (on_error | on_complete)?`, and be let go of then."""

    def on_next(self, element: T_contra, /) -> None:
        """Take one element that was asked for."""

    def on_error(self, error: Exception, /) -> None:
        """Take the failure that ends the stream."""

    def on_complete(self) -> None:
        """Take the successful end of the stream."""


class CppPublisher(Protocol[T_co]):
    """Provide elements to subscribers that have no on_subscribe."""

    def subscribe(self, subscriber: CppSubscriber[T_co], /) -> Subscription:
        """Take the subscriber over and return its subscription; whoever lets go of that cancels."""
        ...


class FromCpp(Generic[T_co]):
    """Make on_subscribe of the subscription that a C++ `subscribe` returned."""

    __slots__ = ("__weakref__", "_publisher")

    def __init__(self, publisher: CppPublisher[T_co], /) -> None:
        self._publisher = publisher

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Subscribe as the C++ text says, then hand the subscription over."""
        relay = _Relay(subscriber)
        subscription = self._publisher.subscribe(relay)
        del self  # nobody but the subscriber keeps the subscription
        subscriber.on_subscribe(subscription)
        del subscriber, subscription
        relay.release()


class _Relay:
    """Be a subscriber without on_subscribe, which holds signals back until it is released."""

    __slots__ = ("__weakref__", "_held", "_lock", "_subscriber")

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self._held: list[Callable[[], None]] | None = []
        self._lock = threading.Lock()

    def on_next(self, element: Any, /) -> None:
        """Pass an element on."""
        if self._held is None:
            self._subscriber.on_next(element)
        else:
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
