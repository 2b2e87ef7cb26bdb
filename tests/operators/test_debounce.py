"""debounce: an element once things have been quiet for a while."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock import Stream, VirtualClock
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, marble, record, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_refuses_what_is_no_duration(seconds: float) -> None:
    with pytest.raises(ValueError, match=f"^debounce: seconds must be >= 0 and finite, got {seconds!r}$"):
        Stream.range(3).debounce(seconds)


def test_refuses_what_is_no_number() -> None:
    with pytest.raises(TypeError, match=r"^debounce: seconds must be seconds or a timedelta, got '1'$"):
        Stream.range(3).debounce("1")  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [2.0, timedelta(seconds=2)])
def test_emits_the_latest_when_none_has_followed_it(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    source = marble("ab---c----d|", clock=clock)
    assert record(source.debounce(seconds, clock=clock), clock) == "---b---c---(d|)"


def test_a_failure_follows_the_element_at_hand() -> None:
    clock = VirtualClock()
    assert record(marble("ab-#", clock=clock).debounce(5, clock=clock), clock) == "---(b#)"


def test_asks_for_everything_and_holds_the_latest_alone() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).debounce(1, clock=clock))
    assert upstream.requests == [UNBOUNDED]
    for element in "abc":
        upstream.next(element)
        clock.advance(1)
    assert probe.elements == []
    probe.request(5)
    assert probe.elements == ["c"]
    upstream.complete()
    assert probe.completed


@each_form
def test_a_burst_gives_its_last_element_at_the_end(form: Form) -> None:
    probe: Probe[int] = Probe(UNBOUNDED)
    over(form, 1, 2, 3).debounce(60, clock=VirtualClock()).subscribe(probe)
    assert probe.wait_for_end() == [3]


def test_nothing_gives_nothing() -> None:
    assert list(Stream.empty().debounce(1, clock=VirtualClock())) == []


def test_a_cancel_leaves_no_timer_behind() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).debounce(1, clock=clock), 5)
    upstream.next("a")
    assert clock.pending == 1
    probe.cancel()
    assert clock.pending == 0
    assert upstream.cancelled
    clock.advance(9)
    assert probe.signals == []
