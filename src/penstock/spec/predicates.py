"""predicates: tell by shape whether an object claims to be one of the four parties.

A claim is a set of callable attributes, found on an instance; a class that has them is not itself a party. Whether the
claim is kept is for `penstock.tck` to show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.spec.interfaces import Processor, Publisher, Subscriber, Subscription

if TYPE_CHECKING:
    from typing_extensions import TypeIs

PUBLISHER_METHODS: Final = ("subscribe",)
SUBSCRIBER_METHODS: Final = ("on_subscribe", "on_next", "on_error", "on_complete")
SUBSCRIPTION_METHODS: Final = ("request", "cancel")
PROCESSOR_METHODS: Final = SUBSCRIBER_METHODS + PUBLISHER_METHODS


def missing_methods(candidate: object, methods: tuple[str, ...], /) -> tuple[str, ...]:
    """Return those of `methods` that `candidate` cannot be called by; a class lacks them all."""
    if isinstance(candidate, type):
        return methods
    return tuple([name for name in methods if not callable(getattr(candidate, name, None))])


def is_publisher(candidate: object, /) -> TypeIs[Publisher[Any]]:
    """Tell whether `candidate` has the shape of a publisher."""
    return not missing_methods(candidate, PUBLISHER_METHODS)


def is_subscriber(candidate: object, /) -> TypeIs[Subscriber[Any]]:
    """Tell whether `candidate` has the shape of a subscriber."""
    return not missing_methods(candidate, SUBSCRIBER_METHODS)


def is_subscription(candidate: object, /) -> TypeIs[Subscription]:
    """Tell whether `candidate` has the shape of a subscription."""
    return not missing_methods(candidate, SUBSCRIPTION_METHODS)


def is_processor(candidate: object, /) -> TypeIs[Processor[Any, Any]]:
    """Tell whether `candidate` has the shape of a processor, a subscriber and a publisher in one."""
    return not missing_methods(candidate, PROCESSOR_METHODS)
