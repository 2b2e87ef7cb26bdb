"""inlet: where a publisher of another library enters a chain: processors and receiving ends."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from threading import Event, Lock
from typing import Any, Generic, NoReturn, TypeVar

from penstock.engine.grounds.beside import Beside
from penstock.engine.grounds.bystander import Bystander
from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.foreign import ForeignRelay
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.places.bell import Bell
from penstock.engine.places.event_loops import running
from penstock.engine.runs.wiring import refuse
from penstock.engine.words.arguments import stays_here
from penstock.engine.words.dropped import drop
from penstock.engine.words.single_use import SingleUse
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


class _LateRelay(ForeignRelay):
    """A relay whose subscriber comes later: until then an end waits for it, as it does for a delivery."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self._delivering = 1
        self.served = False
        """Whether the subscriber has come."""

    def serve(self, downstream: Subscriber[Any]) -> None:
        """Take the subscriber, and tell it what has come."""
        with self._lock:
            self.downstream, self.served = downstream, True
        self.start()
        self._delivered()

    def left(self) -> None:
        """Cancel the upstream if the run that the subscriber was to be part of is over before."""
        if self.served:
            return
        with self._lock:
            untold, self._error = self._error, None
        too_late(untold)
        self.cancel()


class Inlet(Generic[A, B]):
    """A Processor over a chain: a subscriber in front of it and a publisher behind it, one of each.

    What upstream signals before the chain is subscribed is kept, and told when it is.
    """

    __slots__ = ("_leg", "_relay", "_subscribed", "_wire")

    def __init__(self, wire: Callable[[Source[Any], Subscriber[Any]], None]) -> None:
        self._wire = wire
        self._subscribed = SingleUse()
        self._relay = _LateRelay()
        self._leg = self._relay.entrance

    def __reduce__(self) -> NoReturn:
        raise stays_here("processor", "a processor", "it serves one stream; use the flow that it was made of")

    def subscribe(self, subscriber: Subscriber[B], /) -> None:
        """Take the one subscriber; others are told so by `on_error`."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        if self._subscribed.first():
            self._wire(_InletSource(self._relay.serve), _Exit(subscriber, self._relay.left))
        else:
            served = "rule 1.11: this processor serves one subscriber; put share() behind it for more"
            refuse(subscriber, PenstockError(served))

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the one upstream."""
        if not self._relay.served:
            element_or_raise(subscription, "on_subscribe")
        self._leg.on_subscribe(subscription)

    def on_next(self, element: A, /) -> None:
        """Pass an element into the chain."""
        if self._relay.served:
            self._leg.on_next(element)
        else:
            element_or_raise(element, "on_next")
            drop("rule 1.1: the publisher sent an element that was not requested", None, element)

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure into the chain."""
        if not self._relay.served:
            element_or_raise(error, "on_error")
        self._leg.on_error(error)

    def on_complete(self) -> None:
        """Pass the end into the chain."""
        self._leg.on_complete()


class _Exit(Bystander):
    """The subscriber behind the chain; it sees when the chain is over, even if the chain never subscribed upstream."""

    __slots__ = ("_on_end",)

    def __init__(self, downstream: Subscriber[Any], on_end: Callable[[], None]) -> None:
        super().__init__(downstream)
        self._on_end = on_end

    def _over(self, error: BaseException | None, *, whole: bool) -> Subscriber[Any] | None:
        downstream = super()._over(error, whole=whole)
        self._on_end()
        return downstream


class Receiver(Generic[A, R]):
    """A Subscriber that brings its elements down to one result, which can be waited for."""

    __slots__ = ("_behind", "_done", "_error", "_inlet", "_lock", "_result", "_waiters")

    def __init__(self, inlet: Inlet[A, R]) -> None:
        self._inlet = inlet
        self._done = Event()
        self._lock = Lock()
        self._result: Any = None
        self._error: Exception | None = None
        self._waiters: list[Callable[[], None]] = []
        self._behind = Beside(0, lambda element: self.settle(element, None), self._ended, asks=1)
        inlet.subscribe(self._behind)

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
        self._behind.cancel()
        self.settle(None, PenstockError("subscriber: cancelled before there was a result"))

    def _ended(self, error: Exception | None) -> None:
        self.settle(None, EmptyError("subscriber: the stream completed without a result") if error is None else error)

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
