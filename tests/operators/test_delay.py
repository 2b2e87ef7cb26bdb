"""delay: everything a while later, holding no more than it says."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Stream, SystemClock, VirtualClock
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import ManualPublisher, check_joint, marble, record, subscribed


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 256])
def test_laws(size: int) -> None:
    clock = SystemClock()
    check_joint(lambda stream: stream.delay(0, size=size, clock=clock), lambda xs: xs, st.integers(), examples=5)


@pytest.mark.parametrize("seconds", [2, 2.0, timedelta(seconds=2)])
def test_elements_and_the_end_come_later(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    source = marble("ab--(cd)-e|", clock=clock)
    assert record(source.delay(seconds, clock=clock), clock) == "--ab--(cd)-e|"


def test_a_failure_is_as_late_as_the_elements_before_it() -> None:
    clock = VirtualClock()
    assert record(marble("ab#", clock=clock).delay(3, clock=clock), clock) == "---ab#"


def test_the_end_alone_is_late() -> None:
    clock = VirtualClock()
    assert record(marble("-|", clock=clock).delay(2, clock=clock), clock) == "---|"
    assert record(Stream.empty().delay(2, clock=clock), clock) == "--|"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"seconds": -1}, ValueError, "delay: seconds must be >= 0 and finite, got -1"),
        ({"seconds": "1"}, TypeError, "delay: seconds must be seconds or a timedelta, got '1'"),
        ({"seconds": 1, "size": 0}, ValueError, "delay: size must be >= 1, got 0"),
        ({"seconds": 1, "clock": None}, TypeError, "delay: clock must be a Clock, got None"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).delay(**options)  # type: ignore[arg-type]
    assert str(refusal.value) == message


def test_asks_for_what_is_asked_for_below() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay(1, clock=clock))
    assert upstream.requests == []
    probe.request(2)
    assert upstream.requests == [2]
    upstream.next(1, 2)
    clock.advance(1)
    assert probe.elements == [1, 2]
    assert upstream.requests == [2]


def test_no_more_than_its_size_waits_however_much_is_asked_for() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay(1, size=4, clock=clock), UNBOUNDED)
    assert upstream.requests == [4]
    upstream.next(1, 2)
    clock.advance(0.5)
    upstream.next(3, 4)
    assert upstream.requested == 4
    clock.advance(0.5)
    assert probe.elements == [1, 2]
    assert upstream.requested == 6
    clock.advance(0.5)
    assert probe.elements == [1, 2, 3, 4]
    assert upstream.requested == 8


def test_take_caps_what_is_asked_for() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).delay(1, clock=clock).take(3), UNBOUNDED)
    assert upstream.requested == 3


def test_a_cancel_drops_what_waits_and_leaves_no_timer_behind() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay(1, clock=clock), 5)
    upstream.next(1)
    assert clock.pending == 1
    probe.cancel()
    assert clock.pending == 0
    assert upstream.cancelled
    clock.advance(9)
    assert probe.signals == []


def test_a_cancel_while_a_failure_waits_reports_it(dropped: list[Dropped]) -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay(1, clock=clock), 5)
    upstream.fail(ValueError("lost"))
    probe.cancel()
    assert [repr(entry.error) for entry in dropped] == ["ValueError('lost')"]
    assert not upstream.cancelled
    assert clock.pending == 0
    dropped.clear()


def test_one_timer_serves_all_that_wait() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).delay(10, clock=clock), 9)
    for number in range(3):
        upstream.next(number)
        clock.advance(1)
        assert clock.pending == 1
    clock.advance(8)
    assert probe.elements == [0, 1]
    probe.cancel()
