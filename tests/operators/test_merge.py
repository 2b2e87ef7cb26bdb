"""merge: the elements of all streams as they come; streams that can be iterated take turns."""

from __future__ import annotations

import pytest
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


def test_laws() -> None:
    check_joint(
        lambda stream: stream.merge(stream.map(str)), lambda xs: [*xs, *map(str, xs)], st.integers(), ordered=False
    )


def test_laws_with_a_thread_among_the_streams() -> None:
    check_joint(
        lambda stream: stream.merge(stream.map(str).publish_on(thread()), prefetch=2),
        lambda xs: [*xs, *map(str, xs)],
        st.integers(),
        ordered=False,
        examples=5,
    )


def test_streams_that_can_be_iterated_take_turns() -> None:
    check_source(lambda: Stream.just(1, 2, 3).merge(Stream.just("a"), Stream.just(0.5, 1.5)), [1, "a", 0.5, 2, 1.5, 3])


def test_order_of_arrival_is_kept() -> None:
    clock = VirtualClock()
    first, second = marble("a--d-----g|", clock=clock), marble("-bc--(ef)|", clock=clock)
    assert record(first.merge(second), clock) == "abcd-(ef)---g|"


def test_refuses_what_is_no_stream() -> None:
    message = r"^merge: each stream must be a Publisher, got \[1\]; wrap an iterable in Stream.from_iterable$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).merge([1])  # type: ignore[arg-type]


def test_refuses_a_prefetch_below_one() -> None:
    with pytest.raises(ValueError, match=r"^merge: prefetch must be >= 1, got 0$"):
        Stream.range(3).merge(Stream.range(3), prefetch=0)


def test_merging_again_and_again_stays_one_level_deep() -> None:
    merged = Stream.just(0)
    for number in range(1, 300):
        merged = merged.merge(Stream.just(number))
    assert list(merged) == list(range(300))


def test_merging_with_nothing_changes_nothing() -> None:
    assert list(Stream.range(3).merge()) == [0, 1, 2]


def test_holds_no_more_than_prefetch_of_each_stream() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).merge(sources[1], prefetch=4))
    assert [one.requests for one in sources] == [[], []]
    probe.request(1)
    assert [one.requests for one in sources] == [[4], [4]]
    sources[0].next(1, 2, 3, 4)
    probe.request(1)
    assert [one.requests for one in sources] == [[4, 2], [4]]
    sources[1].next(9)
    probe.request(3)
    assert probe.elements == [1, 2, 3, 4, 9]


def test_completes_when_all_have() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).merge(sources[1]), 9)
    sources[0].complete()
    assert not probe.ended
    sources[1].next(5)
    sources[1].complete()
    assert probe.elements == [5]
    assert probe.completed


def test_the_first_failure_follows_what_came_before_and_cancels_the_others() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).merge(sources[1]), 1)
    sources[0].next(1, 2)
    sources[1].fail(ValueError("lost"))
    assert sources[0].cancelled
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [1, 2]
    assert repr(probe.error) == "ValueError('lost')"


def test_a_stream_that_fails_at_once_keeps_the_others_from_being_subscribed() -> None:
    late: ManualPublisher[int] = ManualPublisher()
    failing = Stream.never().merge(Stream.error(ValueError("lost")), late)
    assert repr(failure_of(failing)) == "ValueError('lost')"
    assert late.subscribers == 0


def test_a_failure_closes_the_others_when_iterated() -> None:
    good, bad = Tracked([1, 2, 3]), Tracked([7], ValueError("lost"))
    probe = subscribed(Stream.from_iterable(good).merge(Stream.from_iterable(bad)), 9)
    assert probe.elements == [1, 7, 2]
    assert repr(probe.error) == "ValueError('lost')"
    assert good.open_runs == bad.open_runs == 0


def test_a_cancel_reaches_all() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).merge(sources[1]), 9)
    probe.cancel()
    assert [one.cancelled for one in sources] == [True, True]


def test_a_cancel_closes_all_when_iterated() -> None:
    sources = [Tracked(range(9)), Tracked(range(9))]
    probe = subscribed(Stream.from_iterable(sources[0]).merge(Stream.from_iterable(sources[1])), 3)
    assert [one.open_runs for one in sources] == [1, 1]
    probe.cancel()
    assert [one.open_runs for one in sources] == [0, 0]
