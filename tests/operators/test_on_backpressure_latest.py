"""on_backpressure_latest: the latest of what nobody has asked for is held."""

from __future__ import annotations

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, subscribed
from tests.operators.subjects import each_form, over


@each_form
def test_who_asks_for_everything_gets_everything(form: Form) -> None:
    probe: Probe[int] = Probe(UNBOUNDED)
    over(form, 1, 2, 3).on_backpressure_latest().subscribe(probe)
    assert probe.wait_for_end() == [1, 2, 3]


def test_asks_for_everything_and_holds_the_latest() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_backpressure_latest())
    assert upstream.requests == [UNBOUNDED]
    upstream.next(1, 2, 3)
    probe.request(2)
    assert probe.elements == [3]
    upstream.next(4, 5, 6)
    assert probe.elements == [3, 4]
    upstream.complete()
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [3, 4, 6]
    assert probe.completed


def test_a_failure_follows_the_one_that_is_held() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_backpressure_latest())
    upstream.next(1, 2)
    upstream.fail(ValueError("lost"))
    assert not probe.ended
    probe.request(5)
    assert probe.elements == [2]
    assert repr(probe.error) == "ValueError('lost')"


def test_a_cancel_drops_the_one_that_is_held() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_backpressure_latest())
    upstream.next(1)
    probe.cancel()
    assert upstream.cancelled
    assert probe.signals == []
