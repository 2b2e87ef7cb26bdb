"""dotnet: publishers, subscribers and processors with the names of the .NET text, in and out.

The .NET text differs from the JVM text in names and in one rule: the message of rule 3.9's error has to name the rule,
and penstock's always does. So everything is carried, both ways, and nothing is held. NullReferenceException is
TypeError here, and ArgumentException is ValueError.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from penstock.spec.dialects.dotnet import (
    PUBLISHER_NAMES,
    SUBSCRIBER_NAMES,
    SUBSCRIPTION_NAMES,
    DotnetProcessor,
    DotnetPublisher,
    DotnetSubscriber,
    DotnetSubscription,
    PublisherFromDotnet,
    PublisherToDotnet,
    SubscriberFromDotnet,
    SubscriberToDotnet,
    SubscriptionFromDotnet,
    SubscriptionToDotnet,
)
from penstock.spec.dialects.strangers import cure_for, library_of
from penstock.spec.erased import AnyPublisher
from penstock.spec.interfaces import Processor, Publisher, Subscriber, Subscription, T_co, T_contra
from penstock.spec.predicates import is_publisher, is_subscriber, is_subscription, missing_methods
from penstock.stream import Stream

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


class _ProcessorFromDotnet(Generic[T_contra, T_co]):
    """A processor with the names of the JVM text over one with those of the .NET text."""

    __slots__ = ("__weakref__", "_back", "_front")

    def __init__(self, processor: DotnetProcessor[T_contra, T_co]) -> None:
        self._front = SubscriberFromDotnet(processor)
        self._back = PublisherFromDotnet(processor)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._front.on_subscribe(subscription)

    def on_next(self, element: T_contra, /) -> None:
        self._front.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        self._front.on_error(error)

    def on_complete(self) -> None:
        self._front.on_complete()

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        self._back.subscribe(subscriber)


class _ProcessorToDotnet(Generic[T_contra, T_co]):
    """A processor with the names of the .NET text over one with those of the JVM text."""

    __slots__ = ("__weakref__", "_back", "_front")

    def __init__(self, processor: Processor[T_contra, T_co]) -> None:
        self._front = SubscriberToDotnet(processor)
        self._back = PublisherToDotnet(processor)

    def OnSubscribe(self, subscription: DotnetSubscription, /) -> None:  # noqa: N802
        self._front.OnSubscribe(subscription)

    def OnNext(self, element: T_contra, /) -> None:  # noqa: N802
        self._front.OnNext(element)

    def OnError(self, error: Exception, /) -> None:  # noqa: N802
        self._front.OnError(error)

    def OnComplete(self) -> None:  # noqa: N802
        self._front.OnComplete()

    def Subscribe(self, subscriber: DotnetSubscriber[T_co], /) -> None:  # noqa: N802
        self._back.Subscribe(subscriber)


@overload
def from_dotnet(party: DotnetProcessor[A, B], /) -> Processor[A, B]: ...  # type: ignore[overload-overlap]
@overload
def from_dotnet(party: DotnetPublisher[T], /) -> Stream[T]: ...
@overload
def from_dotnet(party: DotnetSubscriber[T], /) -> Subscriber[T]: ...
@overload
def from_dotnet(party: DotnetSubscription, /) -> Subscription: ...
def from_dotnet(party: Any, /) -> Any:
    """Make a Stream of a .NET publisher, a Subscriber of a .NET subscriber, a Processor of what is both.

    Emits when the publisher does; it is held to the contract, as every publisher of another library. Backpressures by
    `Request`. Completes and fails as the publisher does. Cancels by `Cancel`.

    >>> from penstock import Stream
    >>> list(from_dotnet(to_dotnet(Stream.range(3))))
    [0, 1, 2]
    """
    known = library_of(party) is None  # an object of Java's has every name one asks it for
    publishes = known and not missing_methods(party, PUBLISHER_NAMES)
    subscribes = known and not missing_methods(party, SUBSCRIBER_NAMES)
    if publishes and subscribes:
        return _ProcessorFromDotnet(party)
    if publishes:
        return Stream.from_publisher(PublisherFromDotnet(party))
    if subscribes:
        return SubscriberFromDotnet(party)
    if not missing_methods(party, SUBSCRIPTION_NAMES):
        return SubscriptionFromDotnet(party)
    raise TypeError(
        f"from_dotnet: party must have Subscribe, or {', '.join(SUBSCRIBER_NAMES[:-1])} and OnComplete, got {party!r}"
        f"{_at_home(party) or cure_for(party)}"
    )


def _at_home(party: object) -> str:
    """Say that a party of the JVM or the C++ text needs no bridge from .NET."""
    if library_of(party) is None and (is_publisher(party) or is_subscriber(party)):
        return "; it has the names of Python's own: Stream.from_publisher takes a publisher, and to_dotnet any party"
    return ""


@overload
def to_dotnet(party: Processor[A, B], /) -> DotnetProcessor[A, B]: ...
@overload
def to_dotnet(party: Publisher[T], /) -> DotnetPublisher[T]: ...
@overload
def to_dotnet(party: Subscriber[T], /) -> DotnetSubscriber[T]: ...
@overload
def to_dotnet(party: Subscription, /) -> DotnetSubscription: ...
def to_dotnet(party: Any, /) -> Any:
    """Give a Stream or another publisher, a subscriber or a processor the names of the .NET text.

    Emits, completes and fails as the stream does. Backpressures by `Request`; below one it fails the stream, with a
    message that names rule 3.9. Cancels by `Cancel`.

    >>> from penstock import Sink, Stream, subscriber
    >>> total = subscriber(Sink.count())
    >>> to_dotnet(Stream.range(5)).Subscribe(to_dotnet(total))
    >>> total.get()
    5
    """
    given: object = party
    known = library_of(given) is None
    publishes, subscribes = known and is_publisher(given), known and is_subscriber(given, "jvm")
    if publishes and subscribes:
        return _ProcessorToDotnet(party)
    if publishes:
        return PublisherToDotnet(party if isinstance(party, Stream) else AnyPublisher(party))
    if subscribes:
        return SubscriberToDotnet(party)
    if known and is_subscription(given):
        return SubscriptionToDotnet(party)
    raise TypeError(
        f"to_dotnet: party must be a Publisher, a Subscriber or a Processor, got {party!r}{cure_for(party)}"
    )


__all__ = ["DotnetProcessor", "DotnetPublisher", "DotnetSubscriber", "DotnetSubscription", "from_dotnet", "to_dotnet"]
