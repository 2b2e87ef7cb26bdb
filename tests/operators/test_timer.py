"""timer: one number after a while."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock import Stream, VirtualClock
from penstock.testing import record, subscribed


@pytest.mark.parametrize("seconds", [2, 2.0, timedelta(seconds=2)])
def test_emits_zero_when_the_time_has_come(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    assert record(Stream.timer(seconds, clock=clock), clock) == "--(0|)"


def test_nothing_to_wait_for_still_takes_the_clock() -> None:
    clock = VirtualClock()
    probe = subscribed(Stream.timer(0, clock=clock), 1)
    assert probe.elements == []
    clock.advance(0)
    assert probe.elements == [0]
    assert probe.completed


def test_holds_its_element_until_it_is_asked_for() -> None:
    clock = VirtualClock()
    probe = subscribed(Stream.timer(1, clock=clock))
    clock.advance(5)
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [0]
    assert probe.completed


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_refuses_what_is_no_duration(seconds: float) -> None:
    with pytest.raises(ValueError, match=f"^timer: seconds must be >= 0 and finite, got {seconds!r}$"):
        Stream.timer(seconds)


def test_refuses_what_is_no_number_and_no_clock() -> None:
    with pytest.raises(TypeError, match=r"^timer: seconds must be seconds or a timedelta, got '1'$"):
        Stream.timer("1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^timer: clock must be a Clock, got 5$"):
        Stream.timer(1, clock=5)  # type: ignore[arg-type]


def test_a_cancel_takes_the_timer_off_the_clock() -> None:
    clock = VirtualClock()
    probe = subscribed(Stream.timer(1, clock=clock), 1)
    assert clock.pending == 1
    probe.cancel()
    assert clock.pending == 0
    clock.advance(9)
    assert probe.signals == []


def test_a_cancel_inside_on_subscribe_sets_no_timer() -> None:
    clock = VirtualClock()
    probe = subscribed(Stream.timer(1, clock=clock).take(0))
    assert probe.completed
    assert clock.pending == 0


def test_each_subscriber_has_its_own_time() -> None:
    clock = VirtualClock()
    stream = Stream.timer(2, clock=clock)
    first = subscribed(stream, 1)
    clock.advance(1)
    second = subscribed(stream, 1)
    clock.advance(1)
    assert (first.completed, second.completed) == (True, False)
