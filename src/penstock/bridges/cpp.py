"""cpp: streams for the C++ dialect and from it, where `subscribe` returns the subscription and dropping that cancels.

Objects of that dialect have the names that Python has here (`subscribe`, `on_next`, `request`) or those that the text
writes (`Subscribe`, `OnNext`, `Request`), as a binding to C++ shows them.

What is not carried: nothing is lost. A C++ subscriber has no on_subscribe, so it learns of its subscription from
the one who subscribed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.errors import ProtocolError
from penstock.spec.dialects.cpp import (
    CppPublisher,
    CppSubscriber,
    CppSubscription,
    ToCpp,
    Tongue,
    respelled,
    returned,
    subscribe_cpp,
)
from penstock.spec.dialects.strangers import cure_for, library_of, publisher_given
from penstock.spec.element_count import ElementCount
from penstock.spec.interfaces import Publisher, Subscriber, Subscription, T_co
from penstock.spec.predicates import CPP_SUBSCRIBER_METHODS, is_publisher, is_subscription
from penstock.stream import Stream

T = TypeVar("T")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class CppStream(Generic[T_co]):
    """A publisher of the C++ dialect; its subscriptions go on when it is dropped."""

    stream: Stream[T_co]

    def subscribe(self, subscriber: CppSubscriber[T_co], /) -> CppSubscription:
        """Take the subscriber over and return its subscription; to drop that is to cancel."""
        named = respelled(subscriber)
        if named is None:
            raise TypeError(
                f"rule 1.9: subscribe({subscriber!r}): a C++ subscriber has {', '.join(CPP_SUBSCRIBER_METHODS)}"
            )
        del subscriber
        return ToCpp(self.stream).subscribe(named)

    Subscribe = subscribe  # as the text writes it


def to_cpp(stream: Publisher[T]) -> CppStream[T]:
    """Offer a stream to subscribers of the C++ dialect.

    Emits when the stream does; an end may come before `subscribe` has returned. Backpressures by the subscription that
    `subscribe` returns. Completes and fails as the stream does. Cancels when the subscription is cancelled or its last
    reference goes. A count below zero, which nothing can be asked for with, fails the stream by rule 3.9.

    >>> from penstock import Sink, Stream, subscriber
    >>> total = subscriber(Sink.count())
    >>> with to_cpp(Stream.range(5)).subscribe(total) as subscription:
    ...     subscription.request(ElementCount.unbounded())
    """
    publisher_given("to_cpp: stream must be a Stream or another Publisher", stream)
    return CppStream(stream if isinstance(stream, Stream) else Stream.from_publisher(stream))


class _Heard(Tongue):
    """The view that a publisher has of a run: the three signals, and on_subscribe for a publisher of another text."""

    __slots__ = ("OnSubscribe", "on_subscribe")

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        super().__init__(subscriber)
        self.on_subscribe = self.OnSubscribe = subscriber.on_subscribe


class _Watched:
    """A run that knows whether it has a subscription."""

    __slots__ = ("_subscriber", "on_complete", "on_error", "on_next", "subscribed")

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self.on_next = subscriber.on_next
        self.on_error = subscriber.on_error
        self.on_complete = subscriber.on_complete
        self.subscribed = False

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscribed = True
        given: Any = subscription if is_subscription(subscription) else returned(subscription)
        self._subscriber.on_subscribe(given)


@dataclass(frozen=True, slots=True)
class _Entering(Generic[T]):
    """A publisher of the C++ dialect, as one that the engine takes and holds to the contract.

    Nothing is held: the engine takes an element that comes before the subscription does for what it is, an element
    that was not requested, and keeps an end until on_subscribe has been signalled.
    """

    publisher: CppPublisher[T]

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        watched = _Watched(subscriber)
        found = subscribe_cpp(self.publisher, _Heard(watched))
        if watched.subscribed:
            return
        subscription = returned(found)
        if subscription is None:
            raise ProtocolError("1.9", f"subscribe returned {found!r}, which is not a subscription")
        subscriber.on_subscribe(subscription)


def from_cpp(publisher: CppPublisher[T]) -> Stream[T]:
    """Emit the elements of a publisher of the C++ dialect, which is held to the contract.

    Emits when the publisher does; an end that it sends before its `subscribe` returns waits for that, and an element
    fails the stream by rule 1.1, since nothing can have asked for it. Backpressures by passing demand on as
    ElementCount. Completes when the publisher completes. Cancels the subscription that `subscribe` returned, which is
    kept as long as the run lasts and let go of with it. A publisher of the JVM text is taken as well.

    >>> from penstock import Stream
    >>> list(from_cpp(to_cpp(Stream.range(3))))
    [0, 1, 2]
    """
    if not is_publisher(publisher, "cpp") or library_of(publisher) is not None:
        raise TypeError(f"from_cpp: publisher must have subscribe(subscriber), got {publisher!r}{cure_for(publisher)}")
    return Stream.from_publisher(_Entering(publisher))


__all__ = ["CppPublisher", "CppStream", "CppSubscriber", "CppSubscription", "ElementCount", "from_cpp", "to_cpp"]
