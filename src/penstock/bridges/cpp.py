"""cpp: streams for the C++ dialect and from it, where `subscribe` returns the subscription and dropping that cancels.

What the C++ text says of destructors is said here of the last reference: CPython lets go of an object at once when
nobody refers to it. A run knows its subscriber and never the subscription that was given out, so the two make no
circle. A subscriber that keeps its own subscription does: nobody else can drop that one, so cancel it, or wait for the
end, which breaks the circle as well.

What is not carried: nothing is lost. A C++ subscriber has no on_subscribe, so it learns of its subscription from
whoever subscribed it.
"""

from __future__ import annotations

import _thread
import gc
import threading
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, Self, TypeVar

from penstock.bridges.link import Link
from penstock.errors import ProtocolError
from penstock.spec.cpp_dialect import CppPublisher, CppSubscriber, FromCpp
from penstock.spec.element_count import ElementCount
from penstock.spec.interfaces import Publisher, Subscriber, Subscription, T_co
from penstock.spec.predicates import is_publisher, is_subscription, missing_methods
from penstock.stream import Stream

T = TypeVar("T")
_SIGNALS = ("on_next", "on_error", "on_complete")


class _Collecting(threading.local):
    """Know whether the cycle collector is at work on this thread."""

    now = False


_collecting = _Collecting()


def _note(phase: str, _: dict[str, int]) -> None:
    _collecting.now = phase == "start"


gc.callbacks.append(_note)


class _Owned:
    """Own the subscriber for one run, as the C++ text has it, and let go of it with the last signal."""

    __slots__ = ("__weakref__", "_link", "_subscriber", "on_next")

    def __init__(self, subscriber: CppSubscriber[Any], link: Link) -> None:
        self._subscriber = subscriber
        self._link = link
        self.on_next = subscriber.on_next

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._link.begin(subscription)

    def on_error(self, error: Exception, /) -> None:
        self._link.end()
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._link.end()
        self._subscriber.on_complete()


class CppSubscription:
    """Be a subscription of the C++ dialect: to drop it is to cancel; one that is made without a stream does nothing.

    A `with` block drops it at its end. It cannot be copied, but moved: what was moved from does nothing any more.

    >>> nothing = CppSubscription()
    >>> nothing.request(5)
    >>> nothing.cancel()
    """

    __slots__ = ("__weakref__", "_link")

    def __init__(self) -> None:
        self._link: Link | None = None

    def request(self, count: int, /) -> None:
        """Ask for `count` more elements, an ElementCount or another whole number; zero asks for nothing."""
        link = self._link
        if link is not None and (count or isinstance(count, bool) or not isinstance(count, int)):
            link.request(count)

    def cancel(self) -> None:
        """Ask for no more signals."""
        link, self._link = self._link, None
        if link is not None:
            link.cancel()

    def move(self) -> Self:
        """Return a new owner of the stream and own nothing any more."""
        moved = type(self)()
        moved._link, self._link = self._link, None
        return moved

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.cancel()

    def __reduce__(self) -> NoReturn:
        raise TypeError("CppSubscription: a subscription has one owner and cannot be copied; use move()")

    def __del__(self) -> None:
        link, self._link = self._link, None
        if link is None or link.over:
            return
        if not _collecting.now:
            link.cancel()
            return
        # The collector may have stopped this very thread while it holds a lock of the run, so another one cancels.
        try:
            _thread.start_new_thread(link.cancel, ())
        except RuntimeError:  # the interpreter is going down, and the run with it
            return

    def __repr__(self) -> str:
        return "<CppSubscription>" if self._link is not None and not self._link.over else "<CppSubscription of nothing>"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class CppStream(Generic[T_co]):
    """Be a publisher of the C++ dialect; its subscriptions go on when it is dropped."""

    stream: Stream[T_co]

    def subscribe(self, subscriber: CppSubscriber[T_co], /) -> CppSubscription:
        """Take the subscriber over and return its subscription; to drop that is to cancel."""
        if missing := missing_methods(subscriber, _SIGNALS):
            raise TypeError(f"rule 1.9: subscribe({subscriber!r}): a C++ subscriber has {', '.join(missing)}")
        subscription = CppSubscription()
        link = subscription._link = Link()
        owned = _Owned(subscriber, link)
        del subscriber
        self.stream.subscribe(owned)
        return subscription


def to_cpp(stream: Publisher[T]) -> CppStream[T]:
    """Offer a stream to subscribers of the C++ dialect.

    Emits when the stream does; an end may come before `subscribe` has returned. Backpressures by the subscription that
    `subscribe` returns. Completes and fails as the stream does. Cancels when the subscription is cancelled or its last
    reference goes. A count below zero, which C++ cannot express, fails the stream by rule 3.9.

    >>> from penstock import Sink, Stream, subscriber
    >>> total = subscriber(Sink.count())
    >>> with to_cpp(Stream.range(5)).subscribe(total) as subscription:
    ...     subscription.request(ElementCount.unbounded())
    """
    if not is_publisher(stream):
        raise TypeError(f"to_cpp: stream must be a Stream or another Publisher, got {stream!r}")
    return CppStream(stream if isinstance(stream, Stream) else Stream.from_publisher(stream))


class _Counts:
    """Speak of demand as ElementCount, and let go of the subscription when it is cancelled."""

    __slots__ = ("_subscription",)

    def __init__(self, subscription: Subscription) -> None:
        self._subscription: Subscription | None = subscription

    def request(self, n: int, /) -> None:
        subscription = self._subscription
        if subscription is not None:
            subscription.request(ElementCount(n))

    def cancel(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.cancel()


class _Counting:
    """Look at the subscription that comes back, and pass the rest on as it is."""

    __slots__ = ("_subscriber", "on_complete", "on_error", "on_next")

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self.on_next = subscriber.on_next
        self.on_error = subscriber.on_error
        self.on_complete = subscriber.on_complete

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not is_subscription(subscription):
            raise ProtocolError("1.9", f"subscribe returned {subscription!r}, which is not a subscription")
        self._subscriber.on_subscribe(_Counts(subscription))


@dataclass(frozen=True, slots=True)
class _Counted(Generic[T]):
    """Be a publisher of the C++ dialect, as any other."""

    publisher: CppPublisher[T]

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        FromCpp(self.publisher).subscribe(_Counting(subscriber))


def from_cpp(publisher: CppPublisher[T]) -> Stream[T]:
    """Emit the elements of a publisher of the C++ dialect, which is held to the contract.

    Emits when the publisher does; what it sends before its `subscribe` returns waits for that. Backpressures by passing
    demand on as ElementCount. Completes when the publisher completes. Cancels the subscription that `subscribe`
    returned, which is kept as long as the run lasts and let go of with it.

    >>> from penstock import Stream
    >>> list(from_cpp(to_cpp(Stream.range(3))))
    [0, 1, 2]
    """
    if not is_publisher(publisher):
        raise TypeError(f"from_cpp: publisher must have subscribe(subscriber), got {publisher!r}")
    return Stream.from_publisher(_Counted(publisher))


__all__ = ["CppPublisher", "CppStream", "CppSubscriber", "CppSubscription", "ElementCount", "from_cpp", "to_cpp"]
