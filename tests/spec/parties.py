"""parties: small objects of each shape that write down how they were called."""

from __future__ import annotations

from penstock.spec import Subscriber, Subscription


class Ticket:
    """Be a subscription that writes its calls down."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []

    def request(self, n: int, /) -> None:
        self.calls.append(("request", n))

    def cancel(self) -> None:
        self.calls.append(("cancel", None))


class Notebook:
    """Be a subscriber that writes its calls down."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.calls.append(("on_subscribe", subscription))

    def on_next(self, element: object, /) -> None:
        self.calls.append(("on_next", element))

    def on_error(self, error: Exception, /) -> None:
        self.calls.append(("on_error", error))

    def on_complete(self) -> None:
        self.calls.append(("on_complete", None))


class Headless:
    """Be a subscriber of the C++ text, which has no on_subscribe."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []

    def on_next(self, element: object, /) -> None:
        self.calls.append(("on_next", element))

    def on_error(self, error: Exception, /) -> None:
        self.calls.append(("on_error", error))

    def on_complete(self) -> None:
        self.calls.append(("on_complete", None))


class Press:
    """Be a publisher that writes its calls down."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []

    def subscribe(self, subscriber: Subscriber[int], /) -> None:
        self.calls.append(("subscribe", subscriber))


class Relay(Notebook):
    """Be a processor that writes its calls down."""

    def subscribe(self, subscriber: Subscriber[int], /) -> None:
        self.calls.append(("subscribe", subscriber))
