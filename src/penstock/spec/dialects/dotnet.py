"""dotnet: the parties with the names of the .NET text, and those that speak to them.

The methods are those of the JVM text under other names, so each wrapper only passes calls on. None is passed on too:
who is called refuses it (rules 1.9 and 2.13).
"""

from __future__ import annotations

from typing import Any, Generic, Protocol

from penstock.spec.dialects.cpp import returned
from penstock.spec.interfaces import Publisher, Subscriber, Subscription, T_co, T_contra
from penstock.spec.predicates import missing_methods

SUBSCRIPTION_NAMES = ("Request", "Cancel")
SUBSCRIBER_NAMES = ("OnSubscribe", "OnNext", "OnError", "OnComplete")
PUBLISHER_NAMES = ("Subscribe",)


class DotnetSubscription(Protocol):
    """The way of one subscriber's demand and its cancellation to one publisher."""

    def Request(self, n: int, /) -> None:  # noqa: N802
        """Ask for `n` more elements."""

    def Cancel(self) -> None:  # noqa: N802
        """Ask for no more signals."""


class DotnetSubscriber(Protocol[T_contra]):
    """A receiver of `OnSubscribe OnNext* (OnError | OnComplete)?`."""

    def OnSubscribe(self, subscription: DotnetSubscription, /) -> None:  # noqa: N802
        """Take the subscription; the first signal of all."""

    def OnNext(self, element: T_contra, /) -> None:  # noqa: N802
        """Take one element that was asked for."""

    def OnError(self, error: Exception, /) -> None:  # noqa: N802
        """Take the failure that ends the stream."""

    def OnComplete(self) -> None:  # noqa: N802
        """Take the successful end of the stream."""


class DotnetPublisher(Protocol[T_co]):
    """A provider of elements to subscribers, as many as each has asked for."""

    def Subscribe(self, subscriber: DotnetSubscriber[T_co], /) -> None:  # noqa: N802
        """Start sending to `subscriber`, beginning with OnSubscribe."""


class DotnetProcessor(DotnetSubscriber[T_contra], DotnetPublisher[T_co], Protocol[T_contra, T_co]):
    """A subscriber of one stream and a publisher of another."""


class SubscriptionFromDotnet:
    """A subscription that calls `Request` and `Cancel` where the JVM text says `request` and `cancel`."""

    __slots__ = ("__weakref__", "_subscription")

    def __init__(self, subscription: DotnetSubscription, /) -> None:
        self._subscription = subscription

    def stands_for(self, subscription: DotnetSubscription, /) -> bool:
        """Tell whether it is this one that is called."""
        return self._subscription is subscription

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        self._subscription.Request(n)

    def cancel(self) -> None:
        """Ask for no more signals."""
        self._subscription.Cancel()


class SubscriptionToDotnet:
    """A subscription that calls `request` and `cancel` where the .NET text says `Request` and `Cancel`."""

    __slots__ = ("__weakref__", "_subscription")

    def __init__(self, subscription: Subscription, /) -> None:
        self._subscription = subscription

    def Request(self, n: int, /) -> None:  # noqa: N802
        """Ask for `n` more elements."""
        self._subscription.request(n)

    def Cancel(self) -> None:  # noqa: N802
        """Ask for no more signals."""
        self._subscription.cancel()


class SubscriberFromDotnet(Generic[T_contra]):
    """A subscriber that passes signals of the JVM text on to one with the names of the .NET text."""

    __slots__ = ("__weakref__", "_subscriber")

    def __init__(self, subscriber: DotnetSubscriber[T_contra], /) -> None:
        self._subscriber = subscriber

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Pass the subscription on."""
        given: Any = None if subscription is None else SubscriptionToDotnet(subscription)
        self._subscriber.OnSubscribe(given)

    def on_next(self, element: T_contra, /) -> None:
        """Pass an element on."""
        self._subscriber.OnNext(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on."""
        self._subscriber.OnError(error)

    def on_complete(self) -> None:
        """Pass the completion on."""
        self._subscriber.OnComplete()


class SubscriberToDotnet(Generic[T_contra]):
    """A subscriber that passes signals of the .NET text on to one with the names of the JVM text."""

    __slots__ = ("__weakref__", "_given", "_subscriber", "subscribed")

    def __init__(self, subscriber: Subscriber[T_contra], /) -> None:
        self._subscriber = subscriber
        self._given: SubscriptionFromDotnet | None = None
        self.subscribed = False

    def OnSubscribe(self, subscription: DotnetSubscription, /) -> None:  # noqa: N802
        """Pass the subscription on; the same one, if it comes twice."""
        self.subscribed = True
        given: Any = self._given
        if given is None or not given.stands_for(subscription):
            given = None if subscription is None else SubscriptionFromDotnet(subscription)
        self._given = self._given or given
        self._subscriber.on_subscribe(given)

    def OnNext(self, element: T_contra, /) -> None:  # noqa: N802
        """Pass an element on."""
        self._subscriber.on_next(element)

    def OnError(self, error: Exception, /) -> None:  # noqa: N802
        """Pass the failure on."""
        self._subscriber.on_error(error)

    def OnComplete(self) -> None:  # noqa: N802
        """Pass the completion on."""
        self._subscriber.on_complete()


class PublisherFromDotnet(Generic[T_co]):
    """A publisher that calls `Subscribe` where the JVM text says `subscribe`."""

    __slots__ = ("__weakref__", "_publisher")

    def __init__(self, publisher: DotnetPublisher[T_co], /) -> None:
        self._publisher = publisher

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Subscribe a subscriber with the names that the publisher knows."""
        given: Any = None if subscriber is None else SubscriberToDotnet(subscriber)
        found: object = self._publisher.Subscribe(given)  # type: ignore[func-returns-value]
        subscription = None if found is None or given is None or given.subscribed else returned(found)
        if subscription is not None:  # a publisher of the C++ text, which has these names and no OnSubscribe
            subscriber.on_subscribe(subscription)


class PublisherToDotnet(Generic[T_co]):
    """A publisher that calls `subscribe` where the .NET text says `Subscribe`."""

    __slots__ = ("__weakref__", "_publisher")

    def __init__(self, publisher: Publisher[T_co], /) -> None:
        self._publisher = publisher

    def Subscribe(self, subscriber: DotnetSubscriber[T_co], /) -> None:  # noqa: N802
        """Subscribe a subscriber with the names that the publisher knows."""
        if subscriber is not None and missing_methods(subscriber, SUBSCRIBER_NAMES):
            raise TypeError(f"rule 1.9: Subscribe({subscriber!r}): a subscriber has {', '.join(SUBSCRIBER_NAMES)}")
        given: Any = None if subscriber is None else SubscriberFromDotnet(subscriber)
        self._publisher.subscribe(given)
