"""manual_publisher: sends what the test says and breaks only the rules it was told to break."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Barrier

import pytest

from penstock import ProtocolError, Publisher, Stream, thread
from penstock.testing import ManualPublisher, PlannedBreach, Probe, VerificationError, subscribed


def test_is_a_publisher() -> None:
    assert isinstance(ManualPublisher(), Publisher)


def test_sends_by_hand_and_records_what_was_asked() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(upstream, 2)
    probe.request(1)
    assert upstream.requests == [2, 1]
    assert upstream.requested == upstream.demand == 3
    upstream.next("a", "b")
    assert upstream.demand == 1
    upstream.complete()
    assert probe.elements == ["a", "b"]
    assert probe.completed
    assert not upstream.cancelled


def test_fails_by_hand() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(upstream)
    error = ValueError("lost")
    upstream.fail(error)
    assert probe.error is error


def test_sends_to_all_subscribers_that_listen() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    first, second = subscribed(upstream, 5), subscribed(upstream, 5)
    upstream.next("a")
    first.cancel()
    upstream.next("b")
    assert upstream.subscribers == 2
    assert [one.cancelled for one in upstream.subscriptions] == [True, False]
    assert (first.elements, second.elements) == (["a"], ["a", "b"])


def test_stops_in_the_middle_when_cancelled() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe: Probe[str] = Probe(3, on_signal=lambda _: probe.cancel())
    upstream.subscribe(probe)
    upstream.next("a", "b")
    assert probe.elements == ["a"]


def test_answers_an_illegal_request_with_an_error() -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(upstream)
    probe.request(0)
    assert str(probe.error) == "rule 3.9: request(0): a request must be positive"
    with pytest.raises(ProtocolError, match=r"^rule 1\.7: ManualPublisher\.complete\(\): the stream has ended$"):
        upstream.complete()


def end(upstream: ManualPublisher[str]) -> None:
    upstream.complete()
    upstream.complete()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda p: p.next("a", "b"), "rule 1.1: ManualPublisher.next: 2 elements to send, 1 are requested"),
        (end, "rule 1.7: ManualPublisher.complete(): the stream has ended"),
        (lambda p: p.next(None), "rule 2.13: ManualPublisher.next(None): None is not an element"),
        (lambda p: p.fail(None), "rule 2.13: ManualPublisher.fail(None): None is not an error"),
    ],
)
def test_refuses_to_break_a_rule_by_mistake(act: Callable[[ManualPublisher[str]], None], message: str) -> None:
    upstream: ManualPublisher[str] = ManualPublisher()
    subscribed(upstream, 1)
    with pytest.raises(ProtocolError, match=f"^{re.escape(message)}$"):
        act(upstream)


@pytest.mark.parametrize("name", ["requested", "requests", "demand", "cancelled"])
def test_says_that_nobody_has_subscribed(name: str) -> None:
    with pytest.raises(VerificationError, match=f"^manual_publisher: {name}: there is no subscriber$"):
        getattr(ManualPublisher(), name)


def test_cannot_send_to_nobody() -> None:
    with pytest.raises(VerificationError, match=r"^manual_publisher: next\(1\): there is no subscriber$"):
        ManualPublisher[int]().next(1)
    with pytest.raises(TypeError, match=r"^rule 1.9: subscribe\(None\): a subscriber is needed$"):
        ManualPublisher[int]().subscribe(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("breach", "act", "broken"),
    [
        (PlannedBreach.EXCEED_DEMAND, lambda p: p.next("a"), "rule 1.1: 1 elements came, 0 were requested"),
        (PlannedBreach.SIGNAL_AFTER_END, end, "rule 1.7: complete came after the end"),
        (PlannedBreach.NO_ON_SUBSCRIBE, lambda p: p.complete(), "rule 1.9: complete came before on_subscribe"),
        (PlannedBreach.SUBSCRIBE_TWICE, lambda p: None, "rule 2.12: on_subscribe was signalled twice"),
        (PlannedBreach.NONE_ERROR, lambda p: p.fail(None), "rule 2.13: on_error(None)"),
    ],
)
def test_breaks_the_rule_it_is_told_to(
    breach: PlannedBreach, act: Callable[[ManualPublisher[str]], None], broken: str
) -> None:
    upstream: ManualPublisher[str] = ManualPublisher(breach)
    probe = subscribed(upstream)
    act(upstream)
    assert probe.breaches == [broken]
    assert broken.startswith(breach.value.partition(":")[0])


def test_breaks_none_element() -> None:
    upstream: ManualPublisher[str | None] = ManualPublisher(PlannedBreach.NONE_ELEMENT)
    probe = subscribed(upstream, 1)
    upstream.next(None)
    assert probe.breaches == ["rule 2.13: on_next(None)"]


def test_breaks_none_subscription() -> None:
    with pytest.raises(TypeError, match=r"^rule 2.13: on_subscribe\(None\): None is not allowed here$"):
        subscribed(ManualPublisher(PlannedBreach.NONE_SUBSCRIPTION))


def test_breaks_ignore_cancel() -> None:
    upstream: ManualPublisher[str] = ManualPublisher(PlannedBreach.IGNORE_CANCEL)
    probe = subscribed(upstream, 2)
    probe.cancel()
    upstream.next("late")
    assert probe.elements == ["late"]


def test_breaks_concurrent_signals() -> None:
    both = Barrier(2)
    upstream: ManualPublisher[str] = ManualPublisher(PlannedBreach.CONCURRENT_SIGNALS)
    probe: Probe[str] = Probe(2, on_signal=lambda _: both.wait(5))  # each signal waits for the other one
    upstream.subscribe(probe)
    upstream.next("a", "b")
    assert sorted(probe.elements) == ["a", "b"]
    assert [breach[:9] for breach in probe.breaches] == ["rule 1.3:"]


def test_breaks_calls_that_must_not_raise() -> None:
    with pytest.raises(RuntimeError, match=r"^ManualPublisher: subscribe raises$"):
        subscribed(ManualPublisher(PlannedBreach.RAISE_IN_SUBSCRIBE))
    probe = subscribed(ManualPublisher(PlannedBreach.RAISE_IN_REQUEST, PlannedBreach.RAISE_IN_CANCEL))
    with pytest.raises(RuntimeError, match=r"^ManualPublisher: request raises$"):
        probe.request(1)
    with pytest.raises(RuntimeError, match=r"^ManualPublisher: cancel raises$"):
        probe.cancel()


def test_records_the_second_subscription() -> None:
    upstream: ManualPublisher[str] = ManualPublisher(PlannedBreach.SUBSCRIBE_TWICE)
    subscribed(upstream)
    assert [one.cancelled for one in upstream.surplus] == [True]
    assert not upstream.cancelled


def test_every_breach_names_its_rule() -> None:
    assert [breach for breach in PlannedBreach if not re.match(r"rule \d\.\d+: \w", breach.value)] == []


def test_waits_for_another_thread() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).subscribe_on(thread()))
    upstream.wait_for_subscriber()
    probe.request(3)
    upstream.wait_for_request(3)
    upstream.next(1)
    assert probe.wait_for(1) == [1]
    probe.cancel()
    upstream.wait_for_cancel()
    assert upstream.cancelled


def test_says_what_it_waited_for() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    with pytest.raises(VerificationError, match=r"^manual_publisher: expected 1 subscribers within 0 seconds$"):
        upstream.wait_for_subscriber(timeout=0)
    with pytest.raises(
        VerificationError, match=r"^manual_publisher: expected requests for 2 elements within 0 seconds$"
    ):
        upstream.wait_for_request(2, timeout=0)
    with pytest.raises(VerificationError, match=r"^manual_publisher: expected a cancel within 0 seconds$"):
        upstream.wait_for_cancel(timeout=0)
