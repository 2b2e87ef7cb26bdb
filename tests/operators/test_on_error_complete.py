"""on_error_complete: completes in place of a failure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.errors import InterruptionError
from penstock.testing import Form, ManualPublisher, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def inverse(n: int) -> float:
    return 6 / n


def model(elements: list[int]) -> list[float]:
    return [inverse(n) for n in elements[: elements.index(0) if 0 in elements else None]]


def test_laws() -> None:
    check_joint(
        lambda stream: stream.map(inverse).on_error_complete(), model, st.integers(0, 3), fails=False, examples=15
    )


@each_form
def test_ends_quietly_after_what_came_before(form: Form) -> None:
    probe = subscribed(over(form, 3, 0, 5).map(inverse).on_error_complete(), 9)
    assert probe.wait_for_end() == [2]
    assert probe.completed


def test_needs_no_demand() -> None:
    assert subscribed(Stream.error(ValueError("lost")).on_error_complete()).completed


@pytest.mark.parametrize("when", [ArithmeticError, (KeyError, ZeroDivisionError), lambda error: "zero" in str(error)])
def test_handles_the_errors_that_are_named(when: Any) -> None:
    assert list(Stream.just(3, 0).map(inverse).on_error_complete(when=when)) == [2]


def test_passes_all_other_errors_on() -> None:
    assert type(failure_of(Stream.just(3, 0).map(inverse).on_error_complete(when=KeyError))) is ZeroDivisionError


def fail(error: Exception) -> bool:
    raise LookupError("no answer")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    first = ValueError("first")
    error = failure_of(Stream.error(first).on_error_complete(when=fail))
    assert repr(error) == "LookupError('no answer')"
    assert error.__cause__ is first
    assert notes(error) == [f"in on_error_complete(fail), {place(fail)}"]


def test_refuses_what_does_not_say_which_errors() -> None:
    message = "on_error_complete: when must be an exception type, a tuple of them or a function of the error, got 5"
    with pytest.raises(TypeError, match=f"^{message}$"):
        Stream.range(3).on_error_complete(when=5)  # type: ignore[arg-type]


def test_an_interruption_is_not_handled() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).on_error_complete())
    upstream.fail(InterruptionError("interrupted"))
    assert type(probe.error) is InterruptionError


def test_one_bad_element_is_skipped_by_handling_it_alone() -> None:
    def parsed(text: str) -> Stream[int]:
        return Stream.just(text).map(int).on_error_complete(when=ValueError)

    assert list(Stream.just("1", "two", "3").concat_map(parsed)) == [1, 3]
    assert sorted(Stream.just("1", "two", "3").flat_map(parsed, concurrency=8)) == [1, 3]
