"""dotnet: parties with the names of the .NET text keep every rule, whichever way they are wrapped."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Sink, Stream, flow, inline, processor, subscriber
from penstock.bridges.dotnet import from_dotnet, to_dotnet
from penstock.tck import Limits, render, verify_processor, verify_publisher, verify_subscriber_blackbox
from penstock.testing import Probe, Tracked
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LIMITS = Limits(elements=20, timeout=5.0, quiet=0.02)
LOST = LookupError("lost")
FORMS: dict[str, Callable[[Any], Stream[Any]]] = {
    "sync": Stream.from_iterable,
    "boundary": lambda items: Stream.from_iterable(items).publish_on(inline(), prefetch=4),
}


class Pascal:
    """Be a subscriber with the names of the .NET text, which records what it is told."""

    def __init__(self, request: int = 0) -> None:
        self.request = request
        self.signals: list[object] = []
        self.subscription: Any = None

    def OnSubscribe(self, subscription: Any, /) -> None:
        if subscription is None:
            raise TypeError("none")
        self.subscription = subscription
        if self.request:
            subscription.Request(self.request)

    def OnNext(self, element: Any, /) -> None:
        if element is None:
            raise TypeError("none")
        self.signals.append(element)

    def OnError(self, error: Exception, /) -> None:
        if error is None:
            raise TypeError("none")
        self.signals.append(error)

    def OnComplete(self) -> None:
        self.signals.append("complete")


class Publishing:
    """Be a publisher with the names of the .NET text, driven by hand."""

    def __init__(self) -> None:
        self.record: list[object] = []
        self.subscriber: Any = None

    def Subscribe(self, subscriber: Any, /) -> None:
        if subscriber is None:
            raise TypeError("none")
        self.subscriber = subscriber
        subscriber.OnSubscribe(self)

    def Request(self, n: int, /) -> None:
        self.record.append(n)

    def Cancel(self) -> None:
        self.record.append("cancel")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_what_is_offered_keeps_every_rule_of_the_dotnet_text(
    form: Callable[[Any], Stream[Any]], dropped: list[Any]
) -> None:
    report = verify_publisher(
        lambda count: to_dotnet(form(range(10**6 if count is None else count))),
        failing=lambda *_: to_dotnet(form(Tracked([], LOST))),
        over=lambda items: to_dotnet(form(items)),
        dialect="dotnet",
        limits=LIMITS,
    )
    assert report.ok, render(report)
    dropped.clear()  # what a subscriber of the kit raised


def test_a_subscriber_keeps_every_rule_with_either_names() -> None:
    report = verify_subscriber_blackbox(lambda: from_dotnet(to_dotnet(subscriber(Sink.count()))), limits=LIMITS)
    assert report.ok, render(report)


def test_a_processor_keeps_every_rule_with_either_names(dropped: list[Any]) -> None:
    same = flow(lambda elements: elements.map(lambda element: element))
    report = verify_processor(lambda: from_dotnet(to_dotnet(processor(same))), limits=LIMITS)
    assert report.ok, render(report)
    dropped.clear()


@pytest.mark.parametrize("n", [0, -1])
def test_the_message_of_a_request_below_one_names_the_rule(n: int) -> None:
    taker = Pascal()
    to_dotnet(Stream.range(3)).Subscribe(taker)
    taker.subscription.Request(n)
    (error,) = taker.signals
    assert (type(error), str(error)) == (ValueError, f"rule 3.9: request({n}): a request must be positive")


def test_a_subscriber_of_the_dotnet_text_can_take_a_stream() -> None:
    taker = Pascal(2)
    Stream.range(5).subscribe(from_dotnet(taker))
    assert taker.signals == [0, 1]
    taker.subscription.Request(9)
    assert taker.signals == [0, 1, 2, 3, 4, "complete"]


def test_a_subscriber_is_let_go_of_after_a_cancel() -> None:
    items = Tracked(range(5))
    taker = Pascal(2)
    to_dotnet(Stream.from_iterable(items)).Subscribe(taker)
    subscription = taker.subscription
    subscription.Cancel()
    gone = weakref.ref(taker)
    del taker
    assert (gone(), items.open_runs) == (None, 0)
    subscription.Request(1)
    subscription.Cancel()


def test_none_is_refused_on_both_sides() -> None:
    for call in (
        lambda: to_dotnet(Stream.range(3)).Subscribe(None),  # type: ignore[arg-type]
        lambda: to_dotnet(subscriber(Sink.count())).OnSubscribe(None),  # type: ignore[arg-type]
        lambda: to_dotnet(subscriber(Sink.count())).OnNext(None),
        lambda: from_dotnet(Pascal()).on_subscribe(None),  # type: ignore[arg-type]
        lambda: from_dotnet(Pascal()).on_next(None),
        lambda: from_dotnet(Pascal()).on_error(None),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            call()


class Nothing:
    def __repr__(self) -> str:
        return "nothing"


@pytest.mark.parametrize("party", [None, 3, Nothing(), Pascal, Stream.range(3)])
def test_what_has_other_names_is_refused(party: Any) -> None:
    message = f"from_dotnet: party must have Subscribe, or OnSubscribe, OnNext, OnError and OnComplete, got {party!r}"
    if isinstance(party, Stream):
        message += (
            "; it has the names of Python's own: Stream.from_publisher takes a publisher, and to_dotnet any party"
        )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        from_dotnet(party)


@pytest.mark.parametrize("party", [None, 3, Nothing()])
def test_what_is_no_party_is_refused(party: Any) -> None:
    message = f"to_dotnet: party must be a Publisher, a Subscriber or a Processor, got {party!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        to_dotnet(party)


def test_a_publisher_that_exceeds_its_demand_is_told_of_by_rule_and_alone(dropped: list[Any]) -> None:
    foreign, other = Publishing(), Publishing()
    probe: Probe[int] = Probe(1)
    bystander: Probe[int] = Probe(1)
    from_dotnet(foreign).subscribe(probe)
    from_dotnet(other).subscribe(bystander)
    foreign.subscriber.OnNext(1)
    foreign.subscriber.OnNext(2)
    foreign.subscriber.OnError(LOST)
    assert str(probe.error) == "rule 1.1: the publisher sent an element that was not requested"
    assert (probe.elements, probe.breaches, foreign.record) == ([1], [], [1, "cancel"])
    other.subscriber.OnNext(1)
    other.subscriber.OnComplete()
    assert (bystander.elements, bystander.completed) == ([1], True)
    assert [each.what for each in dropped] == [
        "rule 1.1: the publisher sent an element that was not requested",
        "an error came after the end or the cancel",
    ]
    dropped.clear()


def test_a_second_subscription_is_cancelled_and_none_is_refused() -> None:
    foreign, second = Publishing(), Publishing()
    probe: Probe[int] = Probe(1)
    from_dotnet(foreign).subscribe(probe)
    foreign.subscriber.OnSubscribe(second)
    assert second.record == ["cancel"]
    with pytest.raises(TypeError, match=r"^rule 2.13: on_next\(None\): None is not allowed here$"):
        foreign.subscriber.OnNext(None)
    assert (type(probe.error), foreign.record) == (TypeError, [1, "cancel"])


def test_a_subscription_that_comes_twice_fails_the_stream() -> None:
    foreign = Publishing()
    probe: Probe[int] = Probe(1)
    from_dotnet(foreign).subscribe(probe)
    foreign.subscriber.OnSubscribe(foreign)
    assert repr(probe.error) == "ProtocolError('rule 2.12: the publisher sent its subscription twice')"
    assert foreign.record == [1, "cancel"]


def test_a_publisher_without_a_subscription_worth_the_name_is_told_of_by_rule(dropped: list[Any]) -> None:
    class Empty:
        def Subscribe(self, subscriber: Any, /) -> None:
            subscriber.OnSubscribe(3)

    probe: Probe[int] = Probe(1)
    from_dotnet(Empty()).subscribe(probe)
    assert str(probe.error).startswith("rule 3.16: the publisher's request raised AttributeError(")
    assert [each.what for each in dropped] == ["rule 3.15: the publisher's cancel raised"]
    dropped.clear()


def test_what_is_no_subscriber_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"^rule 1.9: Subscribe\(7\): a subscriber has OnSubscribe, OnNext, OnError, OnComplete$"
    ):
        to_dotnet(Stream.range(3)).Subscribe(7)  # type: ignore[arg-type]
