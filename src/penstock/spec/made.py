"""made: parties made of functions, for tests, for experiments, and where a class would be too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.spec.dialects.cpp_subscription import CppSubscription
from penstock.spec.element_count import UNBOUNDED
from penstock.spec.erased import AnyPublisher
from penstock.spec.interfaces import Publisher, Subscriber, Subscription
from penstock.spec.predicates import PUBLISHER_METHODS

T = TypeVar("T")


def _called(function: str, **functions: object) -> None:
    for name, each in functions.items():
        if each is not None and not callable(each):
            raise TypeError(f"{function}: {name} must be callable, got {each!r}")


class _Made(Generic[T]):
    """A subscriber made of functions."""

    __slots__ = ("__weakref__", "_on_complete", "_on_error", "_on_next", "_request", "subscription")

    def __init__(
        self,
        on_next: Callable[[T], object] | None,
        on_error: Callable[[Exception], object] | None,
        on_complete: Callable[[], object] | None,
        request: int,
    ) -> None:
        self._on_next = on_next
        self._on_error = on_error
        self._on_complete = on_complete
        self._request = request
        self.subscription: Subscription | None = None
        """What to ask and cancel by, once there is one."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Keep the subscription, and ask for the first elements."""
        if subscription is None:
            raise TypeError("rule 2.13: on_subscribe(None): None is not allowed here")
        if self.subscription is not None:
            subscription.cancel()  # rule 2.5
            return
        self.subscription = subscription
        if self._request:
            subscription.request(self._request)

    def on_next(self, element: T, /) -> None:
        """Call the function with the element."""
        if element is None:
            raise TypeError("rule 2.13: on_next(None): None is not allowed here")
        if self._on_next is not None:
            self._on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Call the function with the failure."""
        if error is None:
            raise TypeError("rule 2.13: on_error(None): None is not allowed here")
        if self._on_error is not None:
            self._on_error(error)

    def on_complete(self) -> None:
        """Call the function."""
        if self._on_complete is not None:
            self._on_complete()


def make_subscriber(
    on_next: Callable[[T], object] | None = None,
    on_error: Callable[[Exception], object] | None = None,
    on_complete: Callable[[], object] | None = None,
    *,
    request: int = UNBOUNDED,
) -> Subscriber[T]:
    """Make a subscriber of functions; what is left out is ignored. It asks for `request` elements, all unless told.

    Args:
        on_next: Called with each element.
        on_error: Called with the failure.
        on_complete: Called at the end.
        request: How many elements it asks for.

    >>> from penstock import Stream
    >>> Stream.range(2).subscribe(make_subscriber(print, on_complete=lambda: print("done")))
    0
    1
    done
    """
    _called("make_subscriber", on_next=on_next, on_error=on_error, on_complete=on_complete)
    if isinstance(request, bool) or not isinstance(request, int) or request < 0:
        raise ValueError(f"make_subscriber: request must be a whole number >= 0, got {request!r}")
    return _Made(on_next, on_error, on_complete, request)


class _Functions:
    """A subscription made of functions; after a cancel it does nothing any more (rules 3.6 and 3.7)."""

    __slots__ = ("__weakref__", "_cancel", "_over", "_request")

    def __init__(self, request: Callable[[int], object] | None, cancel: Callable[[], object] | None) -> None:
        self._request = request
        self._cancel = cancel
        self._over = False

    def request(self, n: int, /) -> None:
        """Call the function with the number."""
        if self._request is not None and not self._over:
            self._request(n)

    def cancel(self) -> None:
        """Call the function, once."""
        over, self._over = self._over, True
        if self._cancel is not None and not over:
            self._cancel()


def make_subscription(
    request: Callable[[int], object] | None = None, cancel: Callable[[], object] | None = None
) -> Subscription:
    """Make a subscription of functions, or one that does nothing.

    Args:
        request: Called with how many elements are asked for.
        cancel: Called when it is cancelled.

    >>> subscription = make_subscription(lambda n: print("asked for", n), lambda: print("cancelled"))
    >>> subscription.request(3)
    asked for 3
    >>> subscription.cancel()
    cancelled
    >>> subscription.request(1)
    """
    _called("make_subscription", request=request, cancel=cancel)
    return CppSubscription() if request is None and cancel is None else _Functions(request, cancel)


class _Subscribing(Generic[T]):
    """A publisher made of a function."""

    __slots__ = ("__weakref__", "_subscribe")

    def __init__(self, subscribe: Callable[[Any], object]) -> None:
        self._subscribe = subscribe

    def subscribe(self, subscriber: Any, /) -> Any:
        """Call the function with the subscriber."""
        if subscriber is None:
            raise TypeError("rule 1.9: subscribe(None): a subscriber is needed")
        return self._subscribe(subscriber)


def make_publisher(subscribe: Callable[[Any], Subscription | None]) -> Publisher[Any]:
    """Make a publisher of a function that takes a subscriber, and calls its on_subscribe or returns the subscription.

    The rules are then the function's to keep; `penstock.tck.verify_publisher` tells whether it does.

    Args:
        subscribe: The function.

    >>> from penstock import Stream
    >>> def nothing(subscriber):
    ...     subscriber.on_complete()
    ...     return make_subscription()
    >>> list(Stream.from_publisher(make_publisher(nothing)))
    []
    """
    _called("make_publisher", subscribe=subscribe)
    if subscribe is None:
        raise TypeError(f"make_publisher: subscribe must be a function, as {PUBLISHER_METHODS[0]} is, got None")
    return AnyPublisher(_Subscribing[Any](subscribe))


__all__ = ["make_publisher", "make_subscriber", "make_subscription"]
