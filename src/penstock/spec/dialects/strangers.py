"""strangers: parties of other texts and libraries at a door that is not theirs, and which door is.

An entry takes what has the shape it needs. What looks like it and is not, an Observable of RxPY or an object of Java's,
and what is a party by other names is refused there, with the bridge that takes it.
"""

from __future__ import annotations

from functools import lru_cache

from penstock.spec.predicates import (
    CPP_SUBSCRIBER_METHODS,
    PUBLISHER_METHODS,
    SUBSCRIBER_METHODS,
    SUBSCRIPTION_METHODS,
    missing_methods,
    pascal,
)

_JAVA = "it is an object of Java's: penstock.bridges.java.from_java takes it"
_LIBRARIES = {
    "reactivex": "it belongs to RxPY: penstock.bridges.reactivex has from_observable and to_observable",
    "rx": "it belongs to RxPY: penstock.bridges.reactivex has from_observable and to_observable",
    "reactivestreams": (
        "it belongs to rsocket-py: penstock.bridges.reactivestreams has from_publisher, from_subscriber, to_publisher "
        "and to_subscriber"
    ),
    "py4j": _JAVA,
}
_PASCAL = (
    "it has the names of the .NET text: penstock.bridges.dotnet.from_dotnet takes it, or penstock.bridges.cpp.from_cpp "
    "if its Subscribe returns the subscription, as the C++ text has it"
)
_HEADLESS = (
    "it has no on_subscribe, as subscribers of the C++ text: penstock.bridges.cpp.to_cpp(stream).subscribe(it) returns "
    "its subscription"
)


def library_of(candidate: object) -> str | None:
    """Return which library that penstock has a bridge to has made an object, if one has."""
    return _library_of_class(type(candidate))  # type: ignore[arg-type] # a class has a hash


@lru_cache(maxsize=256)  # every subscription asks, and programs have few classes of subscribers
def _library_of_class(found: type) -> str | None:
    for kind in found.__mro__:
        library = kind.__module__.partition(".")[0]
        if library in _LIBRARIES:
            return library
        if library == "penstock":  # what is ours may be made of theirs
            return None
    return None


def cure_for(candidate: object) -> str:
    """Return which bridge takes an object that was refused, as the end of a sentence; empty if none does."""
    library = library_of(candidate)
    if library is not None:
        return f"; {_LIBRARIES[library]}"
    for methods in (PUBLISHER_METHODS, SUBSCRIBER_METHODS[1:], SUBSCRIPTION_METHODS):
        if missing_methods(candidate, methods) and not missing_methods(candidate, tuple(map(pascal, methods))):
            return f"; {_PASCAL}"
    if not missing_methods(candidate, CPP_SUBSCRIBER_METHODS) and missing_methods(candidate, SUBSCRIBER_METHODS):
        return f"; {_HEADLESS}"
    return ""


def publisher_given(requirement: str, candidate: object) -> None:
    """Refuse what is no publisher, or is one of a library that has a bridge; `requirement` begins the message."""
    if missing_methods(candidate, PUBLISHER_METHODS) or library_of(candidate) is not None:
        raise TypeError(f"{requirement}, got {candidate!r}{cure_for(candidate)}")
