"""erased: wrappers that show a party's methods and hide what it is made of."""

from __future__ import annotations

from typing import Generic

from penstock.spec.interfaces import Publisher, Subscriber, Subscription, T_co, T_contra
from penstock.spec.predicates import (
    PUBLISHER_METHODS,
    SUBSCRIBER_METHODS,
    SUBSCRIPTION_METHODS,
    missing_methods,
)


class _Ignoring:
    """Be a subscription of nothing, to which every call is lost."""

    __slots__ = ()

    def request(self, n: int, /) -> None:
        """Ignore the demand."""

    def cancel(self) -> None:
        """Ignore the cancellation."""


_IGNORING = _Ignoring()


class AnyPublisher(Generic[T_co]):
    """Hide the concrete type of a publisher."""

    __slots__ = ("__weakref__", "_publisher")

    def __init__(self, publisher: Publisher[T_co], /) -> None:
        _refuse_other_shapes("AnyPublisher: publisher must be a Publisher", publisher, PUBLISHER_METHODS)
        self._publisher = publisher

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Subscribe to the hidden publisher."""
        self._publisher.subscribe(subscriber)

    def __repr__(self) -> str:
        return "<AnyPublisher>"


class AnySubscriber(Generic[T_contra]):
    """Hide the concrete type of a subscriber."""

    __slots__ = ("__weakref__", "_subscriber")

    def __init__(self, subscriber: Subscriber[T_contra], /) -> None:
        _refuse_other_shapes("AnySubscriber: subscriber must be a Subscriber", subscriber, SUBSCRIBER_METHODS)
        self._subscriber = subscriber

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Hand the subscription to the hidden subscriber."""
        self._subscriber.on_subscribe(subscription)

    def on_next(self, element: T_contra, /) -> None:
        """Hand one element to the hidden subscriber."""
        self._subscriber.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Hand the failure to the hidden subscriber."""
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        """Hand the successful end to the hidden subscriber."""
        self._subscriber.on_complete()

    def __repr__(self) -> str:
        return "<AnySubscriber>"


class AnySubscription:
    """Hide the concrete type of a subscription; made without one, ignore every call."""

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
    if missing := missing_methods(candidate, methods):
        raise TypeError(f"{requirement}, got {candidate!r} without {', '.join(missing)}")
