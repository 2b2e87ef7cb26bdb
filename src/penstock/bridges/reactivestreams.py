"""reactivestreams: publishers and subscribers as the package `reactivestreams` defines them, which rsocket-py uses.

Its `on_next` has a flag: an element with `is_complete=True` is the last one, and no `on_complete` follows. That flag is
understood here and never set: a Stream does not know that an element is its last. Its requests are numbers of 31 bits,
so a larger demand goes there in pieces. None is not an element (rule 2.13), and its error must be an exception.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

try:
    from reactivestreams.publisher import Publisher  # type: ignore[import-untyped]
    from reactivestreams.subscriber import Subscriber  # type: ignore[import-untyped]
    from reactivestreams.subscription import Subscription  # type: ignore[import-untyped]
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "penstock.bridges.reactivestreams needs the package `reactivestreams` of rsocket-py: "
        "pip install 'penstock[reactivestreams]'",
        name="reactivestreams",
    ) from error

from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.places.event_loops import AnyLoop, loop_here
from penstock.engine.words.arguments import count_given
from penstock.engine.words.demand import add
from penstock.engine.words.dropped import drop
from penstock.errors import ProtocolError
from penstock.spec import interfaces
from penstock.spec.dialects.cpp import returned
from penstock.spec.dialects.strangers import cure_for, library_of, publisher_given
from penstock.spec.predicates import is_publisher, is_subscriber
from penstock.stream import Stream

T = TypeVar("T")

MOST_REQUESTED = 2**31 - 1
"""The most that is asked of a publisher at once; rsocket-py sends it as 31 bits."""


class _Entering(Subscriber):  # type: ignore[misc]
    """Their subscriber before one of ours: it holds their publisher to the contract and asks it in small numbers."""

    def __init__(self, downstream: interfaces.Subscriber[Any], initial: int) -> None:
        self.outlet: Outlet[Any] = Outlet(downstream)
        self.outlet.on_request = self._requested
        self.outlet.on_cancel = self._cancel
        self._initial = initial
        self._loop: AnyLoop | None = loop_here()
        self._lock = Lock()
        self._subscription: Subscription | None = None
        self._subscribing = False
        self._asking = False
        self._over = False
        self._demand = 0
        """All that was ever asked for here."""
        self._asked = 0
        """All that was ever asked for there."""
        self._arrived = 0

    def enter(self, publisher: Publisher) -> None:
        """Subscribe; what is asked for meanwhile waits, since rsocket-py would ask before it subscribes."""
        self._subscribing = True
        try:
            self.outlet.open()
            if not self.outlet.closed:
                subscription: Any = returned(publisher.subscribe(self))
                if subscription is not None and self._subscription is None:  # a publisher of the C++ text
                    self.on_subscribe(subscription)
        except Exception as error:  # noqa: BLE001  rule 1.9
            self._there(self._cancel_there)  # it may have subscribed before
            self._end(error)
        finally:
            self._subscribing = False
        self._ask()

    # What their publisher says.

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription."""
        element_or_raise(subscription, "on_subscribe")
        with self._lock:
            refused = self._subscription is not None or self._over or self.outlet.closed
            again = subscription is self._subscription
            if not refused:
                self._subscription = subscription
        if again:  # to cancel it is to cut the stream off
            self._breach(ProtocolError("2.12", "the publisher sent its subscription twice"))
        elif refused:
            subscription.cancel()  # rule 2.5
        elif not self._subscribing:
            self._ask()

    def on_next(self, value: Any, is_complete: bool = False) -> None:
        """Take an element, perhaps the last."""
        if value is None:
            self._breach(TypeError("rule 2.13: on_next(None): None is not allowed here"))
            element_or_raise(value, "on_next")
        with self._lock:
            if self._over:
                return  # rule 2.8
            unasked = self._arrived >= self._initial + self._asked
            self._arrived += 1
            subscribed = self._subscription is not None
        if not subscribed:
            self._breach(ProtocolError("1.9", "the publisher sent an element before on_subscribe"))
        elif unasked:
            self._breach(ProtocolError("1.1", "the publisher sent an element that was not requested"))
            drop("rule 1.1: the publisher sent an element that was not requested", None, value)
        else:
            self.outlet.offer(value)
            if is_complete:
                self._end(None)
            else:
                self._ask()

    def on_error(self, exception: Exception) -> None:
        """Take the failure."""
        if exception is None:
            self._breach(TypeError("rule 2.13: on_error(None): None is not allowed here"))
            element_or_raise(exception, "on_error")
        if not isinstance(exception, Exception):
            exception = ProtocolError("1.4", f"the publisher failed with {exception!r}, which is not an exception")
        self._end(exception)

    def on_complete(self) -> None:
        """Take the end."""
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        with self._lock:
            late, self._over = self._over, True
            self._subscription = None
        if not late:
            self.outlet.complete(error)
        elif error is not None:
            drop("an error came after the end or the cancel", error)

    def _breach(self, error: Exception) -> None:
        self._there(self._cancel_there)
        with self._lock:
            if self._over:
                return
            self._over = True
        self.outlet.complete(error)

    # What our subscriber says.

    def _requested(self, n: int) -> None:
        with self._lock:
            self._demand = add(self._demand, n)
        if not self._subscribing:
            self._ask()

    def _cancel(self) -> None:
        with self._lock:
            self._over = True
        self._there(self._cancel_there)

    def _ask(self) -> None:
        self._there(self._ask_there)

    def _there(self, call: Any) -> None:
        """Call on the loop that it was subscribed on, if any: rsocket-py is used on one thread."""
        if self._loop is None or self._loop.here:
            call()
        else:
            self._loop.call(call)

    def _cancel_there(self) -> None:
        with self._lock:
            subscription, self._subscription = self._subscription, None
        if subscription is not None:
            try:
                subscription.cancel()
            except Exception as error:  # noqa: BLE001  rule 3.15
                drop("rule 3.15: the publisher's cancel raised", error)

    def _ask_there(self) -> None:
        """Ask for what is due, one request at a time (rule 2.7)."""
        while True:
            with self._lock:
                subscription = self._subscription
                if subscription is None or self._over or self._asking or self._subscribing:
                    return
                on_their_way = self._initial + self._asked - self._arrived
                due = min(max(0, self._demand - self._initial) - self._asked, MOST_REQUESTED - on_their_way)
                if due <= 0 or (on_their_way and due < MOST_REQUESTED // 2 < self._demand - self._asked):
                    return
                self._asked += due
                self._asking = True
            try:
                subscription.request(due)
            except Exception as error:  # noqa: BLE001  rule 3.16
                failure = ProtocolError("3.16", f"the publisher's request raised {error!r}")
                failure.__cause__ = error
                self._breach(failure)
            finally:
                self._asking = False


class _Leaving:
    """Our subscriber before one of theirs."""

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber

    def on_subscribe(self, subscription: interfaces.Subscription, /) -> None:
        element_or_raise(subscription, "on_subscribe")
        self._subscriber.on_subscribe(_TheirSubscription(subscription))

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        self._subscriber.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._subscriber.on_complete()


class _TheirSubscription(Subscription):  # type: ignore[misc]
    """A subscription of ours in their shape."""

    def __init__(self, subscription: interfaces.Subscription) -> None:
        self._subscription = subscription

    def request(self, n: int) -> None:
        """Ask for `n` more elements."""
        self._subscription.request(n)

    def cancel(self) -> None:
        """Ask for no more."""
        self._subscription.cancel()


class _Entrance:
    """A publisher of theirs in our shape."""

    def __init__(self, publisher: Publisher, initial: int) -> None:
        self._publisher = publisher
        self._initial = initial

    def subscribe(self, subscriber: interfaces.Subscriber[Any], /) -> None:
        _Entering(subscriber, self._initial).enter(self._publisher)


class _Exit(Publisher):  # type: ignore[misc]
    """A stream in the shape of their publishers."""

    def __init__(self, stream: interfaces.Publisher[Any]) -> None:
        self._stream = stream

    def subscribe(self, subscriber: Subscriber) -> None:
        """Start a run for one of their subscribers."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        self._stream.subscribe(from_subscriber(subscriber))


def from_publisher(publisher: Publisher, initial: int = 0) -> Stream[Any]:
    """Take the elements of one of their publishers.

    Emits when the publisher does; an element with `is_complete=True` is followed by the end, and one that was not asked
    for fails the stream by rule 1.1. Backpressures by passing demand on. `initial` is how many elements the publisher
    sends without being asked, as rsocket-py's `request_stream` does with `initial_request_n`; so many may wait here.
    Completes when the publisher does. Cancels its subscription. Where it is subscribed on an event loop, the publisher
    is asked and cancelled on that loop alone.

    >>> from penstock import Stream
    >>> from penstock.bridges.reactivestreams import from_publisher, to_publisher
    >>> list(from_publisher(to_publisher(Stream.range(3))))
    [0, 1, 2]
    """
    if not is_publisher(publisher) or library_of(publisher) not in {None, "reactivestreams"}:
        raise TypeError(
            f"from_publisher: publisher must have subscribe(subscriber), got {publisher!r}{cure_for(publisher)}"
        )
    count_given("from_publisher", "initial", initial, 0)
    return Stream.from_publisher(_Entrance(publisher, initial))


def to_publisher(stream: interfaces.Publisher[Any]) -> Publisher:
    """Give a stream as one of their publishers; each subscriber has its own run.

    Emits, completes and fails as the stream does, on the threads that the stream does; nothing is held. The flag of
    `on_next` is never set: `on_complete` follows the last element. rsocket-py wants to be called on its loop: put
    `publish_on(loop())` at the end of a stream that emits elsewhere.

    >>> from reactivestreams.subscriber import DefaultSubscriber
    >>> from penstock import Stream
    >>> printing = DefaultSubscriber(on_next=lambda value, last: print(value), on_subscribe=lambda it: it.request(2))
    >>> to_publisher(Stream.range(5)).subscribe(printing)
    0
    1
    """
    publisher_given("to_publisher: stream must have subscribe(subscriber)", stream)
    return _Exit(stream if isinstance(stream, Stream) else Stream.from_publisher(stream))


def from_subscriber(subscriber: Subscriber) -> interfaces.Subscriber[Any]:
    """Give one of their subscribers as one of ours; it may ask inside `on_subscribe`.

    >>> from reactivestreams.subscriber import DefaultSubscriber
    >>> from penstock import Stream
    >>> printing = DefaultSubscriber(on_next=lambda value, last: print(value), on_subscribe=lambda it: it.request(1))
    >>> Stream.range(5).subscribe(from_subscriber(printing))
    0
    """
    if not is_subscriber(subscriber, "jvm") or library_of(subscriber) == "py4j":
        raise TypeError(
            f"from_subscriber: subscriber must have the four on_ methods, got {subscriber!r}{cure_for(subscriber)}"
        )
    return _Leaving(subscriber)


def to_subscriber(subscriber: interfaces.Subscriber[Any], initial: int = 0) -> Subscriber:
    """Give one of our subscribers as one of theirs, for one of their publishers, which is held to the contract.

    >>> from penstock import Sink, Stream, subscriber
    >>> total = subscriber(Sink.count())
    >>> to_publisher(Stream.range(5)).subscribe(to_subscriber(total))
    >>> total.get()
    5
    """
    if not is_subscriber(subscriber, "jvm") or library_of(subscriber) == "py4j":
        raise TypeError(
            f"to_subscriber: subscriber must have the four on_ methods, got {subscriber!r}{cure_for(subscriber)}"
        )
    count_given("to_subscriber", "initial", initial, 0)
    entering = _Entering(subscriber, initial)
    entering.outlet.open()
    return entering


__all__ = ["MOST_REQUESTED", "from_publisher", "from_subscriber", "to_publisher", "to_subscriber"]
