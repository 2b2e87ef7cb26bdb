"""probe: a subscriber that records every signal and asks for elements only when told to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.engine.words.demand import UNBOUNDED, add
from penstock.spec.dialects.cpp import returned
from penstock.spec.dialects.strangers import publisher_given
from penstock.spec.interfaces import Subscription
from penstock.testing.signals import PATIENCE, Completed, Failed, Next, Signal, VerificationError, spoken

T = TypeVar("T")


class Probe(Generic[T]):
    """A subscriber that records all signals, notes every rule they break, and waits for them `patience` seconds.

    >>> from penstock import Stream
    >>> probe = Probe[int]()
    >>> Stream.range(5).subscribe(probe)
    >>> probe.request(2)
    >>> probe.elements, probe.ended
    ([0, 1], False)
    """

    def __init__(
        self,
        request: int = 0,
        *,
        on_subscribe: Callable[[Subscription], object] | None = None,
        on_signal: Callable[[Signal], object] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.signals: list[Signal] = []
        self.breaches: list[str] = []
        """What the publisher did against the contract, each with its rule."""
        self.threads: list[str] = []
        """The name of the thread that each signal came on."""
        self.subscription: Subscription | None = None
        self.requested = 0
        self.cancelled = False
        self.patience = patience
        self._first_request = request
        self._on_subscribe = on_subscribe
        self._on_signal = on_signal
        self._changed = threading.Condition()
        self._inside: int | None = None

    # What was seen.

    @property
    def elements(self) -> list[T]:
        """Return the elements so far."""
        return [signal.element for signal in list(self.signals) if isinstance(signal, Next)]

    @property
    def completed(self) -> bool:
        """Tell whether the stream has completed."""
        return any(isinstance(signal, Completed) for signal in list(self.signals))

    @property
    def error(self) -> Exception | None:
        """Return the error that ended the stream, or None."""
        return next((signal.error for signal in list(self.signals) if isinstance(signal, Failed)), None)

    @property
    def ended(self) -> bool:
        """Tell whether the stream has completed or failed."""
        return any(not isinstance(signal, Next) for signal in list(self.signals))

    # What it does.

    def request(self, n: int = UNBOUNDED) -> None:
        """Ask for `n` more elements; for all there are unless `n` is given."""
        subscription = self._subscription("request")
        with self._changed:
            self.requested = add(self.requested, n)
        subscription.request(n)

    def cancel(self) -> None:
        """Cancel the subscription."""
        subscription = self._subscription("cancel")
        with self._changed:
            self.cancelled = True
            self._changed.notify_all()
        subscription.cancel()

    def _subscription(self, call: str) -> Subscription:
        """Return the subscription; it may be on its way from another thread."""
        if self.subscription is None:
            self.wait_until(lambda: self.subscription is not None, f"on_subscribe before {call}")
        assert self.subscription is not None
        return self.subscription

    def wait_until(self, reached: Callable[[], object], what: str) -> None:
        """Wait until a condition on this probe holds; it is looked at after every signal."""
        with self._changed:
            if not self._changed.wait_for(reached, self.patience):
                raise VerificationError(
                    f"probe: expected {what} within {self.patience} seconds, got {spoken(self.signals)}"
                )

    def wait_for(self, count: int) -> list[T]:
        """Wait for so many elements and return all there are."""
        self.wait_until(lambda: len(self.elements) >= count, f"{count} elements")
        return self.elements

    def wait_for_end(self) -> list[T]:
        """Wait for the end and return all elements."""
        self.wait_until(lambda: self.ended, "the end")
        return self.elements

    # What it is told.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription and make the first request."""
        if subscription is None:
            self.breaches.append("rule 2.13: on_subscribe(None)")
            raise TypeError("rule 2.13: on_subscribe(None): None is not allowed here")
        if self.subscription is not None:
            self.breaches.append("rule 2.12: on_subscribe was signalled twice")
            subscription.cancel()  # rule 2.5
            return
        with self._changed:
            self.subscription = subscription
            self._changed.notify_all()
        if self._on_subscribe is not None:
            self._on_subscribe(subscription)
        if self._first_request:
            self.request(self._first_request)

    def on_next(self, element: T, /) -> None:
        """Record an element."""
        if element is None:
            self.breaches.append("rule 2.13: on_next(None)")
        if len(self.elements) >= self.requested < UNBOUNDED:
            self.breaches.append(f"rule 1.1: {len(self.elements) + 1} elements came, {self.requested} were requested")
        self._record(Next(element))

    def on_error(self, error: Exception, /) -> None:
        """Record the failure."""
        if not isinstance(error, Exception):
            self.breaches.append(f"rule 2.13: on_error({error!r})")
        self._record(Failed(error))

    def on_complete(self) -> None:
        """Record the end."""
        self._record(Completed())

    def _record(self, signal: Signal) -> None:
        if self.subscription is None:
            self.breaches.append(f"rule 1.9: {signal} came before on_subscribe")
        if self.ended:
            self.breaches.append(f"rule 1.7: {signal} came after the end")
        me = threading.get_ident()
        if self._inside not in (None, me):
            self.breaches.append(f"rule 1.3: {signal} came while another signal was being handled")
        outer, self._inside = self._inside, me
        try:
            with self._changed:
                self.signals.append(signal)
                self.threads.append(threading.current_thread().name)
                self._changed.notify_all()
            if self._on_signal is not None:
                self._on_signal(signal)
        finally:
            self._inside = outer

    def __repr__(self) -> str:
        return f"Probe({spoken(self.signals)})"


def meet(publisher: Any, probe: Probe[Any]) -> None:
    """Subscribe a probe to a publisher, and refuse one that would never call on_subscribe."""
    publisher_given("subscribe: publisher must have subscribe(subscriber)", publisher)
    found = publisher.subscribe(probe)
    if found is not None and probe.subscription is None and returned(found) is not None:
        raise TypeError(
            f"subscribe: {publisher!r} returned a subscription, as publishers of the C++ text do; "
            "penstock.bridges.cpp.from_cpp makes a stream of it"
        )


def subscribed(publisher: Any, request: int = 0) -> Probe[Any]:
    """Subscribe a fresh probe to a publisher and return it."""
    probe: Probe[Any] = Probe(request)
    meet(publisher, probe)
    return probe
