"""throttle: no more than so many elements in any stretch of time, by asking no faster; none is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Overflow, Stream, SystemClock, VirtualClock
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import ManualPublisher, check_joint, marble, record, subscribed, timeline
from penstock.testing.signals import Next


@pytest.mark.slow
def test_laws_with_waits() -> None:
    clock = SystemClock()
    check_joint(lambda stream: stream.throttle(2, 0.0001, clock=clock), lambda xs: xs, st.integers(), examples=3)


@pytest.mark.parametrize("per", [3, timedelta(seconds=3)])
def test_lets_so_many_pass_and_then_waits(per: float | timedelta) -> None:
    clock = VirtualClock()
    assert record(Stream.range(5).throttle(2, per, clock=clock), clock) == "(01)--(23)--(4|)"


def test_a_second_is_the_time_unless_another_is_given() -> None:
    clock = VirtualClock()
    assert record(Stream.range(3).throttle(1, clock=clock), clock) == "01(2|)"


@settings(max_examples=50, deadline=None)
@given(
    times=st.lists(st.integers(0, 40), max_size=30).map(sorted),
    count=st.integers(1, 4),
    per=st.integers(1, 8),
)
def test_no_stretch_of_time_has_more_than_count_and_none_is_lost(times: list[int], count: int, per: int) -> None:
    clock = VirtualClock()

    def attach(emitter: Any) -> None:
        for place, at in enumerate(times):
            clock.call_later(at, lambda place=place: emitter.emit(place))
        clock.call_later(41, emitter.complete)

    source = Stream.create(attach, overflow=Overflow.BUFFER, size=100)
    signals = timeline(source.throttle(count, per, clock=clock), clock, units=300)
    passed = [(at, signal.element) for at, signal in signals if isinstance(signal, Next)]
    assert [element for _, element in passed] == list(range(len(times)))
    for (early, _), (late, _) in zip(passed, passed[count:], strict=False):
        assert late - early >= per


def test_demand_is_rationed_and_nothing_more_is_asked_for() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).throttle(2, 10, clock=clock), UNBOUNDED)
    assert upstream.requests == [2]
    clock.advance(100)
    assert upstream.requests == [2]
    upstream.next("a")
    clock.advance(4)
    upstream.next("b")
    assert probe.elements == ["a", "b"]
    clock.advance(5)
    assert upstream.requests == [2]
    clock.advance(1)
    assert upstream.requests == [2, 1]
    clock.advance(4)
    assert upstream.requests == [2, 1, 1]


def test_asks_for_no_more_than_is_asked_for_below() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).throttle(5, clock=clock))
    assert upstream.requests == []
    probe.request(2)
    probe.request(1)
    assert upstream.requests == [2, 1]
    upstream.next("a", "b", "c")
    clock.advance(10)
    assert upstream.requests == [2, 1]
    probe.request(9)
    assert upstream.requests == [2, 1, 5]


def test_many_elements_that_come_close_together_share_a_timer() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).throttle(1000, 64, clock=clock), UNBOUNDED)
    for number in range(1000):
        upstream.next(number)
        clock.advance(0.0009)
    assert upstream.requests == [1000]
    clock.advance(64 - 0.9)
    assert upstream.requests == [1000]
    clock.advance(0.9)
    assert upstream.requests == [1000, 1000]


def test_the_end_does_not_wait() -> None:
    clock = VirtualClock()
    assert record(marble("ab#", clock=clock).throttle(2, 10, clock=clock), clock) == "ab#"
    assert clock.pending == 0


def test_a_cancel_leaves_no_timer_behind() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).throttle(1, 10, clock=clock), 5)
    upstream.next("a")
    assert clock.pending == 1
    probe.cancel()
    assert clock.pending == 0
    assert upstream.cancelled


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"count": 0}, ValueError, "throttle: count must be >= 1, got 0"),
        ({"count": 1.5}, TypeError, "throttle: count must be a whole number, got 1.5"),
        ({"count": 1, "per": 0}, ValueError, "throttle: per must be > 0 and finite, got 0"),
        ({"count": 1, "per": "1"}, TypeError, "throttle: per must be seconds or a timedelta, got '1'"),
        ({"count": 1, "clock": "x"}, TypeError, "throttle: clock must be a Clock, got 'x'"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).throttle(**options)
    assert str(refusal.value) == message
