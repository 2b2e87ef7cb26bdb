"""starmap: a function is called with the items of each element as its arguments."""

from __future__ import annotations

import operator

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.starmap import Starmap
from penstock.testing import Form, check_stage
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws() -> None:
    check_stage(Starmap(operator.sub), lambda xs: [a - b for a, b in xs], st.tuples(st.integers(), st.integers()))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^starmap: fn must be callable, got 0$"):
        Stream.range(3).starmap(0)  # type: ignore[call-overload]


@pytest.mark.parametrize("element", [(1, 2), [1, 2], {1: "a", 2: "b"}, range(1, 3)], ids=repr)
def test_an_element_may_be_any_iterable(element: object) -> None:
    assert Stream.just(element).starmap(lambda a, b: [a, b]).get() == [1, 2]


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, (1,), (0,)).starmap(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in starmap(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_an_element_that_cannot_be_unpacked_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, 5).starmap(inverse))
    assert type(error) is TypeError
    assert notes(error) == [f"in starmap(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_an_element_that_does_not_fit_the_function_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, (1, 2)).starmap(inverse))
    assert str(error) == "inverse() takes 1 positional argument but 2 were given"


@each_form
def test_none_is_not_an_element(form: Form) -> None:
    error = failure_of(over(form, (1,)).starmap(lambda n: None))
    assert str(error).startswith("rule 2.13: None is not an element; ")


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, (1,), (2,)).starmap(leak))
    assert str(error) == f"starmap({name}): the function raised StopIteration; that is an error, not an end"
