"""erased: wrappers that show a party's methods and hide what it is made of."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from penstock.spec.dialects.cpp import CppPublisher, CppSubscriber, CppSubscription, returned
from penstock.spec.dialects.cpp_subscription import Owned
from penstock.spec.dialects.strangers import cure_for, library_of
from penstock.spec.interfaces import Publisher, Subscriber, Subscription, T_co, T_contra
from penstock.spec.link import Link
from penstock.spec.predicates import (
    CPP_SUBSCRIBER_METHODS,
    PUBLISHER_METHODS,
    SUBSCRIBER_METHODS,
    SUBSCRIPTION_METHODS,
    missing_methods,
)


class _Ignoring:
    """A subscription of nothing, which ignores every call."""

    __slots__ = ()

    def request(self, n: int, /) -> None:
        """Ignore the demand."""

    def cancel(self) -> None:
        """Ignore the cancellation."""


_IGNORING = _Ignoring()


class _Meeting:
    """A subscriber at a hidden publisher, which may be of either text: an end waits until on_subscribe was called."""

    __slots__ = ("__weakref__", "_end", "_lock", "_subscriber", "met", "on_next", "subscribed")

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self._lock = Lock()
        self._end: Callable[[], None] | None = None
        self.on_next = subscriber.on_next
        self.subscribed = self.met = False

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscribed = True
        self._subscriber.on_subscribe(subscription)
        self.release()

    def on_error(self, error: Exception, /) -> None:
        self._pass(lambda: self._subscriber.on_error(error))

    def on_complete(self) -> None:
        self._pass(self._subscriber.on_complete)

    def release(self) -> None:
        """Hold nothing back any more."""
        with self._lock:
            self.met = True
            end, self._end = self._end, None
        if end is not None:
            end()

    def _pass(self, end: Callable[[], None]) -> None:
        with self._lock:
            if not self.met and self._end is None:
                self._end = end
                return
        end()


class AnyPublisher(Generic[T_co]):
    """A publisher that hides the concrete type of another, of the JVM text or of the C++ text.

    A subscriber with on_subscribe gets its subscription by that, whichever the hidden publisher is. One without, as
    the C++ text has it, gets it from `subscribe`; to drop that is to cancel.
    """

    __slots__ = ("__weakref__", "_publisher")

    def __init__(self, publisher: Publisher[T_co] | CppPublisher[T_co], /) -> None:
        _refuse_other_shapes("AnyPublisher: publisher must be a Publisher", publisher, PUBLISHER_METHODS)
        self._publisher = publisher

    @overload
    def subscribe(self, subscriber: Subscriber[T_co], /) -> None: ...  # type: ignore[overload-overlap]
    @overload
    def subscribe(self, subscriber: CppSubscriber[T_co], /) -> AnySubscription: ...
    def subscribe(self, subscriber: Any, /) -> AnySubscription | None:
        """Subscribe to the hidden publisher.

        Args:
            subscriber: What is signalled.
        """
        hidden: Any = self._publisher
        if missing_methods(subscriber, ("on_subscribe",)) and not missing_methods(subscriber, CPP_SUBSCRIBER_METHODS):
            return _subscribed_cpp(hidden, subscriber)
        if missing_methods(subscriber, SUBSCRIBER_METHODS):
            hidden.subscribe(subscriber)  # which says what is wrong with it
            return None
        meeting = _Meeting(subscriber)
        found = hidden.subscribe(meeting)
        subscription = None if found is None or meeting.subscribed else returned(found)
        if subscription is not None:
            meeting.on_subscribe(subscription)
        meeting.release()
        return None

    def __repr__(self) -> str:
        return "<AnyPublisher>"


def _subscribed_cpp(publisher: Any, subscriber: CppSubscriber[Any]) -> AnySubscription:
    """Subscribe a subscriber of the C++ text to a publisher of either, and return its subscription."""
    link = Link()
    own = CppSubscription.over(link)
    owned = Owned(subscriber, link)
    del subscriber
    found = publisher.subscribe(owned)
    subscription = None if found is None else returned(found)
    if subscription is not None:
        link.begin(subscription)
    return AnySubscription(own)


class AnySubscriber(Generic[T_contra]):
    """A subscriber that hides the concrete type of another; one over the C++ text has no on_subscribe either."""

    __slots__ = ("__weakref__", "_subscriber")

    def __new__(cls, subscriber: CppSubscriber[T_contra] | None = None, /) -> Self:
        """Make one with on_subscribe if the hidden subscriber has it."""
        headed = callable(getattr(subscriber, "on_subscribe", None))
        return super().__new__(_AnyHeaded if headed else cls)  # type: ignore[return-value]

    def __init__(self, subscriber: CppSubscriber[T_contra], /) -> None:
        lacks = bool(missing_methods(subscriber, CPP_SUBSCRIBER_METHODS))
        methods = SUBSCRIBER_METHODS if lacks else CPP_SUBSCRIBER_METHODS
        _refuse_other_shapes("AnySubscriber: subscriber must be a Subscriber", subscriber, methods)
        self._subscriber: Any = subscriber

    if TYPE_CHECKING:  # so that it is a Subscriber; one of the C++ text has no use for it

        def on_subscribe(self, subscription: Subscription, /) -> None:
            """Hand the subscription to the hidden subscriber."""

    def on_next(self, element: T_contra, /) -> None:
        """Hand one element to the hidden subscriber."""
        self._subscriber.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Hand the failure to the hidden subscriber.

        Args:
            error: The failure.
        """
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        """Hand the successful end to the hidden subscriber."""
        self._subscriber.on_complete()

    def __repr__(self) -> str:
        return "<AnySubscriber>"


class _AnyHeaded(AnySubscriber[T_contra]):
    """A subscriber that hides the concrete type of another one with on_subscribe."""

    __slots__ = ()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Hand the subscription to the hidden subscriber."""
        self._subscriber.on_subscribe(subscription)


class AnySubscription:
    """A subscription that hides the concrete type of another; made without one, it ignores every call."""

    __slots__ = ("__weakref__", "_subscription")

    def __init__(self, subscription: Subscription = _IGNORING, /) -> None:
        _refuse_other_shapes("AnySubscription: subscription must be a Subscription", subscription, SUBSCRIPTION_METHODS)
        self._subscription = subscription

    def request(self, n: int, /) -> None:
        """Ask the hidden subscription for `n` more elements."""
        self._subscription.request(n)

    def cancel(self) -> None:
        """Cancel the hidden subscription."""
        self._subscription.cancel()

    def __repr__(self) -> str:
        return "<AnySubscription>"


def _refuse_other_shapes(requirement: str, candidate: object, methods: tuple[str, ...]) -> None:
    if candidate is None:
        raise TypeError(f"{requirement}, got None")
    if isinstance(candidate, type):
        raise TypeError(f"{requirement}, got {candidate!r}, a class; give an instance of it")
    if library_of(candidate) is not None:
        raise TypeError(f"{requirement}, got {candidate!r}{cure_for(candidate)}")
    if missing := missing_methods(candidate, methods):
        raise TypeError(f"{requirement}, got {candidate!r} without {', '.join(missing)}{cure_for(candidate)}")
