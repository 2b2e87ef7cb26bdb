"""timeout: fails when an element that was asked for is late; while nothing is asked for, no time passes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock import Stream, VirtualClock
from penstock.testing import ManualPublisher, StepVerifier, marble, record, subscribed

LATE = r"^timeout: no element within 2\.0 seconds of being asked for$"


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_refuses_what_is_no_duration(seconds: float) -> None:
    with pytest.raises(ValueError, match=f"^timeout: seconds must be > 0 and finite, got {seconds!r}$"):
        Stream.range(3).timeout(seconds)


@pytest.mark.parametrize("seconds", ["1", True, None])
def test_refuses_what_is_no_number(seconds: object) -> None:
    with pytest.raises(TypeError, match=f"^timeout: seconds must be seconds or a timedelta, got {seconds!r}$"):
        Stream.range(3).timeout(seconds)  # type: ignore[arg-type]


def timed(seconds: float | timedelta = 2.0) -> tuple[VirtualClock, ManualPublisher[int], Stream[int]]:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    return clock, upstream, Stream.from_publisher(upstream).timeout(seconds, clock=clock)


@pytest.mark.parametrize("seconds", [2.0, timedelta(seconds=2)])
def test_fails_when_an_element_is_late(seconds: float | timedelta) -> None:
    clock, upstream, stream = timed(seconds)
    StepVerifier(stream, clock=clock, request=1).advance(1.9).expect_nothing().advance(0.1).expect_error(
        TimeoutError, LATE
    ).verify()
    assert upstream.cancelled
    assert clock.pending == 0


def test_each_element_starts_the_time_anew() -> None:
    clock = VirtualClock()
    assert record(marble("a-b-c--d|", clock=clock).timeout(3, clock=clock), clock) == "a-b-c--d|"
    assert record(marble("a-b----c|", clock=clock).timeout(3, clock=clock), clock) == "a-b--#"


def test_no_time_passes_while_nothing_is_asked_for() -> None:
    clock, upstream, stream = timed()
    probe = subscribed(stream)
    clock.advance(100)
    probe.request(1)
    clock.advance(1.5)
    upstream.next(1)
    clock.advance(100)
    assert not probe.ended
    probe.request(1)
    clock.advance(1.9)
    assert not probe.ended
    clock.advance(0.1)
    assert type(probe.error) is TimeoutError


def test_more_demand_does_not_move_the_deadline() -> None:
    clock, _, stream = timed()
    probe = subscribed(stream, 1)
    clock.advance(1.5)
    probe.request(1)
    clock.advance(0.5)
    assert type(probe.error) is TimeoutError


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_leaves_no_timer_behind(end: str) -> None:
    clock, upstream, stream = timed()
    probe = subscribed(stream, 1)
    assert clock.pending == 1
    {"complete": upstream.complete, "fail": lambda: upstream.fail(ValueError()), "cancel": probe.cancel}[end]()
    assert clock.pending == 0


def test_a_late_element_is_ignored() -> None:
    clock, upstream, stream = timed()
    probe = subscribed(stream, 1)
    clock.advance(2)
    upstream.next(1)
    assert probe.elements == []
