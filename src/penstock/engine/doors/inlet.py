"""inlet: where a publisher of another library enters a chain: processors and receiving ends."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any, Generic, TypeVar

from penstock.engine.grounds.cold_paths import nobody
from penstock.engine.grounds.foreign import ForeignRelay
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.relay import Relay
from penstock.engine.places.event_loops import Bell, running
from penstock.engine.runs.wiring import refuse
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.errors import EmptyError, PenstockError
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Source

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class _InletSource(Source[Any]):
    """The source of an inlet's chain."""

    enter: Callable[[Subscriber[Any]], None]

    def connect(self, downstream: Subscriber[Any], /) -> None:
        self.enter(downstream)


class Inlet(Generic[A, B]):
    """A Processor over a chain: a subscriber in front of it and a publisher behind it, one of each."""

    __slots__ = ("_lock", "_over", "_relay", "_subscribed", "_upstream", "_wire")

    def __init__(self, wire: Callable[[Source[Any], Subscriber[Any]], None]) -> None:
        self._wire = wire
        self._lock = Lock()
        self._subscribed = False
        self._over = False
        self._upstream: Subscription | None = None
        self._relay: Relay[Any] | None = None

    def subscribe(self, subscriber: Subscriber[B], /) -> None:
        """Take the one subscriber; others are told so by `on_error`."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        with self._lock:
            taken, self._subscribed = self._subscribed, True
        if taken:
            served = "rule 1.11: this processor serves one subscriber; put share() behind it for more"
            refuse(subscriber, PenstockError(served))
            return
        self._wire(_InletSource(self._enter), _Exit(subscriber, self._left))

    def _left(self) -> None:
        """Cancel the upstream if the run ended before the chain had subscribed to it."""
        with self._lock:
            self._over = True
            upstream = None if self._relay is not None else self._upstream
        if upstream is not None:
            upstream.cancel()

    def _enter(self, front: Subscriber[Any]) -> None:
        relay = ForeignRelay(front)
        with self._lock:
            self._relay = relay
            upstream = self._upstream
        relay.start()
        leg = relay.leg
        if leg is not None and upstream is not None:
            leg.on_subscribe(upstream)
            if isinstance(upstream, _Ended):
                upstream.request(1)  # rule 4.2: told at once, asked or not

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the one upstream."""
        element_or_raise(subscription, "on_subscribe")
        with self._lock:
            relay = self._relay
            unwanted = self._upstream is not None or (self._over and relay is None)
            if not unwanted:
                self._upstream = subscription
        if unwanted:
            subscription.cancel()  # rule 2.5, or the chain was cancelled before it came to this
            return
        if relay is not None:
            if relay.leg is None:
                subscription.cancel()
            else:
                relay.leg.on_subscribe(subscription)

    def on_next(self, element: A, /) -> None:
        """Pass an element into the chain."""
        element_or_raise(element, "on_next")
        relay = self._relay
        if relay is None:
            drop("rule 1.1: the publisher sent an element that was not requested", None, element)
        elif relay.leg is not None:
            relay.leg.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure into the chain."""
        element_or_raise(error, "on_error")
        self._end(error)

    def on_complete(self) -> None:
        """Pass the end into the chain."""
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        with self._lock:
            relay = self._relay
            if relay is None:
                self._upstream = _Ended(self, error)
                return
        leg = relay.leg
        if leg is None:
            return
        if error is None:
            leg.on_complete()
        else:
            leg.on_error(error)


class _Exit(Part):
    """The subscriber behind the chain; it sees when the chain is over, even if the chain never subscribed upstream."""

    __slots__ = ("_downstream", "_over", "_subscription", "height", "on_chunk", "on_next")

    def __init__(self, downstream: Subscriber[Any], over: Callable[[], None]) -> None:
        self._downstream: Subscriber[Any] | None = downstream
        self._over = over
        self._subscription: Subscription | None = None
        self.height = height_of(downstream)
        self.on_next = downstream.on_next
        self.on_chunk = chunks_of(downstream)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscription = subscription
        if self._downstream is not None:
            self._downstream.on_subscribe(self)

    def request(self, n: int, /) -> None:
        subscription = self._subscription
        if subscription is not None:
            subscription.request(n)

    def cancel(self) -> None:
        subscription = self._subscription
        self._let_go()
        if subscription is not None:
            subscription.cancel()

    def on_error(self, error: Exception, /) -> None:
        downstream = self._let_go()
        if downstream is not None:
            downstream.on_error(error)

    def on_complete(self) -> None:
        downstream = self._let_go()
        if downstream is not None:
            downstream.on_complete()

    def stand_aside(self) -> Subscriber[Any] | None:
        return self._let_go()

    def _let_go(self) -> Subscriber[Any] | None:
        """Forget both ends (rule 3.13)."""
        downstream = self._downstream
        self._downstream = self._subscription = None
        self.on_next = nobody
        self.on_chunk = None if self.on_chunk is None else nobody
        self._over()
        return downstream


class _Ended:
    """An upstream that ended before the chain had subscribed; the chain is told when it asks or subscribes."""

    def __init__(self, inlet: Inlet[Any, Any], error: Exception | None) -> None:
        self._inlet = inlet
        self._error = error

    def request(self, n: int, /) -> None:
        self._inlet._end(self._error)

    def cancel(self) -> None:
        """Do nothing: it has ended."""


class Receiver(Generic[A, R]):
    """A Subscriber that brings its elements down to one result, which can be waited for."""

    __slots__ = ("_done", "_error", "_inlet", "_lock", "_result", "_subscription", "_waiters")

    def __init__(self, inlet: Inlet[A, R]) -> None:
        self._inlet = inlet
        self._done = Event()
        self._lock = Lock()
        self._result: Any = None
        self._error: Exception | None = None
        self._subscription: Subscription | None = None
        self._waiters: list[Callable[[], None]] = []
        inlet.subscribe(_Result(self))

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the upstream.

        Args:
            subscription: By which it asks for elements.
        """
        self._inlet.on_subscribe(subscription)

    def on_next(self, element: A, /) -> None:
        """Take an element."""
        self._inlet.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Take a failure.

        Args:
            error: The failure.
        """
        self._inlet.on_error(error)

    def on_complete(self) -> None:
        """Take the end."""
        self._inlet.on_complete()

    def cancel(self) -> None:
        """Cancel the upstream; a caller that waits for the result is told."""
        if self._subscription is not None:
            self._subscription.cancel()
        self.settle(None, PenstockError("subscriber: cancelled before there was a result"))

    def settle(self, result: Any, error: Exception | None) -> None:
        """Keep the result or the failure, the first one only.

        Args:
            result: The result, where there is one.
            error: The failure, or None.
        """
        with self._lock:
            if self._done.is_set():
                return
            self._result, self._error = result, error
            self._done.set()
            waiters, self._waiters = self._waiters, []
        for wake in waiters:
            wake()

    def get(self, timeout: float | None = None) -> R:
        """Block for the result.

        Args:
            timeout: How many seconds to wait at most.
        """
        if not self._done.is_set() and running():
            raise RuntimeError(
                "subscriber: get() would block the event loop running here; await the subscriber instead"
            )
        if not self._done.wait(timeout):
            raise TimeoutError(f"subscriber: no result within {timeout} seconds")
        return self._outcome()

    def _outcome(self) -> R:
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[no-any-return]

    def __await__(self) -> Generator[Any, None, R]:
        bell = Bell("subscriber")
        with self._lock:
            waits = not self._done.is_set()
            if waits:
                self._waiters.append(bell.ring)
        if waits:
            yield from bell.__await__()
        return self._outcome()


class _Result:
    """The subscriber behind a receiver's chain; it asks for one element, which is the result."""

    __slots__ = ("_receiver",)

    def __init__(self, receiver: Receiver[Any, Any]) -> None:
        self._receiver = receiver

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._receiver._subscription = subscription
        subscription.request(1)

    def on_next(self, element: Any, /) -> None:
        self._receiver.settle(element, None)

    def on_error(self, error: Exception, /) -> None:
        self._receiver.settle(None, error)

    def on_complete(self) -> None:
        self._receiver.settle(None, EmptyError("subscriber: the stream completed without a result"))
