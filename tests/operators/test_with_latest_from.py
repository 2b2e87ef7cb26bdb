"""with_latest_from: each element together with the latest of other streams, once all of them have one."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Stream, thread
from penstock.testing import (
    ManualPublisher,
    Tracked,
    VirtualClock,
    check_joint,
    check_source,
    marble,
    record,
    subscribed,
)
from tests.operators.subjects import failure_of


def test_laws_behind_a_thread() -> None:
    check_joint(
        lambda stream: stream.publish_on(thread()).with_latest_from(Stream.just("x")),
        lambda xs: [(x, "x") for x in xs],
        st.integers(),
        examples=5,
    )


def test_streams_that_can_be_iterated_take_a_step_before_each_element() -> None:
    check_source(
        lambda: Stream.just(1, 2, 3).with_latest_from(Stream.just("a", "b"), Stream.range(9)),
        [(1, "a", 0), (2, "b", 1), (3, "b", 2)],
        examples=10,
    )


def test_elements_before_the_others_have_one_are_left_out() -> None:
    clock = VirtualClock()
    first, second = marble("a-bc--d|", clock=clock), marble("-x---y---z|", clock=clock)
    pairs = {"1": ("b", "x"), "2": ("c", "x"), "3": ("d", "y")}
    assert record(first.with_latest_from(second), clock, values=pairs) == "--12--3|"


def streams() -> tuple[ManualPublisher[int], ManualPublisher[str], Stream[tuple[int, str]]]:
    main: ManualPublisher[int] = ManualPublisher()
    other: ManualPublisher[str] = ManualPublisher()
    return main, other, Stream.from_publisher(main).with_latest_from(other)


def test_passes_demand_on_and_asks_the_others_for_everything() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 2)
    assert main.requests == [2]
    assert other.requested == 2**63 - 1
    probe.request(3)
    assert main.requests == [2, 3]


def test_what_is_left_out_does_not_count() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 2)
    main.next(1)
    assert main.requests == [2, 1]
    other.next("a", "b")
    main.next(2, 3)
    assert probe.elements == [(2, "b"), (3, "b")]
    assert main.demand == 0


def test_the_end_of_the_others_changes_nothing() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 9)
    other.next("a")
    other.complete()
    main.next(1, 2)
    main.complete()
    assert probe.elements == [(1, "a"), (2, "a")]
    assert probe.completed


def test_completes_when_another_has_without_an_element() -> None:
    main, other, stream = streams()
    probe = subscribed(stream, 9)
    other.complete()
    assert probe.completed
    assert main.cancelled
    assert list(Stream.range(9).with_latest_from(Stream.empty())) == []


def test_an_empty_other_keeps_the_stream_from_being_subscribed() -> None:
    main: ManualPublisher[int] = ManualPublisher()
    assert list(Stream.from_publisher(main).with_latest_from(Stream.empty())) == []
    assert main.subscribers == 0


def test_all_are_closed_when_iterated() -> None:
    main, other = Tracked(range(5)), Tracked("abc")
    stream = Stream.from_iterable(main).with_latest_from(Stream.from_iterable(other))
    assert list(stream.take(2)) == [(0, "a"), (1, "b")]
    assert main.open_runs == other.open_runs == 0


def test_one_that_fails_at_once_fails_it() -> None:
    assert repr(failure_of(Stream.never().with_latest_from(Stream.error(ValueError("lost"))))) == "ValueError('lost')"


def test_without_others_there_are_tuples_of_one() -> None:
    assert list(Stream.just(1, 2).with_latest_from()) == [(1,), (2,)]
