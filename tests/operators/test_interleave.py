"""interleave: elements of several streams in turns, whoever comes first; one that has completed is passed over."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Stream, thread
from penstock.testing import ManualPublisher, Tracked, check_joint, subscribed

NO_STREAM = "interleave: each stream must be a Publisher, got 5; wrap an iterable in Stream.from_iterable"


def in_turns(rows: list[list[Any]], count: int) -> list[Any]:
    iterators = [iter(row) for row in rows]
    found: list[Any] = []
    while iterators:
        for iterator in list(iterators):
            some = list(islice(iterator, count))
            found.extend(some)
            if len(some) < count:
                iterators.remove(iterator)
    return found


@pytest.mark.parametrize("count", [1, 2])
def test_laws(count: int) -> None:
    check_joint(
        lambda stream: stream.interleave(Stream.just("a", "b", "c"), count=count),
        lambda xs: in_turns([xs, ["a", "b", "c"]], count),
        st.integers(),
        examples=15,
    )


def test_laws_with_a_thread_among_the_streams() -> None:
    check_joint(
        lambda stream: stream.interleave(Stream.just("a", "b", "c").publish_on(thread()), prefetch=2),
        lambda xs: in_turns([xs, ["a", "b", "c"]], 1),
        st.integers(),
        examples=5,
    )


@given(st.lists(st.lists(st.integers()), min_size=1, max_size=4), st.integers(1, 3), st.booleans())
def test_agrees_with_its_model(rows: list[list[int]], count: int, signals: bool) -> None:
    streams = [Stream.from_iterable(row) for row in rows]
    if signals:
        streams = [stream.do_finally(bool) for stream in streams]
    assert list(streams[0].interleave(*streams[1:], count=count, prefetch=2)) == in_turns(rows, count)


def two(**options: int) -> tuple[list[ManualPublisher[int]], Stream[int]]:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    return sources, Stream.from_publisher(sources[0]).interleave(sources[1], **options)


def test_waits_for_the_one_whose_turn_it_is() -> None:
    sources, stream = two()
    probe = subscribed(stream, 9)
    sources[1].next(10, 20)
    assert probe.elements == []
    sources[0].next(1)
    assert probe.elements == [1, 10]
    sources[0].complete()
    assert probe.elements == [1, 10, 20]
    sources[1].complete()
    assert probe.completed


def test_holds_no_more_than_prefetch_of_each_stream() -> None:
    sources, stream = two(prefetch=4)
    probe = subscribed(stream)
    assert [one.requests for one in sources] == [[], []]
    probe.request(1)
    assert [one.requests for one in sources] == [[4], [4]]
    sources[0].next(1, 2, 3, 4)
    sources[1].next(5, 6, 7, 8)
    probe.request(2)
    assert probe.elements == [1, 5, 2]
    assert [one.requests for one in sources] == [[4, 2], [4]]


def test_a_failure_comes_in_its_turn_and_cancels_the_others() -> None:
    sources, stream = two()
    probe = subscribed(stream, 1)
    sources[1].next(10)
    sources[1].fail(ValueError("lost"))
    sources[0].next(1, 2, 3)
    assert probe.elements == [1]
    probe.request(9)
    assert probe.elements == [1, 10, 2]
    assert repr(probe.error) == "ValueError('lost')"
    assert sources[0].cancelled


def test_a_cancel_reaches_all() -> None:
    sources, stream = two()
    subscribed(stream).cancel()
    assert [one.cancelled for one in sources] == [True, True]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("error", [None, ValueError("lost")])
def test_all_are_closed_when_iterated(error: Exception | None, count: int) -> None:
    left, right = Tracked([1], error), Tracked([10, 20])
    stream = Stream.from_iterable(left).interleave(Stream.from_iterable(right), count=count)
    probe = subscribed(stream, 9)
    assert probe.error is error
    assert probe.elements == ([1, 10, 20] if error is None else [1, 10][: 3 - count])
    subscribed(stream, 1).cancel()
    assert left.open_runs == right.open_runs == 0


def test_of_one_stream_it_changes_nothing() -> None:
    assert list(Stream.range(3).interleave()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("others", "options", "kind", "message"),
    [
        ((5,), {}, TypeError, NO_STREAM),
        ((), {"count": 0}, ValueError, "interleave: count must be >= 1, got 0"),
        ((), {"prefetch": 0}, ValueError, "interleave: prefetch must be >= 1, got 0"),
    ],
)
def test_refuses_wrong_arguments(
    others: tuple[Any, ...], options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).interleave(*others, **options)
