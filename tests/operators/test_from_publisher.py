"""from_publisher: any publisher, held to the contract."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock import Dropped, ProtocolError, Stream
from penstock.testing import ManualPublisher, PlannedBreach, check_source, subscribed
from tests.operators.subjects import failure_of


def test_laws() -> None:
    check_source(lambda: Stream.from_publisher(Stream.just(1, 2, 3)), [1, 2, 3], examples=10)


def test_refuses_what_cannot_be_subscribed() -> None:
    with pytest.raises(TypeError, match=r"^from_publisher: publisher must have subscribe\(subscriber\), got \[1\]$"):
        Stream.from_publisher([1])  # type: ignore[arg-type]


def test_passes_demand_and_cancel_on() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream), 2)
    probe.request(5)
    assert upstream.requests == [2, 5]
    probe.cancel()
    assert upstream.cancelled


def test_an_illegal_request_is_answered_here_and_cancels_the_publisher() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream))
    probe.request(0)
    assert str(probe.error) == "rule 3.9: request(0): a request must be positive"
    assert upstream.cancelled
    assert upstream.requests == []


def broken(*breaches: PlannedBreach, request: int = 0) -> tuple[ManualPublisher[Any], Any]:
    upstream: ManualPublisher[Any] = ManualPublisher(*breaches)
    return upstream, subscribed(Stream.from_publisher(upstream), request)


def test_an_element_that_was_not_requested_fails_the_stream(dropped: list[Dropped]) -> None:
    upstream, probe = broken(PlannedBreach.EXCEED_DEMAND, request=1)
    upstream.next("a", "b")
    assert probe.elements == ["a"]
    assert type(probe.error) is ProtocolError
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    assert probe.error.rule == "1.1"
    assert probe.breaches == []
    assert upstream.cancelled
    assert [one.element for one in dropped] == ["b"]
    dropped.clear()


def test_signals_after_the_end_are_ignored(dropped: list[Dropped]) -> None:
    upstream, probe = broken(PlannedBreach.SIGNAL_AFTER_END, request=9)
    upstream.complete()
    upstream.next("late")
    upstream.complete()
    upstream.fail(ValueError("late"))
    assert probe.completed
    assert probe.breaches == []
    assert len(probe.signals) == 1
    assert [(one.what, repr(one.error)) for one in dropped] == [
        ("an error came after the end or the cancel", "ValueError('late')")
    ]
    dropped.clear()


def test_signals_after_a_cancel_are_ignored() -> None:
    upstream, probe = broken(PlannedBreach.IGNORE_CANCEL, request=9)
    probe.cancel()
    upstream.next("late")
    upstream.complete()
    assert probe.signals == []


def test_a_second_subscription_is_cancelled() -> None:
    upstream, probe = broken(PlannedBreach.SUBSCRIBE_TWICE, request=1)
    assert [one.cancelled for one in upstream.surplus] == [True]
    upstream.next("a")
    assert probe.elements == ["a"]


class GreetsTwice:
    """A publisher that signals on_subscribe again, with the subscription that it has given already."""

    cancelled = False

    def subscribe(self, subscriber: Any, /) -> None:
        subscriber.on_subscribe(self)
        subscriber.on_subscribe(self)

    def request(self, n: int, /) -> None: ...

    def cancel(self) -> None:
        self.cancelled = True


def test_a_subscription_that_comes_twice_fails_the_stream() -> None:
    publisher = GreetsTwice()
    error = failure_of(Stream.from_publisher(publisher))
    assert repr(error) == "ProtocolError('rule 2.12: the publisher sent its subscription twice')"
    assert publisher.cancelled


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), GeneratorExit(), asyncio.CancelledError()], ids=repr)
def test_an_interruption_that_a_publisher_signals_is_no_error_of_the_stream(error: Any) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream))
    upstream.fail(error)
    assert repr(probe.error) == f"InterruptionError({f'the stream was interrupted by {error!r}'!r})"


class Answers:
    """A publisher that answers with something else than a subscription."""

    def __init__(self, subscription: object) -> None:
        self.subscription = subscription

    def subscribe(self, subscriber: Any, /) -> None:
        subscriber.on_subscribe(self.subscription)


@pytest.mark.parametrize("later", ["", "concat", "merge", "on_error_resume"])
def test_what_is_no_subscription_fails_the_stream(later: str, dropped: list[Dropped]) -> None:
    stream: Stream[int] = Stream.from_publisher(Answers(5))
    over = {
        "": lambda: stream,
        "concat": lambda: Stream.empty().concat(stream),
        "merge": lambda: stream.merge(Stream.never()),
        "on_error_resume": lambda: Stream.error(KeyError()).on_error_resume(lambda _: stream),
    }[later]()
    probe = subscribed(over, 1)
    assert str(probe.error).startswith("rule 3.16: the publisher's request raised AttributeError(")
    assert [one.what for one in dropped] == ["rule 3.15: the publisher's cancel raised"]
    dropped.clear()


def test_a_publisher_that_raises_behind_its_subscription_is_cancelled() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()

    class Raises:
        def subscribe(self, subscriber: Any, /) -> None:
            upstream.subscribe(subscriber)
            raise KeyError("no")

    probe = subscribed(Stream.from_publisher(Raises()), 1)
    assert repr(probe.error) == "KeyError('no')"
    assert upstream.cancelled


@pytest.mark.parametrize("end", ["on_error", "on_complete"])
def test_what_a_publisher_raises_in_subscribe_behind_the_end_goes_to_the_hook(end: str, dropped: list[Dropped]) -> None:
    first, second = KeyError("first"), KeyError("second")

    class Raises:
        def subscribe(self, subscriber: Any, /) -> None:
            getattr(subscriber, end)(*[first][: end == "on_error"])
            raise second

    probe = subscribed(Stream.from_publisher(Raises()), 1)
    assert probe.error is (first if end == "on_error" else None)
    assert [one.error for one in dropped] == [second]
    dropped.clear()


def test_elements_without_a_subscription_fail_a_stream_that_waits_for_them(dropped: list[Dropped]) -> None:
    class Hasty:
        def subscribe(self, subscriber: Any, /) -> None:
            subscriber.on_next(1)

    probe = subscribed(Stream.just(0).concat(Stream.from_publisher(Hasty())), 9)
    assert probe.elements == [0]
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    assert [one.element for one in dropped] == [1]
    dropped.clear()


def test_a_publisher_that_raises_in_subscribe_fails_the_stream() -> None:
    error = failure_of(Stream.from_publisher(ManualPublisher(PlannedBreach.RAISE_IN_SUBSCRIBE)))
    assert repr(error) == "RuntimeError('ManualPublisher: subscribe raises')"


def test_elements_without_a_subscription_fail_the_stream(dropped: list[Dropped]) -> None:
    upstream: ManualPublisher[Any] = ManualPublisher(PlannedBreach.NO_ON_SUBSCRIBE, PlannedBreach.EXCEED_DEMAND)
    probe = subscribed_without_waiting(upstream)
    upstream.next("a")
    assert probe.breaches == []
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    dropped.clear()


def subscribed_without_waiting(upstream: ManualPublisher[Any]) -> Any:
    """Subscribe although there will be no on_subscribe."""
    return subscribed(Stream.from_publisher(upstream))


@pytest.mark.parametrize(
    ("breach", "act", "signal"),
    [
        (PlannedBreach.NONE_ELEMENT, lambda p: p.next(None), "on_next"),
        (PlannedBreach.NONE_ERROR, lambda p: p.fail(None), "on_error"),
    ],
)
def test_none_is_refused_to_the_publishers_face_and_fails_the_stream(
    breach: PlannedBreach, act: Any, signal: str
) -> None:
    upstream, probe = broken(breach, request=1)
    with pytest.raises(TypeError, match=rf"^rule 2\.13: {signal}\(None\): None is not allowed here$"):
        act(upstream)
    assert type(probe.error) is TypeError


def test_a_subscription_of_none_is_refused() -> None:
    upstream: ManualPublisher[Any] = ManualPublisher(PlannedBreach.NONE_SUBSCRIPTION)
    error = failure_of(Stream.from_publisher(upstream))
    assert str(error) == "rule 2.13: on_subscribe(None): None is not allowed here"


def test_elements_that_come_at_once_are_all_delivered() -> None:
    upstream, probe = broken(PlannedBreach.CONCURRENT_SIGNALS, request=9)
    upstream.next(*"abcd")
    assert sorted(probe.elements) == ["a", "b", "c", "d"]
