"""Erased wrappers pass every call on and show nothing of what they hold."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest

from penstock import Sink, Stream, subscriber
from penstock.bridges.cpp import to_cpp
from penstock.spec import AnyPublisher, AnySubscriber, AnySubscription, is_subscriber
from tests.spec.parties import Headless, Notebook, Press, Relay, Ticket

WRAPPERS = [(AnyPublisher, Press), (AnySubscriber, Notebook), (AnySubscription, Ticket)]

each_wrapper = pytest.mark.parametrize(("wrapper", "hidden"), WRAPPERS, ids=lambda made_by: made_by.__name__)


class Half:
    """Have one method of each party that has several."""

    def request(self, n: int, /) -> None: ...

    def on_next(self, element: object, /) -> None: ...

    def __repr__(self) -> str:
        return "Half()"


def test_publisher_passes_subscribe_and_every_signal_on() -> None:
    press, notebook, ticket = Press(), Notebook(), Ticket()
    AnyPublisher(press).subscribe(notebook)
    [(call, subscriber)] = press.calls
    assert (call, notebook.calls) == ("subscribe", [])
    subscriber.on_subscribe(ticket)  # type: ignore[attr-defined]
    subscriber.on_next(1)  # type: ignore[attr-defined]
    subscriber.on_complete()  # type: ignore[attr-defined]
    assert notebook.calls == [("on_subscribe", ticket), ("on_next", 1), ("on_complete", None)]


def test_an_eraser_of_a_subscriber_of_the_cpp_text_has_no_on_subscribe_either() -> None:
    notebook = Headless()
    subscriber = AnySubscriber(notebook)
    assert not hasattr(subscriber, "on_subscribe")
    assert (is_subscriber(subscriber), is_subscriber(subscriber, "jvm")) == (True, False)
    subscriber.on_next(1)
    subscriber.on_complete()
    assert notebook.calls == [("on_next", 1), ("on_complete", None)]


@pytest.mark.parametrize("hidden", [Stream.range(3), to_cpp(Stream.range(3))], ids=["JVM", "C++"])
def test_a_publisher_of_either_text_serves_subscribers_of_both(hidden: Any) -> None:
    total = subscriber(Sink.to_list())
    AnyPublisher(hidden).subscribe(total)
    assert total.get() == [0, 1, 2]
    taker = Headless()
    subscription = AnyPublisher(hidden).subscribe(taker)
    subscription.request(2)
    assert taker.calls == [("on_next", 0), ("on_next", 1)]
    del subscription  # to drop it is to cancel


@pytest.mark.parametrize("hidden", [Stream.empty(), to_cpp(Stream.empty())], ids=["JVM", "C++"])
def test_on_subscribe_comes_first_whatever_the_hidden_publisher_is(hidden: Any) -> None:
    notebook = Notebook()
    AnyPublisher(hidden).subscribe(notebook)
    assert [call for call, _ in notebook.calls] == ["on_subscribe", "on_complete"]


def test_subscriber_passes_signals_on() -> None:
    notebook, ticket, error = Notebook(), Ticket(), ValueError("boom")
    subscriber = AnySubscriber(notebook)
    subscriber.on_subscribe(ticket)
    subscriber.on_next(1)
    subscriber.on_error(error)
    subscriber.on_complete()
    assert notebook.calls == [("on_subscribe", ticket), ("on_next", 1), ("on_error", error), ("on_complete", None)]


def test_subscription_passes_request_and_cancel_on() -> None:
    ticket = Ticket()
    subscription = AnySubscription(ticket)
    subscription.request(3)
    subscription.cancel()
    assert ticket.calls == [("request", 3), ("cancel", None)]


@pytest.mark.parametrize("n", [1, 0, -1, 2**63])
def test_subscription_of_nothing_ignores_every_call(n: int) -> None:
    subscription = AnySubscription()
    subscription.request(n)
    subscription.cancel()
    subscription.request(n)
    subscription.cancel()
    assert repr(subscription) == "<AnySubscription>"


def test_errors_of_the_hidden_object_come_through() -> None:
    class Refusing:
        def subscribe(self, subscriber: object, /) -> None:
            raise TypeError("rule 1.9: subscribe(None)")

    with pytest.raises(TypeError, match=r"^rule 1\.9: subscribe\(None\)$"):
        AnyPublisher(Refusing()).subscribe(None)  # type: ignore[arg-type]


@each_wrapper
def test_shows_nothing_of_what_it_holds(wrapper: Any, hidden: Any) -> None:
    wrapped = wrapper(hidden())
    assert repr(wrapped) == str(wrapped) == f"<{wrapper.__name__}>"
    assert not isinstance(wrapped, hidden)
    assert not hasattr(wrapped, "calls")
    assert not hasattr(wrapped, "__dict__")


def test_hides_the_other_side_of_a_processor() -> None:
    relay = Relay()
    assert not hasattr(AnyPublisher[int](relay), "on_next")
    assert not hasattr(AnySubscriber[int](relay), "subscribe")


@each_wrapper
def test_wraps_what_is_wrapped(wrapper: Any, hidden: Any) -> None:
    assert repr(wrapper(wrapper(hidden()))) == f"<{wrapper.__name__}>"


@each_wrapper
def test_lets_go_of_what_it_holds(wrapper: Any, hidden: Any) -> None:
    inner = hidden()
    inner_ref, wrapped = weakref.ref(inner), wrapper(inner)
    wrapped_ref = weakref.ref(wrapped)
    del inner, wrapped
    gc.collect()
    assert inner_ref() is wrapped_ref() is None


def test_pickles_if_the_hidden_object_does() -> None:
    subscription = pickle.loads(pickle.dumps(AnySubscription(Ticket())))
    assert type(subscription) is AnySubscription
    subscription.request(1)
    assert type(pickle.loads(pickle.dumps(AnySubscription()))) is AnySubscription


@pytest.mark.parametrize(
    ("wrapper", "candidate", "message"),
    [
        (AnyPublisher, None, "AnyPublisher: publisher must be a Publisher, got None"),
        (AnySubscriber, None, "AnySubscriber: subscriber must be a Subscriber, got None"),
        (AnySubscription, None, "AnySubscription: subscription must be a Subscription, got None"),
        (AnyPublisher, Half(), "AnyPublisher: publisher must be a Publisher, got Half() without subscribe"),
        (
            AnySubscriber,
            Half(),
            "AnySubscriber: subscriber must be a Subscriber, got Half() without on_subscribe, on_error, on_complete",
        ),
        (
            AnySubscription,
            Half(),
            "AnySubscription: subscription must be a Subscription, got Half() without cancel",
        ),
        (
            AnyPublisher,
            dict,
            "AnyPublisher: publisher must be a Publisher, got <class 'dict'>, a class; give an instance of it",
        ),
    ],
)
def test_refuses_other_shapes(wrapper: Any, candidate: object, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        wrapper(candidate)
    assert str(caught.value) == message
