"""window: streams that follow one another, cut by a number, by time or by another stream."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import OverflowedError, PenstockError, Stream, VirtualClock, flow, inline, thread
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, Tracked, check_joint, marble, record, subscribed, timeline
from penstock.testing.signals import Next
from tests.operators.subjects import each_form, over

CLOCK = VirtualClock()


def in_threes(elements: list[int]) -> list[list[int]]:
    return [elements[start : start + 3] for start in range(0, len(elements), 3)]


def listed(windows: Stream[Stream[Any]], concurrency: int = 1) -> Stream[list[Any]]:
    return windows.flat_map(lambda window: window.to_list(), concurrency=concurrency)


@pytest.mark.parametrize("size", [1, 2, 256])
def test_laws(size: int) -> None:
    check_joint(lambda stream: listed(stream.window(3, size=size, clock=CLOCK)), in_threes, st.integers(), examples=10)


def test_laws_of_windows_that_are_left_early() -> None:
    check_joint(
        lambda stream: stream.window(3, size=2, clock=CLOCK).flat_map(lambda window: window.take(2), concurrency=2),
        lambda xs: [x for some in in_threes(xs) for x in some[:2]],
        st.integers(),
        ordered=False,
        examples=10,
    )


def test_laws_with_a_thread() -> None:
    check_joint(
        lambda stream: listed(stream.publish_on(thread(), prefetch=2).window(3, size=4)),
        in_threes,
        st.integers(),
        examples=3,
    )


def test_laws_of_time_that_stands_still() -> None:
    check_joint(
        lambda stream: listed(stream.window(seconds=1, clock=VirtualClock())),
        lambda xs: [xs] if xs else [],
        st.integers(),
        examples=5,
    )
    check_joint(
        lambda stream: listed(stream.window(gap=1, clock=VirtualClock())),
        lambda xs: [xs] if xs else [],
        st.integers(),
        examples=5,
    )
    check_joint(
        lambda stream: listed(stream.window(until=Stream.never(), clock=CLOCK)),
        lambda xs: [xs] if xs else [],
        st.integers(),
        examples=5,
    )


@each_form
def test_windows_of_a_count(form: Form) -> None:
    assert list(listed(over(form, 1, 2, 3, 4, 5).window(2))) == [[1, 2], [3, 4], [5]]


def test_chunks_are_cut_where_a_window_ends() -> None:
    stream = Stream.range(1000).publish_on(inline(), prefetch=64).window(7)
    assert list(listed(stream)) == [list(range(start, min(start + 7, 1000))) for start in range(0, 1000, 7)]


def drawn(windows: Stream[Stream[Any]], clock: VirtualClock) -> list[tuple[float, float, str]]:
    """Return when each window began, when its list was complete, and what was in it."""
    began: list[float] = []

    def begin(window: Stream[Any]) -> Stream[str]:
        began.append(clock.now())
        return window.to_list().map("".join)

    signals = timeline(windows.flat_map(begin, concurrency=9), clock)
    ends = [(at, signal.element) for at, signal in signals if isinstance(signal, Next)]
    return [(start, end, text) for start, (end, text) in zip(began, ends, strict=True)]


@pytest.mark.parametrize("seconds", [3, timedelta(seconds=3)])
def test_windows_of_time_lie_on_a_grid_and_are_never_empty(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    windows = marble("ab--c------d-e|", clock=clock).window(seconds=seconds, clock=clock)
    assert drawn(windows, clock) == [(0, 3, "ab"), (4, 6, "c"), (11, 12, "d"), (13, 14, "e")]
    assert clock.pending == 0


def test_windows_that_last_until_nothing_has_come_for_a_while() -> None:
    clock = VirtualClock()
    windows = marble("ab--c------d-e|", clock=clock).window(gap=timedelta(seconds=3), clock=clock)
    assert drawn(windows, clock) == [(0, 7, "abc"), (11, 14, "de")]
    assert clock.pending == 0


def test_what_is_left_of_a_window_that_was_left_early_is_dropped_until_the_gap() -> None:
    clock = VirtualClock()
    windows = marble("abc---d-e|", clock=clock).window(gap=2, clock=clock)
    assert record(windows.flat_map(lambda window: window.take(1), concurrency=2), clock) == "a-----d--|"
    assert clock.pending == 0


def test_windows_until_another_stream_emits() -> None:
    clock = VirtualClock()
    cuts = marble("--x---xx---x|", clock=clock)
    windows = marble("ab-c-d----e--f|", clock=clock).window(until=cuts, clock=clock)
    assert drawn(windows, clock) == [(0, 2, "ab"), (3, 6, "cd"), (10, 11, "e"), (13, 14, "f")]


def test_a_failure_of_the_other_stream_fails_all() -> None:
    clock = VirtualClock()
    windows = marble("ab-c|", clock=clock).window(until=marble("--#", clock=clock), clock=clock)
    assert record(windows.flat_map(lambda window: window, concurrency=2), clock) == "ab#"
    assert clock.pending == 0


def test_a_failure_of_the_other_stream_at_once() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    stream = Stream.from_publisher(upstream).window(until=Stream.error(ValueError("lost")))
    assert repr(subscribed(stream, 5).error) == "ValueError('lost')"
    assert upstream.cancelled


class Windows:
    """Subscribe to the windows of a publisher driven by hand, and to each window when told to."""

    def __init__(self, request: int = 0, **options: Any) -> None:
        self.clock = VirtualClock()
        self.upstream: ManualPublisher[int] = ManualPublisher()
        stream = Stream.from_publisher(self.upstream).window(clock=self.clock, patience=3, **options)
        self.outer: Probe[Any] = subscribed(stream, request)

    def take(self, number: int, request: int = 0) -> Probe[Any]:
        return subscribed(self.outer.elements[number], request)


def test_nothing_is_asked_for_before_somebody_asks() -> None:
    windows = Windows(count=3, size=4)
    assert windows.upstream.requests == []
    windows.outer.request(1)
    assert windows.upstream.requests == [3]


def test_a_window_comes_with_its_first_element_and_ends_with_its_last() -> None:
    windows = Windows(UNBOUNDED, count=2)
    assert windows.outer.elements == []
    windows.upstream.next(1)
    first = windows.take(0, 5)
    assert first.elements == [1]
    windows.upstream.next(2)
    assert first.elements == [1, 2]
    assert first.completed
    assert len(windows.outer.elements) == 1
    windows.upstream.next(3)
    windows.upstream.complete()
    second = windows.take(1, 5)
    assert second.elements == [3]
    assert second.completed
    assert windows.outer.completed


def test_no_more_than_its_size_is_held_for_all_windows_together() -> None:
    windows = Windows(UNBOUNDED, count=2, size=4)
    windows.upstream.next(1, 2, 3, 4)
    assert windows.upstream.requested == 4
    assert windows.take(0, 2).elements == [1, 2]
    assert windows.upstream.requested == 6


def test_the_rest_of_a_window_that_was_left_is_not_the_beginning_of_another() -> None:
    assert list(Stream.range(9).window(3).flat_map(lambda window: window.take(1), concurrency=1)) == [0, 3, 6]


def test_windows_that_nobody_subscribes_to_fail_with_the_cure() -> None:
    windows = Windows(UNBOUNDED, count=2, size=4)
    windows.upstream.next(1, 2, 3, 4)
    windows.clock.advance(2.9)
    assert not windows.outer.ended
    windows.clock.advance(0.1)
    assert type(windows.outer.error) is OverflowedError
    assert str(windows.outer.error) == (
        "window: 4 elements wait in streams without a subscriber, window 1 among them, and others wait for "
        "elements; subscribe to each as it comes: flat_map(fn, concurrency=n) with n >= the number open at a time, or "
        "say window(..., size=n) with n > 4"
    )
    assert windows.upstream.cancelled
    assert windows.clock.pending == 0


def test_windows_may_be_read_after_the_end_if_they_fit() -> None:
    assert [list(window) for window in list(Stream.range(5).window(2, clock=CLOCK))] == [[0, 1], [2, 3], [4]]


def test_the_window_at_hand_goes_on_when_no_more_are_wanted() -> None:
    items = Tracked(range(100))
    assert list(listed(Stream.from_iterable(items).window(3).take(2))) == [[0, 1, 2], [3, 4, 5]]
    assert items.open_runs == 0
    assert items.taken == 6


@pytest.mark.parametrize("way", [{"count": 5}, {"seconds": 5}, {"until": Stream.never()}])
def test_upstream_is_cancelled_with_the_last_who_could_take_an_element(way: dict[str, Any]) -> None:
    windows = Windows(UNBOUNDED, **way)
    windows.upstream.next(1)
    first = windows.take(0, 5)
    windows.outer.cancel()
    assert not windows.upstream.cancelled
    windows.upstream.next(2)
    assert first.elements == [1, 2]
    first.cancel()
    assert windows.upstream.cancelled
    assert windows.clock.pending == 0


def test_a_cancel_reaches_the_other_stream() -> None:
    cuts: ManualPublisher[int] = ManualPublisher()
    windows = Windows(UNBOUNDED, until=cuts)
    assert cuts.requests == [UNBOUNDED]
    windows.outer.cancel()
    assert windows.upstream.cancelled
    assert cuts.cancelled


def test_the_end_cancels_the_other_stream() -> None:
    cuts: ManualPublisher[int] = ManualPublisher()
    windows = Windows(UNBOUNDED, until=cuts)
    windows.upstream.complete()
    assert windows.outer.completed
    assert cuts.cancelled


def test_a_window_that_nobody_had_subscribed_to_is_gone_with_the_cancel() -> None:
    windows = Windows(UNBOUNDED, count=3)
    windows.upstream.next(1)
    windows.outer.cancel()
    assert windows.upstream.cancelled
    late = windows.take(0, 5)
    assert type(late.error) is PenstockError
    assert str(late.error) == (
        "window: window 1 had no subscriber when all were cancelled; subscribe to each as it comes, as flat_map does"
    )


def test_a_second_subscriber_of_a_window_is_refused() -> None:
    windows = Windows(UNBOUNDED, count=3)
    windows.upstream.next(1)
    assert windows.take(0, 5).elements == [1]
    assert str(windows.take(0, 5).error) == (
        "window: window 1 was taken by an earlier subscriber; put share() behind it for more"
    )


def test_a_failure_of_upstream_is_told_to_all() -> None:
    windows = Windows(UNBOUNDED, count=3)
    windows.upstream.next(1)
    first = windows.take(0, 5)
    windows.upstream.fail(ValueError("lost"))
    assert repr(first.error) == repr(windows.outer.error) == "ValueError('lost')"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {},
            TypeError,
            (
                "window: one of count, seconds, gap and until must be given,"
                " got count=None, seconds=None, gap=None, until=None"
            ),
        ),
        (
            {"count": 1, "seconds": 2},
            TypeError,
            "window: one of count, seconds, gap and until must be given, got count=1, seconds=2, gap=None, until=None",
        ),
        ({"count": 0}, ValueError, "window: count must be >= 1, got 0"),
        ({"count": 1.0}, TypeError, "window: count must be a whole number, got 1.0"),
        ({"seconds": 0}, ValueError, "window: seconds must be > 0 and finite, got 0"),
        ({"gap": 0}, ValueError, "window: gap must be > 0 and finite, got 0"),
        ({"seconds": "1"}, TypeError, "window: seconds must be seconds or a timedelta, got '1'"),
        (
            {"until": 5},
            TypeError,
            "window: each stream must be a Publisher, got 5; wrap an iterable in Stream.from_iterable",
        ),
        ({"count": 1, "size": 0}, ValueError, "window: size must be >= 1, got 0"),
        ({"seconds": 1, "size": 0}, ValueError, "window: size must be >= 1, got 0"),
        ({"until": Stream.never(), "size": 0}, ValueError, "window: size must be >= 1, got 0"),
        ({"count": 1, "patience": -1}, ValueError, "window: patience must be >= 0 and finite, got -1"),
        ({"count": 1, "clock": 5}, TypeError, "window: clock must be a Clock, got 5"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).window(**options)
    assert str(refusal.value) == message


def test_is_part_of_a_flow() -> None:
    cut = flow(lambda stream: listed(stream.window(until=Stream.never(), clock=CLOCK)))
    assert list(Stream.range(3) | cut) == [[0, 1, 2]]
