"""Predicates and protocols tell the four parties by their shape alone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.spec import (
    AnyPublisher,
    AnySubscriber,
    AnySubscription,
    Processor,
    Publisher,
    Subscriber,
    Subscription,
    is_processor,
    is_publisher,
    is_subscriber,
    is_subscription,
)
from tests.spec.parties import Notebook, Press, Relay, Ticket

PREDICATES: dict[Any, Callable[[object], bool]] = {
    Publisher: is_publisher,
    Subscriber: is_subscriber,
    Subscription: is_subscription,
    Processor: is_processor,
}
METHODS: dict[Any, tuple[str, ...]] = {
    Publisher: ("subscribe",),
    Subscriber: ("on_subscribe", "on_next", "on_error", "on_complete"),
    Subscription: ("request", "cancel"),
    Processor: ("on_subscribe", "on_next", "on_error", "on_complete", "subscribe"),
}
CLAIMS: list[tuple[object, set[Any]]] = [
    (Press(), {Publisher}),
    (Notebook(), {Subscriber}),
    (Ticket(), {Subscription}),
    (Relay(), {Publisher, Subscriber, Processor}),
    (AnyPublisher(Press()), {Publisher}),
    (AnySubscriber(Notebook()), {Subscriber}),
    (AnySubscription(), {Subscription}),
    (object(), set()),
    (None, set()),
    (len, set()),
]

each_party = pytest.mark.parametrize("party", METHODS, ids=lambda party: party.__name__)
each_method = pytest.mark.parametrize(
    ("party", "method"),
    [(party, method) for party, methods in METHODS.items() for method in methods],
    ids=lambda part: getattr(part, "__name__", part),
)


def with_methods(party: Any, **changed: object) -> SimpleNamespace:
    return SimpleNamespace(**{name: lambda *_: None for name in METHODS[party]} | changed)


@pytest.mark.parametrize(("candidate", "parties"), CLAIMS, ids=lambda part: type(part).__name__)
def test_objects_are_what_their_methods_say(candidate: object, parties: set[Any]) -> None:
    assert {party for party, predicate in PREDICATES.items() if predicate(candidate)} == parties
    assert {party for party in PREDICATES if isinstance(candidate, party)} == parties


@each_party
def test_methods_may_be_any_callables(party: Any) -> None:
    assert PREDICATES[party](with_methods(party))


@each_method
def test_refuses_an_object_without_one_of_the_methods(party: Any, method: str) -> None:
    lacking = with_methods(party)
    delattr(lacking, method)
    of_cpp = method == "on_subscribe"  # which subscribers of the C++ text do without
    assert PREDICATES[party](lacking) is of_cpp
    assert not PREDICATES[party](lacking, dialect="jvm")  # type: ignore[call-arg]
    assert not isinstance(lacking, party)


PASCAL = {"subscribe": "Subscribe", "on_subscribe": "OnSubscribe", "on_next": "OnNext", "on_error": "OnError"}
PASCAL |= {"on_complete": "OnComplete", "request": "Request", "cancel": "Cancel"}


@each_party
@pytest.mark.parametrize("pascal", [False, True])
@pytest.mark.parametrize("headless", [False, True])
def test_each_dialect_has_a_shape_of_its_own(party: Any, pascal: bool, headless: bool) -> None:
    names = [name for name in METHODS[party] if not (headless and name == "on_subscribe")]
    headless = headless and len(names) < len(METHODS[party])
    candidate = SimpleNamespace(**{PASCAL[name] if pascal else name: lambda *_: None for name in names})
    is_one: Any = PREDICATES[party]
    assert is_one(candidate) is not pascal
    assert is_one(candidate, dialect="jvm") is not (pascal or headless)
    assert is_one(candidate, dialect="cpp")
    assert is_one(candidate, dialect="dotnet") is (pascal and not headless)


def test_refuses_a_dialect_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"^dialect must be one of cpp, dotnet, jvm, or None .* got 'java'$"):
        is_publisher(Press(), dialect="java")  # type: ignore[call-overload]


@each_method
@pytest.mark.parametrize("attribute", [None, 3, "a name"])
def test_refuses_an_attribute_that_cannot_be_called(party: Any, method: str, attribute: object) -> None:
    assert not PREDICATES[party](with_methods(party, **{method: attribute}))


@pytest.mark.parametrize("made_by", [Press, Notebook, Ticket, Relay, AnyPublisher, AnySubscriber, AnySubscription])
def test_a_class_is_no_party(made_by: type) -> None:
    assert not any(predicate(made_by) for predicate in PREDICATES.values())


def test_a_method_on_the_metaclass_does_not_make_a_class_a_party() -> None:
    class Meta(type):
        def subscribe(cls, subscriber: object, /) -> None: ...

    class Made(metaclass=Meta): ...

    assert [PREDICATES[Publisher](candidate) for candidate in (Made, Made())] == [False, False]


def test_refuses_a_property_that_is_not_there_yet() -> None:
    class Late:
        @property
        def subscribe(self) -> object:
            raise AttributeError("not open yet")

    assert not is_publisher(Late())


def test_lets_any_other_failure_of_a_property_through() -> None:
    class Broken:
        @property
        def subscribe(self) -> object:
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match=r"^boom$"):
        is_publisher(Broken())


def test_accepts_methods_found_by_getattr() -> None:
    class Proxy:
        def __getattr__(self, name: str) -> object:
            if name == "subscribe":
                return lambda subscriber: None
            raise AttributeError(name)

    assert is_publisher(Proxy())
    assert not is_processor(Proxy())
