"""scan: the result so far after each element, without the initial value itself."""

from __future__ import annotations

import operator
import re
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.weaving.segment import no_element
from penstock.operators.scan import Scan
from penstock.testing import Form, check_stage
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws() -> None:
    check_stage(Scan(operator.sub, 100), lambda xs: list(accumulate(xs, operator.sub, initial=100))[1:], st.integers())


def grown(kept: list[int], n: int) -> list[int]:
    kept.append(n)
    return kept


def test_laws_from_what_is_made_for_each_run() -> None:
    check_stage(Scan(lambda kept, n: [*kept, n], create=list), prefixes, st.integers(), pickles=False)


def prefixes(elements: list[int]) -> list[list[int]]:
    return [elements[: stop + 1] for stop in range(len(elements))]


@each_form
def test_what_is_made_for_a_run_is_its_own(form: Form) -> None:
    stream = over(form, 1, 2).scan(grown, create=list)
    assert [list(stream)[-1], list(stream)[-1]] == [[1, 2], [1, 2]]


@pytest.mark.parametrize("initial", [[], {}, set(), bytearray(), [1]], ids=repr)
def test_refuses_to_begin_all_runs_with_what_one_may_change(initial: Any) -> None:
    message = (
        f"scan: initial must be hashable, since all runs begin with it, got {initial!r}; "
        "give create=, a function that makes one for each run"
    )
    with pytest.raises(TypeError, match=rf"^{re.escape(message)}$"):
        Stream.range(3).scan(grown, initial)


@pytest.mark.parametrize("given", [{}, {"initial": 0, "create": int}])
def test_needs_one_beginning(given: Any) -> None:
    with pytest.raises(TypeError, match=r"^scan: one of initial and create must be given$"):
        Stream.range(3).scan(max, **given)


def make() -> int:
    raise LookupError("no beginning")


@each_form
def test_a_beginning_that_cannot_be_made_is_named(form: Form) -> None:
    error = failure_of(over(form, 1).scan(max, create=make))
    assert notes(error) == [f"in scan(make), step 1 of 1, {place(make)}"]


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^scan: fn must be callable, got 0$"):
        Stream.range(3).scan(0, 0)  # type: ignore[arg-type]


def divide(total: float, n: int) -> float:
    return total / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 1, 0).scan(divide, 8.0))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in scan(divide), step 1 of 1, {place(divide)}"]


@each_form
def test_none_is_not_an_element(form: Form) -> None:
    error = failure_of(over(form, 1).scan(lambda total, n: None, 0))
    assert str(error) == str(no_element())


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(total: int, n: int) -> int:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1).scan(leak, 0))
    assert str(error) == f"scan({name}): the function raised StopIteration; that is an error, not an end"


def test_the_initial_value_may_be_none() -> None:
    assert list(Stream.just(1, 2).scan(lambda before, n: [before, n], None)) == [[None, 1], [[None, 1], 2]]
