"""drop_repeats: a run of equal elements comes through once."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.drop_repeats import DropRepeats
from penstock.testing import Form, check_stage
from tests.operators.subjects import each_form, failure_of, notes, over, place


def parity(n: int) -> int:
    return n % 2


def no_key(n: int) -> None:
    return None


def test_laws() -> None:
    check_stage(DropRepeats(), lambda xs: [run for run, _ in groupby(xs)], st.integers(0, 2))


def test_laws_with_a_key() -> None:
    model = lambda xs: [next(run) for _, run in groupby(xs, parity)]  # noqa: E731
    check_stage(DropRepeats(parity), model, st.integers(0, 4))


def test_refuses_a_key_that_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^drop_repeats: key must be callable, got 'name'$"):
        Stream.range(3).drop_repeats("name")  # type: ignore[arg-type]


def test_a_key_may_be_none() -> None:
    assert list(Stream.just(1, 2, 3).drop_repeats(no_key)) == [1]


def test_the_key_is_called_once_for_each_element() -> None:
    seen: list[int] = []
    assert list(Stream.just(1, 1, 2).drop_repeats(lambda n: seen.append(n) or n)) == [1, 2]
    assert seen == [1, 1, 2]


@each_form
def test_a_key_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, "a").drop_repeats(parity))
    assert type(error) is TypeError
    assert notes(error) == [f"in drop_repeats(parity), step 1 of 1, {place(parity)}"]


class Awkward:
    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = None  # type: ignore[assignment]


def test_elements_that_cannot_be_compared_fail_the_stream() -> None:
    error = failure_of(Stream.just(Awkward(), Awkward()).drop_repeats())
    assert repr(error) == "ValueError('not comparable')"
    assert notes(error) == ["in drop_repeats, step 1 of 1"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> int:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).drop_repeats(leak))
    assert str(error) == f"drop_repeats({name}): the function raised StopIteration; that is an error, not an end"
