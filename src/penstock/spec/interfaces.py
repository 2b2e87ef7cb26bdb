"""interfaces: the four parties of Reactive Streams, as shapes that any object may have.

Parameters are positional-only, so an object conforms whatever it calls them. Checks with `isinstance` look at the
shape alone; the rules in `penstock.spec.rules.every` say how the methods must behave.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


@runtime_checkable
class Subscription(Protocol):
    """The way of one subscriber's demand and its cancellation to one publisher."""

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""

    def cancel(self) -> None:
        """Ask for no more signals."""


@runtime_checkable
class Subscriber(Protocol[T_contra]):
    """A receiver of `on_subscribe on_next* (on_error | on_complete)?`, never of more elements than asked for."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription; the first signal of all."""

    def on_next(self, element: T_contra, /) -> None:
        """Take one element that was asked for."""

    def on_error(self, error: Exception, /) -> None:
        """Take the failure that ends the stream.

        Args:
            error: The failure.
        """

    def on_complete(self) -> None:
        """Take the successful end of the stream."""


@runtime_checkable
class Publisher(Protocol[T_co]):
    """A provider of elements to subscribers, as many as each has asked for."""

    def subscribe(self, subscriber: Subscriber[T_co], /) -> None:
        """Start sending to `subscriber`, beginning with `on_subscribe`."""


@runtime_checkable
class Processor(Subscriber[T_contra], Publisher[T_co], Protocol[T_contra, T_co]):
    """A subscriber of one stream and a publisher of another, bound by the rules of both."""
