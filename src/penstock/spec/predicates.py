"""predicates: tell by shape whether an object claims to be one of the four parties.

A claim is a set of callable attributes, found on an instance; a class that has them is not itself a party. Whether the
claim is kept is for `penstock.tck` to show.

The texts differ in shape: a subscriber of the C++ text has no on_subscribe, and those of the .NET text have other
names. A predicate without a dialect asks whether an object is a party by the names that Python has here, with or
without on_subscribe; with one it asks for exactly that text's shape. Objects of the C++ text may also have the names
that are written there (`OnNext`), as a binding to C++ would show them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, overload

from penstock.spec.dialects.cpp_parties import CppProcessor, CppPublisher, CppSubscriber
from penstock.spec.interfaces import Processor, Publisher, Subscriber, Subscription

if TYPE_CHECKING:
    from typing_extensions import TypeIs

PUBLISHER_METHODS: Final = ("subscribe",)
SUBSCRIBER_METHODS: Final = ("on_subscribe", "on_next", "on_error", "on_complete")
SUBSCRIPTION_METHODS: Final = ("request", "cancel")
PROCESSOR_METHODS: Final = SUBSCRIBER_METHODS + PUBLISHER_METHODS
CPP_SUBSCRIBER_METHODS: Final = SUBSCRIBER_METHODS[1:]

DialectName = Literal["jvm", "dotnet", "cpp"]


def pascal(method: str) -> str:
    """Return a method's name as the C++ and the .NET text write it."""
    return "".join(part.capitalize() for part in method.split("_"))


def _pascal(methods: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(pascal(method) for method in methods)


def _shapes(methods: tuple[str, ...]) -> dict[str | None, tuple[tuple[str, ...], ...]]:
    """Return the shapes that claim to be a party, for each dialect and for none."""
    without = tuple(method for method in methods if method != "on_subscribe")
    return {
        None: (without,),
        "jvm": (methods,),
        "dotnet": (_pascal(methods),),
        "cpp": (without, _pascal(without)),
    }


_PUBLISHER: Final = _shapes(PUBLISHER_METHODS)
_SUBSCRIBER: Final = _shapes(SUBSCRIBER_METHODS)
_SUBSCRIPTION: Final = _shapes(SUBSCRIPTION_METHODS)
_PROCESSOR: Final = _shapes(PROCESSOR_METHODS)


def missing_methods(candidate: object, methods: tuple[str, ...], /) -> tuple[str, ...]:
    """Return those of `methods` that `candidate` cannot be called by; a class lacks them all."""
    if isinstance(candidate, type):
        return methods
    missing: tuple[str, ...] = ()
    for name in methods:  # and no comprehension: every subscription asks
        if not callable(getattr(candidate, name, None)):
            missing = (*missing, name)
    return missing


def _is(candidate: object, shapes: dict[str | None, tuple[tuple[str, ...], ...]], dialect: str | None) -> bool:
    if dialect not in shapes:
        known = ", ".join(sorted(name for name in shapes if name))
        raise ValueError(f"dialect must be one of {known}, or None for any that has these names, got {dialect!r}")
    if dialect is None and "on_subscribe" in shapes["jvm"][0] and not callable(getattr(candidate, "on_subscribe", len)):
        return False  # it has one, which cannot be called
    return any(not missing_methods(candidate, shape) for shape in shapes[dialect])


@overload
def is_publisher(candidate: object, /, dialect: Literal["jvm"] | None = None) -> TypeIs[Publisher[Any]]: ...
@overload
def is_publisher(candidate: object, /, dialect: Literal["cpp"]) -> TypeIs[CppPublisher[Any]]: ...
@overload
def is_publisher(candidate: object, /, dialect: DialectName) -> bool: ...
def is_publisher(candidate: object, /, dialect: DialectName | None = None) -> bool:
    """Tell whether `candidate` has the shape of a publisher.

    Args:
        candidate: What is looked at.
        dialect: The text whose rules it is held to; any of the three if not said.

    >>> from penstock import Stream
    >>> is_publisher(Stream.range(3)), is_publisher(Stream.range(3), dialect="dotnet")
    (True, False)
    """
    return _is(candidate, _PUBLISHER, dialect)


@overload
def is_subscriber(candidate: object, /, dialect: Literal["jvm"]) -> TypeIs[Subscriber[Any]]: ...
@overload
def is_subscriber(candidate: object, /, dialect: Literal["cpp"] | None = None) -> TypeIs[CppSubscriber[Any]]: ...
@overload
def is_subscriber(candidate: object, /, dialect: DialectName) -> bool: ...
def is_subscriber(candidate: object, /, dialect: DialectName | None = None) -> bool:
    """Tell whether `candidate` has the shape of a subscriber, which has on_subscribe unless it is one of the C++ text.

    Args:
        candidate: What is looked at.
        dialect: The text whose rules it is held to; any of the three if not said.

    >>> from penstock import Sink, subscriber
    >>> is_subscriber(subscriber(Sink.count())), is_subscriber(print)
    (True, False)
    """
    return _is(candidate, _SUBSCRIBER, dialect)


@overload
def is_subscription(candidate: object, /, dialect: Literal["jvm", "cpp"] | None = None) -> TypeIs[Subscription]: ...
@overload
def is_subscription(candidate: object, /, dialect: DialectName) -> bool: ...
def is_subscription(candidate: object, /, dialect: DialectName | None = None) -> bool:
    """Tell whether `candidate` has the shape of a subscription.

    Args:
        candidate: What is looked at.
        dialect: The text whose rules it is held to; any of the three if not said.
    """
    return _is(candidate, _SUBSCRIPTION, dialect)


@overload
def is_processor(candidate: object, /, dialect: Literal["jvm"]) -> TypeIs[Processor[Any, Any]]: ...
@overload
def is_processor(candidate: object, /, dialect: Literal["cpp"] | None = None) -> TypeIs[CppProcessor[Any, Any]]: ...
@overload
def is_processor(candidate: object, /, dialect: DialectName) -> bool: ...
def is_processor(candidate: object, /, dialect: DialectName | None = None) -> bool:
    """Tell whether `candidate` has the shape of a processor, a subscriber and a publisher in one.

    Args:
        candidate: What is looked at.
        dialect: The text whose rules it is held to; any of the three if not said.
    """
    return _is(candidate, _PROCESSOR, dialect)
