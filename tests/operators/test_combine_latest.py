"""combine_latest: the latest elements of several streams whenever one of them changes, none of them left out."""

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


def test_laws_with_a_thread_among_the_streams() -> None:
    check_joint(
        lambda stream: Stream.just("x").combine_latest(stream.publish_on(thread()), prefetch=2),
        lambda xs: [("x", x) for x in xs],
        st.integers(),
        examples=5,
    )


def test_streams_that_can_be_iterated_take_turns() -> None:
    check_source(
        lambda: Stream.just(1, 2).combine_latest(Stream.just("a"), Stream.just(0.5, 1.5, 2.5)),
        [(1, "a", 0.5), (2, "a", 0.5), (2, "a", 1.5), (2, "a", 2.5)],
        examples=10,
    )


def test_emits_whenever_one_changes() -> None:
    clock = VirtualClock()
    first, second = marble("a--b---c|", clock=clock), marble("--x--y-|", clock=clock)
    pairs = {"1": ("a", "x"), "2": ("b", "x"), "3": ("b", "y"), "4": ("c", "y")}
    assert record(first.combine_latest(second), clock, values=pairs) == "--12-3-4|"


def test_completes_when_all_have() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).combine_latest(sources[1]), 9)
    sources[0].next(1)
    sources[0].complete()
    assert not probe.ended
    sources[1].next(7, 8)
    assert probe.elements == [(1, 7), (1, 8)]
    sources[1].complete()
    assert probe.completed


@pytest.mark.parametrize("place", [0, 1])
def test_completes_when_one_has_without_an_element(place: int) -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).combine_latest(sources[1]), 9)
    sources[place].complete()
    assert probe.completed
    assert sources[1 - place].cancelled
    assert list(Stream.range(9).combine_latest(Stream.empty())) == []


def test_holds_no_more_than_prefetch_of_each_stream_and_leaves_nothing_out() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).combine_latest(sources[1], prefetch=4))
    assert [one.requests for one in sources] == [[], []]
    probe.request(1)
    assert [one.requests for one in sources] == [[4], [4]]
    sources[1].next(7)
    sources[0].next(4, 5, 6, 7)
    assert probe.elements == [(4, 7)]
    assert [one.requests for one in sources] == [[4], [4]]
    probe.request(9)
    assert probe.elements == [(4, 7), (5, 7), (6, 7), (7, 7)]
    assert [one.requests for one in sources] == [[4, 2, 2], [4]]


def test_elements_that_come_before_all_have_one_are_replaced() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).combine_latest(sources[1], prefetch=4), 2)
    sources[0].next(1, 2, 3, 4)
    sources[1].next(7)
    assert probe.elements == [(4, 7)]
    sources[0].next(5, 6)
    assert probe.elements == [(4, 7), (5, 7)]
    probe.request(9)
    assert probe.elements == [(4, 7), (5, 7), (6, 7)]


def test_one_that_never_ends_does_not_keep_the_others_from_being_heard() -> None:
    endless = Stream.generate(0, lambda n: (n, n + 1)).do_finally(bool)
    pairs = list(endless.combine_latest(Stream.just("a", "b").do_finally(bool), prefetch=4).take(3))
    assert [letter for _, letter in pairs] == ["a", "b", "b"]


def test_a_failure_follows_what_came_before_and_cancels_the_others() -> None:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    probe = subscribed(Stream.from_publisher(sources[0]).combine_latest(sources[1]), 1)
    sources[0].next(1)
    sources[1].next(7, 8)
    sources[1].fail(ValueError("lost"))
    probe.request(9)
    assert probe.elements == [(1, 7), (1, 8)]
    assert repr(probe.error) == "ValueError('lost')"
    assert sources[0].cancelled


def test_a_failure_closes_the_others_when_iterated() -> None:
    good, bad = Tracked([1, 2, 3]), Tracked([7], ValueError("lost"))
    probe = subscribed(Stream.from_iterable(good).combine_latest(Stream.from_iterable(bad)), 9)
    assert probe.elements == [(1, 7), (2, 7)]
    assert repr(probe.error) == "ValueError('lost')"
    assert good.open_runs == bad.open_runs == 0


@pytest.mark.parametrize("signals", [False, True])
def test_a_cancel_reaches_all(signals: bool) -> None:
    items = [Tracked(range(99)), Tracked(range(99))]
    first, second = (Stream.from_iterable(one) for one in items)
    probe = subscribed((first.do_finally(bool) if signals else first).combine_latest(second), 2)
    assert len(probe.elements) == 2
    assert [one.open_runs for one in items] == [1, 1]
    probe.cancel()
    assert [one.open_runs for one in items] == [0, 0]


def test_elements_need_not_be_comparable() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise TypeError("not comparable")

        __hash__ = None  # type: ignore[assignment]

    one = Odd()
    for stream in (Stream.just(one), Stream.just(one).do_finally(bool)):
        ((first, second),) = stream.combine_latest(Stream.just(one))
        assert first is second is one


def test_takes_any_number_of_streams() -> None:
    assert list(Stream.just(1, 2).combine_latest()) == [(1,), (2,)]
    assert list(Stream.just(1).combine_latest(Stream.just(2), Stream.just(3), Stream.just(4))) == [(1, 2, 3, 4)]


def test_a_stream_that_fails_at_once_fails_it() -> None:
    assert repr(failure_of(Stream.never().combine_latest(Stream.error(ValueError("lost"))))) == "ValueError('lost')"


def test_refuses_what_is_no_stream() -> None:
    message = r"^combine_latest: each stream must be a Publisher, got \[1\]; wrap an iterable in Stream.from_iterable$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).combine_latest([1])  # type: ignore[call-overload]


def test_refuses_a_prefetch_below_one() -> None:
    with pytest.raises(ValueError, match=r"^combine_latest: prefetch must be >= 1, got 0$"):
        Stream.range(3).combine_latest(Stream.range(3), prefetch=0)
