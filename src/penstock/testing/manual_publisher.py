"""manual_publisher: a publisher driven by hand, which keeps the contract unless it is told what to break."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.engine.words.demand import UNBOUNDED, add, refused
from penstock.errors import ProtocolError
from penstock.spec.interfaces import Subscriber
from penstock.testing.signals import PATIENCE, VerificationError

T = TypeVar("T")


class PlannedBreach(Enum):
    """A rule that a ManualPublisher may break, and how."""

    EXCEED_DEMAND = "rule 1.1: next sends elements that were not requested"
    CONCURRENT_SIGNALS = "rule 1.3: next sends each of its elements on another thread, all at once"
    SIGNAL_AFTER_END = "rule 1.7: next, complete and fail go on after the end"
    IGNORE_CANCEL = "rule 1.8: signals go on after a cancel"
    NO_ON_SUBSCRIBE = "rule 1.9: subscribe does not signal on_subscribe"
    RAISE_IN_SUBSCRIBE = "rule 1.9: subscribe raises"
    SUBSCRIBE_TWICE = "rule 2.12: subscribe signals on_subscribe twice"
    NONE_SUBSCRIPTION = "rule 2.13: subscribe signals on_subscribe(None)"
    NONE_ELEMENT = "rule 2.13: next(None) is sent"
    NONE_ERROR = "rule 2.13: fail(None) is sent"
    RAISE_IN_CANCEL = "rule 3.15: cancel raises"
    RAISE_IN_REQUEST = "rule 3.16: request raises"


class ManualSubscription(Generic[T]):
    """The record of what one subscriber asked for."""

    def __init__(self, publisher: ManualPublisher[T], subscriber: Subscriber[T]) -> None:
        self.requests: list[int] = []
        self.demand = 0
        self.cancelled = False
        self.ended = False
        self.subscriber = subscriber
        self._publisher = publisher

    @property
    def requested(self) -> int:
        """Return all that was ever requested."""
        return min(sum(self.requests), UNBOUNDED)

    def request(self, n: int, /) -> None:
        """Record a request; an illegal one fails the stream (rule 3.9)."""
        if PlannedBreach.RAISE_IN_REQUEST in self._publisher.breaches:
            raise RuntimeError("ManualPublisher: request raises")
        error = refused(n)
        with self._publisher.changed:
            if self.ended or self.cancelled:
                return
            if error is None:
                self.requests.append(n)
                self.demand = add(self.demand, n)
            else:
                self.ended = True
            self._publisher.changed.notify_all()
        if error is not None:
            self.subscriber.on_error(error)

    def cancel(self) -> None:
        """Record the cancel."""
        with self._publisher.changed:
            self.cancelled = True
            self._publisher.changed.notify_all()
        if PlannedBreach.RAISE_IN_CANCEL in self._publisher.breaches:
            raise RuntimeError("ManualPublisher: cancel raises")


class ManualPublisher(Generic[T]):
    """A publisher of what the test says, to all subscribers; it refuses to break a rule not among `breaches`.

    >>> from penstock import Stream
    >>> from penstock.testing import Probe
    >>> upstream, probe = ManualPublisher[int](), Probe(request=2)
    >>> Stream.from_publisher(upstream).map(str).subscribe(probe)
    >>> upstream.requested
    2
    >>> upstream.next(1)
    >>> probe.elements
    ['1']
    """

    def __init__(self, *breaches: PlannedBreach) -> None:
        self.breaches = frozenset(breaches)
        self.subscriptions: list[ManualSubscription[T]] = []
        self.surplus: list[ManualSubscription[T]] = []
        """The second subscriptions that SUBSCRIBE_TWICE handed out."""
        self.changed = threading.Condition()

    # What was asked of it.

    @property
    def subscribers(self) -> int:
        """Return how many have ever subscribed."""
        return len(self.subscriptions)

    @property
    def requested(self) -> int:
        """Return all that the latest subscriber ever requested."""
        return self._latest("requested").requested

    @property
    def requests(self) -> list[int]:
        """Return the requests of the latest subscriber, one by one."""
        return list(self._latest("requests").requests)

    @property
    def demand(self) -> int:
        """Return what the latest subscriber has requested and not received."""
        return self._latest("demand").demand

    @property
    def cancelled(self) -> bool:
        """Tell whether the latest subscriber has cancelled."""
        return self._latest("cancelled").cancelled

    def _latest(self, what: str) -> ManualSubscription[T]:
        if not self.subscriptions:
            raise VerificationError(f"manual_publisher: {what}: there is no subscriber")
        return self.subscriptions[-1]

    def _wait(self, reached: Callable[[], bool], what: str, timeout: float) -> None:
        with self.changed:
            if not self.changed.wait_for(reached, timeout):
                raise VerificationError(f"manual_publisher: expected {what} within {timeout} seconds")

    def wait_for_subscriber(self, count: int = 1, timeout: float = PATIENCE) -> None:
        """Wait until so many have subscribed."""
        self._wait(lambda: self.subscribers >= count, f"{count} subscribers", timeout)

    def wait_for_request(self, total: int = 1, timeout: float = PATIENCE) -> None:
        """Wait until the latest subscriber has requested so many elements in all."""
        self._wait(
            lambda: bool(self.subscriptions) and self.requested >= total, f"requests for {total} elements", timeout
        )

    def wait_for_cancel(self, timeout: float = PATIENCE) -> None:
        """Wait until the latest subscriber has cancelled."""
        self._wait(lambda: bool(self.subscriptions) and self.cancelled, "a cancel", timeout)

    # What it does.

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Take a subscriber."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        if PlannedBreach.RAISE_IN_SUBSCRIBE in self.breaches:
            raise RuntimeError("ManualPublisher: subscribe raises")
        subscription = ManualSubscription(self, subscriber)
        with self.changed:
            self.subscriptions.append(subscription)
            self.changed.notify_all()
        if PlannedBreach.NONE_SUBSCRIPTION in self.breaches:
            subscriber.on_subscribe(None)  # type: ignore[arg-type]
        elif PlannedBreach.NO_ON_SUBSCRIBE not in self.breaches:
            subscriber.on_subscribe(subscription)
        if PlannedBreach.SUBSCRIBE_TWICE in self.breaches:
            second = ManualSubscription(self, subscriber)
            self.surplus.append(second)
            subscriber.on_subscribe(second)

    def next(self, *elements: T) -> None:
        """Send elements to every subscriber that still listens."""
        for element in elements:
            if element is None and PlannedBreach.NONE_ELEMENT not in self.breaches:
                raise ProtocolError("2.13", "ManualPublisher.next(None): None is not an element")
        for subscription in self._listening(f"next({', '.join(map(repr, elements))})"):
            if PlannedBreach.EXCEED_DEMAND not in self.breaches and len(elements) > subscription.demand:
                raise ProtocolError(
                    "1.1",
                    f"ManualPublisher.next: {len(elements)} elements to send, {subscription.demand} are requested",
                )
            if PlannedBreach.CONCURRENT_SIGNALS in self.breaches:
                self._send_at_once(subscription, elements)
            else:
                for element in elements:
                    self._send(subscription, element)

    def complete(self) -> None:
        """Complete every subscriber that still listens."""
        for subscription in self._listening("complete()"):
            subscription.ended = True
            subscription.subscriber.on_complete()

    def fail(self, error: Exception) -> None:
        """Fail every subscriber that still listens."""
        if error is None and PlannedBreach.NONE_ERROR not in self.breaches:
            raise ProtocolError("2.13", "ManualPublisher.fail(None): None is not an error")
        for subscription in self._listening(f"fail({error!r})"):
            subscription.ended = True
            subscription.subscriber.on_error(error)

    def _listening(self, call: str) -> list[ManualSubscription[T]]:
        if not self.subscriptions:
            raise VerificationError(f"manual_publisher: {call}: there is no subscriber")
        open_ones = [
            subscription
            for subscription in self.subscriptions
            if not subscription.ended or PlannedBreach.SIGNAL_AFTER_END in self.breaches
        ]
        if not open_ones:
            raise ProtocolError("1.7", f"ManualPublisher.{call}: the stream has ended")
        return [one for one in open_ones if not one.cancelled or PlannedBreach.IGNORE_CANCEL in self.breaches]

    def _send(self, subscription: ManualSubscription[T], element: T) -> None:
        with self.changed:
            if subscription.cancelled and PlannedBreach.IGNORE_CANCEL not in self.breaches:
                return
            if subscription.demand < UNBOUNDED:
                subscription.demand = max(0, subscription.demand - 1)
        subscription.subscriber.on_next(element)

    def _send_at_once(self, subscription: ManualSubscription[T], elements: tuple[T, ...]) -> None:
        gate = threading.Barrier(len(elements))

        def send(element: Any) -> None:
            gate.wait()
            self._send(subscription, element)

        threads = [threading.Thread(target=send, args=(element,), daemon=True) for element in elements]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
