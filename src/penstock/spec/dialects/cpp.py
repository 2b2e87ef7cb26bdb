"""cpp: parties of the C++ text seen as parties of the JVM text, and the other way round.

There `subscribe` takes the subscriber over and returns the subscription; there is no on_subscribe. An end that is sent
before `subscribe` returns (that of an empty stream) waits until the subscription has been handed over, as on_subscribe
must come first. An element that is sent by then cannot have been requested: the first of them follows on_subscribe, so
that the breach of rule 1.1 is seen, and none is held beside it; a second end is held for the same reason (rule 1.7).

Objects with the names as the text writes them (`Subscribe`, `OnNext`, `Request`), which a binding to C++ would show,
are understood as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic

from penstock.spec.dialects.cpp_parties import CppProcessor, CppPublisher, CppSubscriber
from penstock.spec.dialects.cpp_subscription import CppSubscription, Owned
from penstock.spec.element_count import ElementCount
from penstock.spec.interfaces import Publisher, Subscriber, Subscription, T_co
from penstock.spec.link import Link
from penstock.spec.predicates import CPP_SUBSCRIBER_METHODS, SUBSCRIPTION_METHODS, missing_methods, pascal


class CountingSubscription:
    """A subscription of the C++ text as one of the JVM text: demand is spoken of as ElementCount.

    It lets go of the other one when it is cancelled, which is how that text cancels, too.
    """

    __slots__ = ("__weakref__", "_cancel", "_request")

    def __init__(self, subscription: Any) -> None:
        named = not missing_methods(subscription, SUBSCRIPTION_METHODS)
        request, cancel = SUBSCRIPTION_METHODS if named else map(pascal, SUBSCRIPTION_METHODS)
        self._request: Callable[[Any], object] | None = getattr(subscription, request)
        self._cancel: Callable[[], object] | None = getattr(subscription, cancel)

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        request = self._request
        if request is not None:
            request(ElementCount(n) if isinstance(n, int) and not isinstance(n, bool) else n)

    def cancel(self) -> None:
        """Ask for no more signals, and let go of the subscription."""
        cancel, self._cancel, self._request = self._cancel, None, None
        if cancel is not None:
            cancel()


def returned(subscription: object) -> Subscription | None:
    """Return what `subscribe` returned as a subscription, or None if it is none, as in the JVM text."""
    for methods in (SUBSCRIPTION_METHODS, tuple(map(pascal, SUBSCRIPTION_METHODS))):
        if subscription is not None and not missing_methods(subscription, methods):
            return CountingSubscription(subscription)
    return None


def respelled(subscriber: Any) -> Any:
    """Return a subscriber of the C++ text with the names that Python has here; itself if it has them."""
    if not missing_methods(subscriber, CPP_SUBSCRIBER_METHODS):
        return subscriber
    if not missing_methods(subscriber, tuple(map(pascal, CPP_SUBSCRIBER_METHODS))):
        return _Respelled(subscriber)
    return None


class _Respelled:
    """A subscriber whose methods have the names of the text."""

    __slots__ = ("on_complete", "on_error", "on_next")

    def __init__(self, subscriber: Any) -> None:
        self.on_next = subscriber.OnNext
        self.on_error = subscriber.OnError
        self.on_complete = subscriber.OnComplete


def subscribe_cpp(publisher: Any, subscriber: Any) -> Any:
    """Call a publisher's `subscribe`, or `Subscribe`, and return what it returns."""
    subscribe = getattr(publisher, "subscribe", None)
    return (publisher.Subscribe if subscribe is None else subscribe)(subscriber)


class Tongue:
    """The three signals of a subscriber under both names, which is all that a publisher of the C++ text may see."""

    __slots__ = ("OnComplete", "OnError", "OnNext", "__weakref__", "on_complete", "on_error", "on_next")

    def __init__(self, subscriber: CppSubscriber[Any]) -> None:
        self.on_next = self.OnNext = subscriber.on_next
        self.on_error = self.OnError = subscriber.on_error
        self.on_complete = self.OnComplete = subscriber.on_complete


class FromCpp(Generic[T_co]):
    """A publisher of the C++ text as one of the JVM text: it makes on_subscribe of what `subscribe` returned."""

    __slots__ = ("__weakref__", "_publisher")

    def __init__(self, publisher: CppPublisher[T_co], /) -> None:
        self._publisher = publisher

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Subscribe as the C++ text says, then hand the subscription over."""
        early = Early(subscriber)
        subscription = _named(subscribe_cpp(self._publisher, Tongue(early)))
        del self  # nothing but the subscriber keeps the subscription
        early.hand_over()
        subscriber.on_subscribe(subscription)
        del subscriber, subscription
        early.release()


def _named(subscription: Any) -> Any:
    """Return a subscription with the names that Python has here, and what is none as it is."""
    named = subscription is None or not missing_methods(subscription, SUBSCRIPTION_METHODS)
    return subscription if named else returned(subscription) or subscription


_ENDS = 2  # a second end breaks rule 1.7, which is to be seen


class Early:
    """A subscriber without on_subscribe before one that waits for it: it keeps one element and the ends till then."""

    __slots__ = ("__weakref__", "_asked", "_element", "_ends", "_lock", "_released", "_subscriber")

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self._lock = threading.Lock()
        self._asked = self._released = False
        self._element: list[Any] = []
        self._ends: list[Callable[[], None]] = []

    def on_next(self, element: Any, /) -> None:
        """Pass an element on, once it can have been requested."""
        if self._asked:
            self._subscriber.on_next(element)
        elif not self._element:
            self._element.append(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on."""
        self._pass(lambda: self._subscriber.on_error(error))

    def on_complete(self) -> None:
        """Pass the completion on."""
        self._pass(self._subscriber.on_complete)

    def hand_over(self) -> None:
        """Know that elements can be requested from now on."""
        self._asked = True

    def release(self) -> None:
        """Pass on what was held back; nothing is held back any more."""
        for element in self._element:
            self._subscriber.on_next(element)
        self._element = []
        with self._lock:
            self._released = True
            ends, self._ends = self._ends, []
        for end in ends:
            end()

    def _pass(self, end: Callable[[], None]) -> None:
        with self._lock:
            if not self._released:
                if len(self._ends) < _ENDS:
                    self._ends.append(end)
                return
        end()


class ToCpp(Generic[T_co]):
    """A publisher of the JVM text as one of the C++ text; its subscriptions go on when it is dropped."""

    __slots__ = ("__weakref__", "_publisher")

    def __init__(self, publisher: Publisher[T_co], /) -> None:
        self._publisher = publisher

    def subscribe(self, subscriber: CppSubscriber[T_co], /) -> CppSubscription:
        """Take the subscriber over and return its subscription; to drop that is to cancel."""
        link = Link()
        subscription = CppSubscription.over(link)
        owned = Owned(subscriber, link)
        del subscriber
        self._publisher.subscribe(owned)
        return subscription


__all__ = [
    "CountingSubscription",
    "CppProcessor",
    "CppPublisher",
    "CppSubscriber",
    "CppSubscription",
    "FromCpp",
    "ToCpp",
    "Tongue",
    "respelled",
    "returned",
    "subscribe_cpp",
]
