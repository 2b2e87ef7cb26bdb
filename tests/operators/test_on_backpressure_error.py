"""on_backpressure_error: an element that nobody has asked for fails the stream."""

from __future__ import annotations

from penstock import OverflowedError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, subscribed
from tests.operators.subjects import each_form, over


@each_form
def test_who_asks_for_everything_gets_everything(form: Form) -> None:
    probe: Probe[int] = Probe(UNBOUNDED)
    over(form, 1, 2, 3).on_backpressure_error().subscribe(probe)
    assert probe.wait_for_end() == [1, 2, 3]


def test_asks_for_everything_and_fails_when_too_much_comes() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_backpressure_error(), 2)
    assert upstream.requests == [UNBOUNDED]
    upstream.next(1, 2)
    assert probe.elements == [1, 2]
    assert not probe.ended
    upstream.next(3)
    assert type(probe.error) is OverflowedError
    assert str(probe.error) == "on_backpressure_error: an element came that was not asked for"
    assert upstream.cancelled


def test_the_end_needs_no_request() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_backpressure_error())
    upstream.complete()
    assert probe.completed


def test_a_cancel_reaches_upstream() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_backpressure_error(), 1)
    probe.cancel()
    assert upstream.cancelled
    assert probe.signals == []
