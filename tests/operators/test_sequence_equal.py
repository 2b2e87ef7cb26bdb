"""sequence_equal: one answer, True if both streams have equal elements in the same order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Dropped, Stream, thread
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, place

NO_STREAM = "sequence_equal: each stream must be a Publisher, got 5; wrap an iterable in Stream.from_iterable"


def test_laws_with_a_thread() -> None:
    check_joint(
        lambda stream: stream.sequence_equal(Stream.just(1, 2).publish_on(thread()), prefetch=1),
        lambda xs: [xs == [1, 2]],
        st.integers(1, 2),
        examples=5,
    )


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)), st.booleans())
def test_agrees_with_lists(one: list[int], other: list[int], signals: bool) -> None:
    stream = Stream.from_iterable(one)
    compared = (stream.do_finally(bool) if signals else stream).sequence_equal(Stream.from_iterable(other), prefetch=2)
    assert list(compared) == [one == other]


@each_form
def test_a_function_says_what_is_equal(form: Form) -> None:
    def same(text: str, other: str) -> bool:
        return text.lower() == other.lower()

    assert form.over(Tracked(["A", "b"])).sequence_equal(Stream.just("a", "B"), same).get() is True
    assert form.over(Tracked(["A", "b"])).sequence_equal(Stream.just("a", "C"), same).get() is False


def both(**options: Any) -> tuple[ManualPublisher[int], ManualPublisher[int], Stream[bool]]:
    one: ManualPublisher[int] = ManualPublisher()
    other: ManualPublisher[int] = ManualPublisher()
    return one, other, Stream.from_publisher(one).sequence_equal(other, **options)


def test_answers_at_the_first_difference_and_cancels_both() -> None:
    one, other, stream = both()
    probe = subscribed(stream, 1)
    one.next(1, 2)
    other.next(1, 3)
    assert probe.elements == [False]
    assert probe.completed
    assert one.cancelled
    assert other.cancelled


@pytest.mark.parametrize("longer", [0, 1])
def test_one_that_is_longer_is_different(longer: int) -> None:
    *sources, stream = both()
    probe = subscribed(stream, 1)
    sources[longer].next(1)
    assert not probe.ended
    sources[1 - longer].complete()
    assert probe.elements == [False]
    assert sources[longer].cancelled


def test_both_may_be_empty() -> None:
    one, other, stream = both()
    probe = subscribed(stream, 1)
    one.complete()
    assert not probe.ended
    other.complete()
    assert probe.elements == [True]


def test_nothing_is_read_before_somebody_asks() -> None:
    one, other, stream = both(prefetch=2)
    probe = subscribed(stream)
    assert (one.requests, other.requests) == ([], [])
    probe.request(5)
    assert (one.requests, other.requests) == ([2], [2])
    one.next(1, 2)
    other.next(1, 3)
    assert probe.elements == [False]


@each_form
def test_the_answer_completes_it_and_closes_both(form: Form) -> None:
    items = [Tracked([1, 2, 3]), Tracked([1, 5, 3])]
    probe = subscribed(form.over(items[0]).sequence_equal(form.over(items[1])), 1)
    assert probe.wait_for_end() == [False]
    assert probe.completed
    for one in items:
        one.wait_until_closed()


def test_a_failure_comes_in_its_place_and_cancels_the_other() -> None:
    one, other, stream = both()
    probe = subscribed(stream, 1)
    one.next(1)
    one.fail(ValueError("lost"))
    assert not probe.ended
    other.next(1)
    assert repr(probe.error) == "ValueError('lost')"
    assert other.cancelled


def test_a_difference_before_a_failure_is_the_answer(dropped: list[Dropped]) -> None:
    failing = Stream.just(1).concat(Stream.error(ValueError("lost")))
    assert failing.sequence_equal(Stream.just(2)).get() is False
    assert [repr(one.error) for one in dropped] == ["ValueError('lost')"]  # it came, and nobody is left to tell
    dropped.clear()
    assert repr(failure_of(failing.sequence_equal(Stream.just(1)))) == "ValueError('lost')"


def test_a_cancel_reaches_both() -> None:
    one, other, stream = both()
    subscribed(stream).cancel()
    assert one.cancelled
    assert other.cancelled


def test_a_cancel_stops_an_endless_comparison() -> None:
    count = 0

    def equal(one: int, other: int) -> bool:
        nonlocal count
        count += 1
        if count == 100:
            probe.cancel()
        return True

    endless = Stream.generate(0, lambda n: (n, n + 1))
    probe = subscribed(endless.sequence_equal(endless, equal))
    probe.request(1)
    assert count == 100
    assert probe.signals == []


def bad(one: int, other: int) -> bool:
    raise LookupError("no answer")


@each_form
def test_a_function_that_raises_fails_the_stream_and_is_named(form: Form) -> None:
    error = failure_of(form.over(Tracked([1])).sequence_equal(form.over(Tracked([1])), bad))
    assert repr(error) == "LookupError('no answer')"
    assert notes(error) == [f"in sequence_equal(bad), {place(bad)}"]


class Odd:
    def __eq__(self, other: object) -> bool:
        raise TypeError("not comparable")

    __hash__ = None  # type: ignore[assignment]


@each_form
def test_elements_that_cannot_be_compared_fail_it(form: Form) -> None:
    error = failure_of(form.over(Tracked([Odd()])).sequence_equal(form.over(Tracked([1]))))
    assert repr(error) == "TypeError('not comparable')"
    assert notes(error) == ["in sequence_equal"]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"other": 5}, TypeError, NO_STREAM),
        ({"other": Stream.empty(), "equal": 5}, TypeError, "sequence_equal: equal must be callable, got 5"),
        ({"other": Stream.empty(), "prefetch": 0}, ValueError, "sequence_equal: prefetch must be >= 1, got 0"),
    ],
)
def test_refuses_wrong_arguments(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).sequence_equal(**arguments)
