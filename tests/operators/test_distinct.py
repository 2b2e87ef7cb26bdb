"""distinct: each element, or one of each key, comes through once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.distinct import Distinct
from penstock.testing import Form, check_stage
from tests.operators.subjects import each_form, failure_of, notes, over, place


def parity(n: int) -> int:
    return n % 2


def model(elements: list[Any], key: Any = lambda x: x, size: int | None = None) -> list[Any]:
    kept: list[Any] = []
    for element in elements:
        held = kept if size is None else kept[-size:]
        if key(element) not in [key(each) for each in held]:
            kept.append(element)
    return kept


def test_laws() -> None:
    check_stage(Distinct(), model, st.integers(0, 4))


def test_laws_with_a_key() -> None:
    check_stage(Distinct(parity), lambda xs: model(xs, parity), st.integers(0, 9))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_laws_with_a_size(size: int) -> None:
    check_stage(Distinct(size=size), lambda xs: model(xs, size=size), st.integers(0, 4))


def test_laws_with_a_key_and_a_size() -> None:
    check_stage(Distinct(str, 2), lambda xs: model(xs, str, 2), st.integers(0, 4))


def test_refuses_a_key_that_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^distinct: key must be callable, got 'name'$"):
        Stream.range(3).distinct("name")  # type: ignore[arg-type]


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^distinct: size must be >= 1, got 0$"):
        Stream.range(3).distinct(size=0)


def test_what_was_forgotten_comes_through_again() -> None:
    assert list(Stream.just(1, 2, 1, 3, 1, 2).distinct(size=2)) == [1, 2, 3, 1, 2]


def test_a_key_may_be_none() -> None:
    assert list(Stream.just(1, 2).distinct(lambda n: None)) == [1]
    assert list(Stream.just(1, 2).distinct(lambda n: None, size=1)) == [1]


def test_the_key_is_called_once_for_each_element() -> None:
    seen: list[int] = []
    assert list(Stream.just(1, 1, 2).distinct(lambda n: seen.append(n) or n)) == [1, 2]
    assert seen == [1, 1, 2]


@each_form
def test_what_cannot_be_hashed_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, [1]).distinct())
    assert type(error) is TypeError
    assert notes(error) == ["in distinct, step 1 of 1"]


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).distinct(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in distinct(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).distinct(leak))
    assert str(error) == f"distinct({name}): the function raised StopIteration; that is an error, not an end"
