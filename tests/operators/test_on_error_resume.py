"""on_error_resume: another stream takes the place of one that has failed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.testing import Form, ManualPublisher, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def inverse(n: int) -> float:
    return 6 / n


def model(elements: list[int]) -> list[object]:
    if 0 not in elements:
        return [inverse(n) for n in elements]
    return [*map(inverse, elements[: elements.index(0)]), "ZeroDivisionError", "end"]


def test_laws_of_a_stream_that_fails() -> None:
    def make(stream: Stream[int]) -> Stream[object]:
        return stream.map(inverse).on_error_resume(lambda error: Stream.just(type(error).__name__, "end"))

    check_joint(make, model, st.integers(0, 3), fails=False, examples=15)


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^on_error_resume: fn must be callable, got \[\]$"):
        Stream.range(3).on_error_resume([])  # type: ignore[arg-type]


@each_form
@pytest.mark.parametrize("replacement", [[7, 8], Stream.just(7, 8), Stream.just(7, 8).do_finally(int)])
def test_resumes_with_an_iterable_or_a_publisher(form: Form, replacement: object) -> None:
    assert list(over(form, 3, 0, 5).map(inverse).on_error_resume(lambda error: replacement)) == [2, 7, 8]


def test_demand_left_over_moves_on() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(first).on_error_resume(lambda error: second), 3)
    first.next(1)
    first.fail(ValueError("lost"))
    assert second.requests == [2]
    second.next(2, 3)
    probe.request(4)
    assert second.requests == [2, 4]
    assert first.requests == [3]
    second.complete()
    assert probe.elements == [1, 2, 3]
    assert probe.completed


def test_a_failure_without_demand_is_resumed_at_once() -> None:
    second: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.error(ValueError("lost")).on_error_resume(lambda error: second))
    assert second.subscribers == 1
    assert second.requests == []


def test_a_cancel_reaches_the_replacement() -> None:
    second: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.error(ValueError("lost")).on_error_resume(lambda error: second))
    probe.cancel()
    assert second.cancelled


def test_a_failure_of_the_replacement_is_final() -> None:
    error = failure_of(
        Stream.error(ValueError("first")).on_error_resume(lambda error: Stream.error(KeyError("second")))
    )
    assert repr(error) == "KeyError('second')"


def cure(error: Exception) -> list[int]:
    raise LookupError("no cure")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    first = ValueError("first")
    error = failure_of(Stream.error(first).on_error_resume(cure))
    assert repr(error) == "LookupError('no cure')"
    assert error.__cause__ is first
    assert notes(error) == [f"in on_error_resume(cure), {place(cure)}"]


def test_a_function_may_pass_the_error_on() -> None:
    first = ValueError("first")

    def again(error: Exception) -> list[int]:
        raise error

    error = failure_of(Stream.error(first).on_error_resume(again))
    assert error is first
    assert error.__cause__ is None


def test_what_is_no_stream_is_refused() -> None:
    error = failure_of(Stream.error(ValueError("first")).on_error_resume(lambda error: 5))
    assert str(error) == "on_error_resume: the function must return a Publisher or an iterable, got 5"
    assert type(error) is TypeError
    assert repr(error.__cause__) == "ValueError('first')"


@pytest.mark.parametrize("when", [ArithmeticError, (KeyError, ZeroDivisionError), lambda error: "zero" in str(error)])
def test_resumes_after_the_errors_that_are_named(when: Any) -> None:
    assert list(Stream.just(3, 0).map(inverse).on_error_resume(lambda error: [7], when=when)) == [2, 7]


def test_passes_all_other_errors_on() -> None:
    stream = Stream.just(3, 0).map(inverse).on_error_resume(lambda error: [7], when=KeyError)
    assert type(failure_of(stream)) is ZeroDivisionError


def test_several_of_them_choose_by_the_type() -> None:
    def handled(error: Exception) -> list[str]:
        stream = Stream.error(error).on_error_resume(lambda _: ["key"], when=KeyError)
        return list(stream.on_error_resume(lambda _: ["value"], when=ValueError))

    assert handled(KeyError("lost")) == ["key"]
    assert handled(ValueError("lost")) == ["value"]


def test_refuses_what_does_not_say_which_errors() -> None:
    message = "on_error_resume: when must be an exception type, a tuple of them or a function of the error, got 5"
    with pytest.raises(TypeError, match=f"^{message}$"):
        Stream.range(3).on_error_resume(lambda error: [7], when=5)  # type: ignore[arg-type]


def parsed(text: str) -> Stream[object]:
    """Be a chain for one element: what is wrong with it is wrong with this chain only."""
    return Stream.just(text).map(int).on_error_resume(lambda error: [f"bad: {text}"], when=ValueError)


@each_form
def test_one_bad_element_is_skipped_by_handling_it_alone(form: Form) -> None:
    assert list(over(form, "1", "two", "3").flat_map(parsed, concurrency=1)) == [1, "bad: two", 3]
    assert list(over(form, "1", "two", "3").concat_map(parsed)) == [1, "bad: two", 3]


async def fetched(text: str) -> int:
    return int(text)


async def fetched_or_bad(text: str) -> object:
    """Await a chain for one element inside map_async."""
    return await Stream.from_awaitable(lambda: fetched(text)).on_error_resume(lambda error: [f"bad: {text}"]).first()


@each_form
def test_one_bad_element_is_skipped_inside_map_async(form: Form) -> None:
    assert list(over(form, "1", "two", "3").map_async(fetched_or_bad, concurrency=2)) == [1, "bad: two", 3]
