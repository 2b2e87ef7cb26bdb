"""cpp_parties: the parties of the C++ text, as shapes; there `subscribe` returns the subscription."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from penstock.spec.interfaces import Subscription, T_co, T_contra


@runtime_checkable
class CppSubscriber(Protocol[T_contra]):
    """A receiver of `on_next* (on_error | on_complete)?`, which is let go of then."""

    def on_next(self, element: T_contra, /) -> None:
        """Take one element that was asked for."""

    def on_error(self, error: Exception, /) -> None:
        """Take the failure that ends the stream."""

    def on_complete(self) -> None:
        """Take the successful end of the stream."""


@runtime_checkable
class CppPublisher(Protocol[T_co]):
    """A provider of elements to subscribers that have no on_subscribe."""

    def subscribe(self, subscriber: CppSubscriber[T_co], /) -> Subscription:
        """Take the subscriber over and return its subscription; to let go of that is to cancel."""
        ...


@runtime_checkable
class CppProcessor(CppSubscriber[T_contra], Protocol[T_contra, T_co]):
    """A subscriber of one stream and a publisher of another; the text has no name for it."""

    def subscribe(self, subscriber: CppSubscriber[T_co], /) -> Subscription:
        """Take the subscriber over and return its subscription; to let go of that is to cancel."""
        ...
