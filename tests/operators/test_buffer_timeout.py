"""buffer_timeout: lists of so many elements, or of those that came in a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream, SystemClock, VirtualClock, thread
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.buffer_timeout import BufferTimeout
from penstock.testing import ManualPublisher, Probe, check_joint, marble, subscribed, timeline


def model(count: int) -> Any:
    return lambda xs: [xs[start : start + count] for start in range(0, len(xs), count)]


@pytest.mark.parametrize("count", [1, 3])
def test_laws(count: int) -> None:
    check_joint(
        lambda stream: stream.buffer_timeout(count, 60, clock=VirtualClock()), model(count), st.integers(), examples=10
    )


@pytest.mark.slow
def test_no_element_is_lost_or_moved_however_the_clock_runs() -> None:
    clock = SystemClock()
    check_joint(
        lambda stream: stream.publish_on(thread()).buffer_timeout(3, 0.0001, clock=clock).flatten(),
        lambda xs: xs,
        st.integers(),
        examples=4,
    )


def drawn(diagram: str, count: int, seconds: float | timedelta) -> list[tuple[float, str]]:
    clock = VirtualClock()
    stream = marble(diagram, clock=clock).buffer_timeout(count, seconds, clock=clock)
    return [(at, str(signal)) for at, signal in timeline(stream, clock)]


@pytest.mark.parametrize("seconds", [3, timedelta(seconds=3)])
def test_a_list_is_full_or_its_time_is_up(seconds: float | timedelta) -> None:
    assert drawn("ab--c----(def)g--|", 3, seconds) == [
        (3, "next(['a', 'b'])"),
        (7, "next(['c'])"),
        (9, "next(['d', 'e', 'f'])"),
        (13, "next(['g'])"),
        (13, "complete"),
    ]


def test_the_time_counts_from_the_first_of_a_list() -> None:
    assert drawn("-a-b-c-----|", 9, 5) == [(6, "next(['a', 'b', 'c'])"), (11, "complete")]


def test_what_is_at_hand_comes_with_the_end() -> None:
    assert drawn("ab|", 9, 60) == [(2, "next(['a', 'b'])"), (2, "complete")]
    assert drawn("ab#", 9, 60) == [(2, "next(['a', 'b'])"), (2, "error(MarbleError('#'))")]
    assert drawn("|", 9, 60) == [(0, "complete")]


def lists(count: int = 4, request: int = 0) -> tuple[VirtualClock, ManualPublisher[int], Any]:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    return clock, upstream, subscribed(Stream.from_publisher(upstream).buffer_timeout(count, 2, clock=clock), request)


def test_nothing_is_asked_for_before_a_list_is() -> None:
    _, upstream, probe = lists()
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [4]


def test_a_list_whose_time_is_up_while_nobody_asks_goes_on_to_fill() -> None:
    clock, upstream, probe = lists(request=1)
    upstream.next(1)
    clock.advance(2)
    assert probe.elements == [[1]]
    upstream.next(2)
    clock.advance(2)
    assert probe.elements == [[1]]
    upstream.next(3)
    probe.request(1)
    assert probe.elements == [[1], [2, 3]]


def test_no_more_elements_than_a_list_has_are_held() -> None:
    clock, upstream, probe = lists(request=1)
    upstream.next(1)
    clock.advance(2)
    upstream.next(2, 3, 4)
    clock.advance(2)
    assert upstream.requested == 4
    probe.request(1)
    assert probe.elements == [[1], [2, 3, 4]]
    probe.request(1)
    assert upstream.requested == 8


def test_a_window_is_asked_for_again_and_again_however_much_is_asked_for_below() -> None:
    clock, upstream, probe = lists(request=UNBOUNDED)
    assert upstream.requests == [4]
    upstream.next(1)
    clock.advance(2)
    assert probe.elements == [[1]]
    upstream.next(2, 3, 4)
    assert upstream.requested == 5
    upstream.next(5)
    assert probe.elements == [[1], [2, 3, 4, 5]]
    assert upstream.requested == 9


def test_one_timer_serves_all_lists() -> None:
    clock, upstream, probe = lists(request=UNBOUNDED)
    for number in range(9):
        upstream.next(number)
        assert clock.pending == 1
    assert probe.elements == [[0, 1, 2, 3], [4, 5, 6, 7]]
    clock.advance(1)
    probe.cancel()
    assert clock.pending == 0


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_leaves_no_timer_behind(end: str) -> None:
    clock, upstream, probe = lists(request=5)
    upstream.next(1)
    assert clock.pending == 1
    {"complete": upstream.complete, "fail": lambda: upstream.fail(ValueError()), "cancel": probe.cancel}[end]()
    assert clock.pending == 0
    assert upstream.cancelled == (end == "cancel")
    assert probe.elements == ([] if end == "cancel" else [[1]])


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"count": 0, "seconds": 1}, ValueError, "buffer_timeout: count must be >= 1, got 0"),
        ({"count": "3", "seconds": 1}, TypeError, "buffer_timeout: count must be a whole number, got '3'"),
        ({"count": 1, "seconds": 0}, ValueError, "buffer_timeout: seconds must be > 0 and finite, got 0"),
        ({"count": 1, "seconds": ()}, TypeError, "buffer_timeout: seconds must be seconds or a timedelta, got ()"),
        ({"count": 1, "seconds": 1, "clock": 5}, TypeError, "buffer_timeout: clock must be a Clock, got 5"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).buffer_timeout(**options)
    assert str(refusal.value) == message


def test_a_list_is_not_forgotten_if_the_alarm_was_set_late_for_the_one_before() -> None:
    clock = VirtualClock()
    probe: Probe[Any] = Probe()
    run: Any = BufferTimeout(2, 1.0, clock).open(probe)
    source: ManualPublisher[int] = ManualPublisher()
    source.subscribe(run)
    probe.request(UNBOUNDED)
    set_alarm, emit_late = run.alarm.set, run._set_again

    class Alarm:
        """An alarm that another thread sets first: it has brought the rest of the list, and one of the next."""

        close, call_off = run.alarm.close, run.alarm.call_off

        def set(self, seconds: float, number: int) -> None:
            run.alarm, before = real, run.alarm
            assert before is self
            run.on_next(3)
            run.on_next(4)
            set_alarm(seconds, number)

    def late() -> None:
        """Bring an element behind those that were emitted, and stop before the alarm is set for it."""
        run._set_again = emit_late
        run.on_next(2)
        run.alarm = Alarm()
        emit_late()

    real, run._set_again = run.alarm, late
    run.on_next(1)
    clock.advance(1)
    assert probe.elements == [[1], [2, 3]]
    clock.advance(2)
    assert probe.elements == [[1], [2, 3], [4]]


def test_a_list_whose_time_is_up_in_the_middle_of_an_iteration() -> None:
    clock = VirtualClock()

    def numbers() -> Iterator[int]:
        for number in range(8):
            yield number
            clock.advance(1)

    lists = Stream.from_iterable(numbers()).buffer_timeout(100, 3.5, clock=clock)
    probe = subscribed(lists.map(lambda some: (clock.now(), some)), UNBOUNDED)
    assert probe.elements == [(3.5, [0, 1, 2, 3]), (7.5, [4, 5, 6, 7])]
    assert probe.completed


def test_a_failure_in_the_middle_of_an_iteration_comes_behind_what_was_held() -> None:
    def numbers() -> Iterator[int]:
        yield from range(5)
        raise LookupError("five")

    probe = subscribed(Stream.from_iterable(numbers()).buffer_timeout(3, 60, clock=VirtualClock()), UNBOUNDED)
    assert probe.elements == [[0, 1, 2], [3, 4]]
    assert isinstance(probe.error, LookupError)


def test_a_cancel_in_the_middle_of_an_iteration_is_seen_with_the_next_element() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        if number == 7:
            probe.cancel()
        return number

    probe = Probe[list[int]]()
    Stream.range(100).map(make).buffer_timeout(50, 60, clock=VirtualClock()).subscribe(probe)
    probe.request(1)
    assert made == list(range(8))
    assert probe.elements == []
