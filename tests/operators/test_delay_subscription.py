"""delay_subscription: the stream is subscribed a while later."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import strategies as st

from penstock import Stream, SystemClock, VirtualClock, flow
from penstock.testing import ManualPublisher, check_joint, marble, record, subscribed


@pytest.mark.slow
def test_laws() -> None:
    clock = SystemClock()
    check_joint(lambda stream: stream.delay_subscription(0, clock=clock), lambda xs: xs, st.integers(), examples=5)


@pytest.mark.parametrize("seconds", [2, timedelta(seconds=2)])
def test_starts_later_and_then_keeps_the_pace(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    assert record(marble("a-b|", clock=clock).delay_subscription(seconds, clock=clock), clock) == "--a-b|"
    assert record(marble("-#", clock=clock).delay_subscription(seconds, clock=clock), clock) == "---#"


def test_nothing_is_subscribed_before_and_what_was_asked_for_is_kept() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay_subscription(1, clock=clock), 2)
    probe.request(3)
    assert upstream.subscribers == 0
    clock.advance(1)
    assert upstream.requests == [5]
    upstream.next(7)
    assert probe.elements == [7]


def test_a_cancel_before_the_time_leaves_the_stream_alone() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay_subscription(1, clock=clock), 2)
    probe.cancel()
    assert clock.pending == 0
    clock.advance(5)
    assert upstream.subscribers == 0
    assert probe.signals == []


def test_a_cancel_after_the_time_reaches_the_stream() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay_subscription(1, clock=clock), 2)
    clock.advance(1)
    probe.cancel()
    assert upstream.cancelled


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"seconds": -1}, ValueError, "delay_subscription: seconds must be >= 0 and finite, got -1"),
        ({"seconds": None}, TypeError, "delay_subscription: seconds must be seconds or a timedelta, got None"),
        ({"seconds": 1, "clock": 1}, TypeError, "delay_subscription: clock must be a Clock, got 1"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).delay_subscription(**options)  # type: ignore[arg-type]
    assert str(refusal.value) == message


def test_is_part_of_a_flow() -> None:
    clock = VirtualClock()
    late = flow(lambda stream: stream.delay_subscription(1, clock=clock))
    assert record(marble("ab|", clock=clock) | late, clock) == "-ab|"
