"""map: one result for each element, in order."""

from __future__ import annotations

import operator
from functools import partial

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.map import Map
from penstock.testing import Form, check_stage
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws() -> None:
    check_stage(Map(operator.neg), lambda xs: [-x for x in xs], st.integers())


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^map: fn must be callable, got 3$"):
        Stream.range(3).map(3)  # type: ignore[arg-type]


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_fails_the_stream_and_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 1, 0).map(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in map(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_note_counts_the_steps_of_the_whole_chain(form: Form) -> None:
    error = failure_of(over(form, 0).map(str).filter(bool).map(int).map(inverse).map(str))
    assert notes(error) == [f"in map(inverse), step 4 of 5, {place(inverse)}"]


def test_a_note_counts_steps_behind_a_joint_as_well() -> None:
    error = failure_of(Stream.just(0).do_finally(int).map(inverse))
    assert notes(error) == [f"in map(inverse), step 2 of 2, {place(inverse)}"]


def test_a_function_written_in_c_is_named_without_a_place() -> None:
    error = failure_of(Stream.just("x").map(int))
    assert notes(error) == ["in map(int), step 1 of 1"]
    error = failure_of(Stream.just(1).map(str.upper))
    assert notes(error) == ["in map(str.upper), step 1 of 1"]


def test_a_partial_is_named_by_its_function() -> None:
    error = failure_of(Stream.just(1).map(partial(inverse, 0)))
    assert type(error) is TypeError
    assert notes(error) == [f"in map(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> int:
        return next(iter(()))

    error = failure_of(over(form, 1, 2).map(leak))
    name = leak.__qualname__.replace("<locals>.", "")
    assert type(error) is RuntimeError
    assert str(error) == f"map({name}): the function raised StopIteration; that is an error, not an end"
    assert type(error.__cause__) is StopIteration
    assert notes(error) == [f"in map({name}), step 1 of 1, {place(leak)}"]


@each_form
def test_none_is_not_an_element(form: Form) -> None:
    def nothing(n: int) -> None:
        return None

    error = failure_of(over(form, 1).map(nothing))
    name = nothing.__qualname__.replace("<locals>.", "")
    assert type(error) is TypeError
    assert str(error).startswith("rule 2.13: None is not an element; ")
    assert notes(error) == [f"in map({name}), step 1 of 1, {place(nothing)}"]


def test_other_false_values_are_elements() -> None:
    assert list(Stream.just(0, "", False).map(lambda value: [value])) == [[0], [""], [False]]


def test_exits_pass_through() -> None:
    def stop(n: int) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Stream.range(3).map(stop))
