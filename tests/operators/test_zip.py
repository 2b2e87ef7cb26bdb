"""zip: tuples of the first elements, the second elements, and so on, until one stream is used up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Sink, Stream, thread
from penstock.testing import ManualPublisher, Tracked, check_joint, check_source, subscribed
from tests.operators.subjects import failure_of


def pairs(elements: list[int]) -> list[tuple[int, str]]:
    return [(element, str(element)) for element in elements]


def test_laws() -> None:
    check_joint(lambda stream: stream.zip(stream.map(str)), pairs, st.integers())


def test_laws_with_a_thread_among_the_streams() -> None:
    check_joint(
        lambda stream: stream.zip(stream.map(str).publish_on(thread()), prefetch=2), pairs, st.integers(), examples=5
    )


def letters(count: int) -> Stream[str]:
    return Stream.range(count).map(str)


@pytest.mark.parametrize(
    "other",
    [
        letters(3),
        Stream.generate(0, lambda n: (n, n + 1)).take(3).map(str),
        letters(2).concat(Stream.just("2")),
        letters(2).end_with("2"),
        Stream.just(3).flat_map(range).map(str),
    ],
    ids=["mapped", "taken", "joined", "added to", "flattened"],
)
@pytest.mark.parametrize("take", [list, lambda s: s.to_list().get(), lambda s: (s | Sink.to_list()).run().wait()])
def test_nothing_is_read_of_one_when_another_knows_its_end(
    other: Stream[str], take: Callable[[Stream[tuple[int, str]]], list[tuple[int, str]]]
) -> None:
    """A source that fails behind the last row, or has nothing more for a long time, is not asked for it."""
    read: list[int] = []

    def numbers() -> Iterator[int]:
        for n in range(9):
            read.append(n)
            yield n

    assert take(Stream.from_iterable(numbers()).zip(other)) == pairs([0, 1, 2])
    assert read == [0, 1, 2]


def test_a_collection_in_a_pipeline_knows_its_end() -> None:
    def numbers() -> Iterator[int]:
        yield from (0, 1)
        raise AssertionError("the other one has come to its end")

    for other in (Stream.range(2), Stream.just(0, 1), Stream.from_iterable([0, 1])):
        assert (Stream.from_iterable(numbers()).zip(other) | Sink.count()).run().wait() == 2


@pytest.mark.parametrize("signals", [False, True])
@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 2), (2, 0), (100, 70)])
def test_ends_with_the_shortest(left: int, right: int, signals: bool) -> None:
    def make() -> Stream[tuple[int, int]]:
        other = Stream.range(right)
        return Stream.range(left).zip(Stream.from_publisher(other) if signals else other)

    check_source(make, list(zip(range(left), range(right), strict=False)), examples=3)


def test_takes_any_number_of_streams() -> None:
    assert list(Stream.just(1).zip()) == [(1,)]
    assert list(Stream.just(1).zip(Stream.just(2), Stream.just(3), Stream.just(4))) == [(1, 2, 3, 4)]


def test_refuses_what_is_no_stream() -> None:
    message = r"^zip: each stream must be a Publisher, got \(1,\); wrap an iterable in Stream.from_iterable$"
    with pytest.raises(TypeError, match=message):
        Stream.range(3).zip((1,))  # type: ignore[call-overload]


def test_refuses_a_prefetch_below_one() -> None:
    with pytest.raises(ValueError, match=r"^zip: prefetch must be >= 1, got -1$"):
        Stream.range(3).zip(Stream.range(3), prefetch=-1)


def both(prefetch: int = 32) -> tuple[ManualPublisher[int], ManualPublisher[str], Stream[tuple[int, str]]]:
    left: ManualPublisher[int] = ManualPublisher()
    right: ManualPublisher[str] = ManualPublisher()
    return left, right, Stream.from_publisher(left).zip(right, prefetch=prefetch)


def test_pairs_by_place_whoever_comes_first() -> None:
    left, right, stream = both()
    probe = subscribed(stream, 9)
    left.next(1, 2)
    assert probe.elements == []
    right.next("a")
    assert probe.elements == [(1, "a")]
    right.next("b", "c")
    left.next(3)
    assert probe.elements == [(1, "a"), (2, "b"), (3, "c")]


def test_holds_no_more_than_prefetch_of_each_stream() -> None:
    left, right, stream = both(prefetch=4)
    probe = subscribed(stream)
    assert (left.requests, right.requests) == ([], [])
    probe.request(1)
    assert (left.requests, right.requests) == ([4], [4])
    left.next(1, 2, 3, 4)
    right.next(*"abcd")
    assert (left.demand, right.demand) == (0, 0)
    probe.request(1)
    assert (left.requests, right.requests) == ([4, 2], [4, 2])


def test_completes_as_soon_as_one_is_used_up_and_cancels_the_others() -> None:
    left, right, stream = both()
    probe = subscribed(stream, 9)
    left.next(1)
    left.complete()
    assert not probe.ended
    right.next("a")
    assert probe.elements == [(1, "a")]
    assert probe.completed
    assert right.cancelled


def test_a_tuple_at_hand_comes_before_the_end() -> None:
    left, right, stream = both()
    probe = subscribed(stream, 1)
    left.next(1, 2)
    right.next("a", "b")
    left.complete()
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [(1, "a"), (2, "b")]
    assert probe.completed


def test_a_failure_cancels_the_others() -> None:
    left, right, stream = both()
    probe = subscribed(stream, 9)
    left.fail(ValueError("lost"))
    assert repr(probe.error) == "ValueError('lost')"
    assert right.cancelled


def test_a_cancel_reaches_all() -> None:
    left, right, stream = both()
    subscribed(stream).cancel()
    assert left.cancelled
    assert right.cancelled


@pytest.mark.parametrize("error", [None, ValueError("lost")])
def test_all_are_closed_when_iterated(error: Exception | None) -> None:
    left, right = Tracked([1, 2], error), Tracked(range(9))
    stream = Stream.from_iterable(left).zip(Stream.from_iterable(right))
    probe = subscribed(stream, 9)
    assert probe.elements == [(1, 0), (2, 1)]
    assert probe.error is error
    subscribed(stream, 1).cancel()
    assert left.open_runs == right.open_runs == 0


def test_a_stream_that_is_over_at_once_keeps_the_others_from_being_subscribed() -> None:
    late: ManualPublisher[int] = ManualPublisher()
    assert list(Stream.never().zip(Stream.empty(), late)) == []
    assert late.subscribers == 0
    assert repr(failure_of(Stream.never().zip(Stream.error(ValueError("lost"))))) == "ValueError('lost')"


@pytest.mark.parametrize("request_", [0, 1, 9])
def test_the_answer_is_the_same_whenever_it_is_asked_for(request_: int, dropped: list[Dropped]) -> None:
    """All streams are subscribed before one is read, also where the first request comes inside of `on_subscribe`."""

    def failing() -> Iterator[int]:
        raise ValueError("not asked for alone")
        yield 0

    def empty() -> Iterator[int]:
        yield from ()

    rows = Stream.defer(lambda: range(3)).zip(Stream.defer(failing), Stream.defer(empty))
    probe = subscribed(rows, request_)
    if not request_:
        probe.request(1)
    assert probe.completed
    assert str(dropped.pop().error) == "not asked for alone"
