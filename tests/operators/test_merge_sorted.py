"""merge_sorted: streams that are sorted become one that is, equal elements in the order of their streams."""

from __future__ import annotations

import heapq
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Stream, thread
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, check_source, subscribed
from tests.operators.subjects import each_form, failure_of, notes, place

NO_STREAM = "merge_sorted: each stream must be a Publisher, got 5; wrap an iterable in Stream.from_iterable"


def test_laws() -> None:
    """A running maximum is sorted, whatever upstream brings."""

    def model(xs: list[int]) -> list[int]:
        rising = [max(xs[: place + 1]) for place in range(len(xs))]
        return list(heapq.merge(rising, [2, 5, 5]))

    check_joint(
        lambda stream: stream.scan(max, -100).merge_sorted(Stream.just(2, 5, 5)), model, st.integers(0, 9), examples=15
    )


def test_laws_with_a_thread_among_the_streams() -> None:
    check_joint(
        lambda stream: stream.scan(max, -100).merge_sorted(Stream.just(2, 5).publish_on(thread()), prefetch=2),
        lambda xs: list(heapq.merge([max(xs[: place + 1]) for place in range(len(xs))], [2, 5])),
        st.integers(0, 9),
        examples=3,
    )


@given(st.lists(st.lists(st.integers(0, 5)), min_size=1, max_size=5), st.booleans())
def test_agrees_with_heapq(rows: list[list[int]], signals: bool) -> None:
    numbered = [[(n, f"{place}") for n in sorted(row)] for place, row in enumerate(rows)]
    streams = [Stream.from_iterable(row) for row in numbered]
    if signals:
        streams = [stream.do_finally(bool) for stream in streams]
    merged = streams[0].merge_sorted(*streams[1:], key=lambda pair: pair[0], prefetch=2)
    assert list(merged) == list(heapq.merge(*numbered, key=lambda pair: pair[0]))


def test_takes_any_number_of_streams() -> None:
    assert list(Stream.just(1, 2).merge_sorted()) == [1, 2]
    check_source(
        lambda: Stream.just(1, 9).merge_sorted(Stream.just(3), Stream.empty(), Stream.just(2, 4)), [1, 2, 3, 4, 9]
    )


def two(prefetch: int = 4) -> tuple[list[ManualPublisher[int]], Stream[int]]:
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    return sources, Stream.from_publisher(sources[0]).merge_sorted(sources[1], prefetch=prefetch)


def test_emits_when_every_stream_has_an_element() -> None:
    sources, stream = two()
    probe = subscribed(stream, 9)
    sources[0].next(1, 3)
    assert probe.elements == []
    sources[1].next(2)
    assert probe.elements == [1, 2]
    sources[1].complete()
    assert probe.elements == [1, 2, 3]
    sources[0].next(7)
    assert probe.elements == [1, 2, 3, 7]
    sources[0].complete()
    assert probe.completed


def test_holds_no_more_than_prefetch_of_each_stream() -> None:
    sources, stream = two(prefetch=4)
    probe = subscribed(stream)
    assert [one.requests for one in sources] == [[], []]
    probe.request(1)
    assert [one.requests for one in sources] == [[4], [4]]
    sources[0].next(1, 2, 3, 4)
    sources[1].next(9)
    assert [one.requests for one in sources] == [[4], [4]]
    probe.request(1)
    assert [one.requests for one in sources] == [[4, 2], [4]]
    assert probe.elements == [1, 2]


def test_a_failure_comes_in_its_place_and_cancels_the_others() -> None:
    sources, stream = two()
    probe = subscribed(stream, 1)
    sources[0].next(5)
    sources[1].next(1, 2)
    sources[1].fail(ValueError("lost"))
    assert probe.elements == [1]
    assert not probe.ended
    probe.request(5)
    assert probe.elements == [1, 2]
    assert repr(probe.error) == "ValueError('lost')"
    assert sources[0].cancelled


def test_a_cancel_reaches_all() -> None:
    sources, stream = two()
    subscribed(stream).cancel()
    assert [one.cancelled for one in sources] == [True, True]


@pytest.mark.parametrize("error", [None, ValueError("lost")])
def test_all_are_closed_when_iterated(error: Exception | None) -> None:
    left, right = Tracked([1, 3], error), Tracked(range(2, 5))
    stream = Stream.from_iterable(left).merge_sorted(Stream.from_iterable(right))
    probe = subscribed(stream, 9)
    assert probe.elements == ([1, 2, 3] if error else [1, 2, 3, 3, 4])
    assert probe.error is error
    subscribed(stream, 1).cancel()
    assert left.open_runs == right.open_runs == 0


def bad(n: int) -> int:
    raise LookupError("no key")


@each_form
def test_a_key_that_raises_fails_the_stream_and_is_named(form: Form) -> None:
    items = [Tracked([1, 2]), Tracked([1, 2])]
    error = failure_of(form.over(items[0]).merge_sorted(form.over(items[1]), key=bad))
    assert repr(error) == "LookupError('no key')"
    assert notes(error) == [f"in merge_sorted(bad), {place(bad)}"]
    for one in items:
        one.wait_until_closed()


@each_form
def test_a_stop_that_leaks_from_the_key_is_an_error(form: Form) -> None:
    def leak(n: int) -> int:
        raise StopIteration

    error = failure_of(form.over(Tracked([1])).merge_sorted(form.over(Tracked([1])), key=leak))
    assert type(error) is RuntimeError
    assert str(error).endswith("the function raised StopIteration; that is an error, not an end")


@each_form
def test_elements_that_cannot_be_compared_fail_it(form: Form) -> None:
    error = failure_of(form.over(Tracked([1])).merge_sorted(form.over(Tracked(["a"]))))
    assert type(error) is TypeError
    assert notes(error) == ["in merge_sorted"]


@pytest.mark.parametrize(
    ("others", "options", "kind", "message"),
    [
        ((5,), {}, TypeError, NO_STREAM),
        ((), {"key": 5}, TypeError, "merge_sorted: key must be callable, got 5"),
        ((), {"prefetch": 0}, ValueError, "merge_sorted: prefetch must be >= 1, got 0"),
    ],
)
def test_refuses_wrong_arguments(
    others: tuple[Any, ...], options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).merge_sorted(*others, **options)
