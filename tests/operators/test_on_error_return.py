"""on_error_return: a last element, or what a function makes of the error, in place of a failure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.weaving.segment import no_element
from penstock.testing import Form, ManualPublisher, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def inverse(n: int) -> float:
    return 6 / n


def model(elements: list[int]) -> list[object]:
    if 0 not in elements:
        return [inverse(n) for n in elements]
    return [*map(inverse, elements[: elements.index(0)]), "end"]


def test_laws_of_a_stream_that_fails() -> None:
    check_joint(
        lambda stream: stream.map(inverse).on_error_return("end"), model, st.integers(0, 3), fails=False, examples=15
    )


@each_form
def test_a_function_is_called_with_the_error(form: Form) -> None:
    assert list(over(form, 3, 0, 5).map(inverse).on_error_return(fn=lambda error: type(error).__name__)) == [
        2,
        "ZeroDivisionError",
    ]


@pytest.mark.parametrize("when", [ArithmeticError, (KeyError, ZeroDivisionError), lambda error: "zero" in str(error)])
def test_handles_the_errors_that_are_named(when: Any) -> None:
    assert list(Stream.just(3, 0).map(inverse).on_error_return(-1, when=when)) == [2, -1]


@pytest.mark.parametrize("when", [KeyError, (KeyError, ValueError), (), lambda error: "key" in str(error)])
def test_passes_all_other_errors_on(when: Any) -> None:
    error = failure_of(Stream.just(3, 0).map(inverse).on_error_return(-1, when=when))
    assert type(error) is ZeroDivisionError
    assert error.__cause__ is None


def test_the_value_waits_to_be_asked_for() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_error_return(-1), 1)
    upstream.next(1)
    upstream.fail(ValueError("lost"))
    assert probe.elements == [1]
    assert not probe.ended
    probe.request(1)
    assert probe.elements == [1, -1]
    assert probe.completed


def test_a_cancel_before_the_value_is_asked_for_ends_it() -> None:
    probe = subscribed(Stream.error(ValueError("lost")).on_error_return(-1))
    probe.cancel()
    assert probe.signals == []


def fail(error: Exception) -> int:
    raise LookupError("no value")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    first = ValueError("first")
    error = failure_of(Stream.error(first).on_error_return(fn=fail))
    assert repr(error) == "LookupError('no value')"
    assert error.__cause__ is first
    assert notes(error) == [f"in on_error_return(fail), {place(fail)}"]


def test_a_function_that_says_which_errors_are_meant_may_raise_too() -> None:
    first = ValueError("first")
    error = failure_of(Stream.error(first).on_error_return(-1, when=fail))
    assert repr(error) == "LookupError('no value')"
    assert error.__cause__ is first
    assert notes(error) == [f"in on_error_return(fail), {place(fail)}"]


def test_a_function_that_returns_none_is_named() -> None:
    def nothing(error: Exception) -> None:
        return None

    error = failure_of(Stream.error(ValueError("first")).on_error_return(fn=nothing))
    assert repr(error) == repr(no_element())
    assert notes(error) == [f"in on_error_return(test_a_function_that_returns_none_is_named.nothing), {place(nothing)}"]


def test_a_value_that_can_be_called_is_an_element_like_any_other() -> None:
    assert list(Stream.error(ValueError("lost")).on_error_return(len)) == [len]


@pytest.mark.parametrize("options", [{}, {"value": 1, "fn": fail}])
def test_refuses_both_and_neither(options: Any) -> None:
    with pytest.raises(TypeError, match=r"^on_error_return: value or fn must be given, and not both$"):
        Stream.range(3).on_error_return(**options)


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^on_error_return: fn must be callable, got 5$"):
        Stream.range(3).on_error_return(fn=5)  # type: ignore[call-overload]


def test_refuses_none() -> None:
    with pytest.raises(TypeError, match=r"^on_error_return: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).on_error_return(None)


@pytest.mark.parametrize("when", [5, "KeyError", (KeyError, 5), int, BaseException, [KeyError]])
def test_refuses_what_does_not_say_which_errors(when: Any) -> None:
    with pytest.raises(TypeError) as refusal:
        Stream.range(3).on_error_return(1, when=when)
    assert str(refusal.value) == (
        f"on_error_return: when must be an exception type, a tuple of them or a function of the error, got {when!r}"
    )


def test_one_bad_element_is_skipped_by_handling_it_alone() -> None:
    """Each element is a stream of its own, so its failure ends that one only."""

    def parsed(text: str) -> Stream[int]:
        return Stream.just(text).map(int).on_error_return(-1, when=ValueError)

    assert list(Stream.just("1", "two", "3").concat_map(parsed)) == [1, -1, 3]
    assert list(Stream.just("1", "two", "3").flat_map(parsed, concurrency=1)) == [1, -1, 3]
