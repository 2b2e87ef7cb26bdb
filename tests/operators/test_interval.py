"""interval: 0, 1, 2, … at a steady pace, with a policy for ticks that nobody asked for."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from penstock import Overflow, OverflowedError, Stream, VirtualClock
from penstock.testing import Probe, record, subscribed


def ticking(overflow: Overflow = Overflow.LATEST, size: int = 2, request: int = 0) -> tuple[VirtualClock, Probe[int]]:
    clock = VirtualClock()
    return clock, subscribed(Stream.interval(1, overflow=overflow, size=size, clock=clock), request)


@pytest.mark.parametrize("seconds", [2, 2.0, timedelta(seconds=2)])
def test_ticks_at_a_steady_pace_the_first_time_after_one_interval(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    assert record(Stream.interval(seconds, clock=clock), clock, units=7) == "--0-1-2-"


def test_does_not_drift() -> None:
    clock, probe = ticking(request=9)
    clock.advance(0.5)
    clock.advance(0.6)
    clock.advance(0.9)
    assert probe.elements == [0, 1]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_refuses_what_is_no_duration(seconds: float) -> None:
    with pytest.raises(ValueError, match=f"^interval: seconds must be > 0 and finite, got {seconds!r}$"):
        Stream.interval(seconds)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"seconds": "1"}, TypeError, "interval: seconds must be seconds or a timedelta, got '1'"),
        ({"seconds": 1, "size": 0}, ValueError, "interval: size must be >= 1, got 0"),
        ({"seconds": 1, "overflow": "drop"}, TypeError, "interval: overflow must be an Overflow, got 'drop'"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        Stream.interval(**options)


def test_latest_keeps_the_last_tick_alone() -> None:
    clock, probe = ticking(Overflow.LATEST)
    clock.advance(5)
    probe.request(9)
    assert probe.elements == [4]
    clock.advance(1)
    assert probe.elements == [4, 5]


def test_drop_keeps_none() -> None:
    clock, probe = ticking(Overflow.DROP)
    clock.advance(5)
    probe.request(9)
    assert probe.elements == []
    clock.advance(1)
    assert probe.elements == [5]


def test_buffer_keeps_the_first() -> None:
    clock, probe = ticking(Overflow.BUFFER, size=2)
    clock.advance(5)
    probe.request(9)
    assert probe.elements == [0, 1]
    clock.advance(1)
    assert probe.elements == [0, 1, 5]


def test_error_fails_the_stream() -> None:
    clock, probe = ticking(Overflow.ERROR, size=2)
    clock.advance(5)
    probe.request(9)
    assert probe.elements == [0, 1]
    assert type(probe.error) is OverflowedError
    assert str(probe.error) == "interval: 2 elements wait and another came; no subscriber asks for them"
    assert clock.pending == 0


def test_a_cancel_takes_the_timer_off_the_clock() -> None:
    clock, probe = ticking(request=9)
    clock.advance(1)
    assert clock.pending == 1
    probe.cancel()
    assert clock.pending == 0
    clock.advance(9)
    assert probe.elements == [0]


def test_a_cancel_inside_a_tick_stops_it() -> None:
    clock = VirtualClock()
    assert record(Stream.interval(1, clock=clock).take(2), clock) == "-0(1|)"
    assert clock.pending == 0


def test_each_subscriber_has_its_own_start() -> None:
    clock = VirtualClock()
    stream = Stream.interval(1, clock=clock)
    first = subscribed(stream, 9)
    clock.advance(1.5)
    second = subscribed(stream, 9)
    clock.advance(1)
    assert (first.elements, second.elements) == ([0, 1], [0])
