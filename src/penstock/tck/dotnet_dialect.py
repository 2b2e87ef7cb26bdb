"""dotnet_dialect: a publisher with the names of the .NET text, seen as one of the JVM text."""

from __future__ import annotations

from typing import Any

from penstock.spec.interfaces import Subscriber


class DotnetPublisher:
    """Call `Subscribe` where the kit says `subscribe`."""

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def subscribe(self, subscriber: Subscriber[Any] | None, /) -> None:
        """Subscribe a subscriber with the names that the publisher knows."""
        self._publisher.Subscribe(None if subscriber is None else _Relay(subscriber))


class _Relay:
    """Pass every signal on to a subscriber of this library."""

    def __init__(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber

    def OnSubscribe(self, subscription: Any, /) -> None:  # noqa: N802
        """Pass the subscription on."""
        self._subscriber.on_subscribe(None if subscription is None else _Subscription(subscription))  # type: ignore[arg-type]

    def OnNext(self, element: Any, /) -> None:  # noqa: N802
        """Pass an element on."""
        self._subscriber.on_next(element)

    def OnError(self, error: Exception, /) -> None:  # noqa: N802
        """Pass the failure on."""
        self._subscriber.on_error(error)

    def OnComplete(self) -> None:  # noqa: N802
        """Pass the completion on."""
        self._subscriber.on_complete()


class _Subscription:
    """Call `Request` and `Cancel` where the kit says `request` and `cancel`."""

    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        self._subscription.Request(n)

    def cancel(self) -> None:
        """Ask for no more signals."""
        self._subscription.Cancel()
