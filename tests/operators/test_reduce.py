"""reduce: one element, the result of folding all of them."""

from __future__ import annotations

import operator
import re
from functools import reduce

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.reduce import Reduce
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws_from_an_initial_value() -> None:
    check_stage(Reduce(operator.sub, 100), lambda xs: [reduce(operator.sub, xs, 100)], st.integers())


def test_laws_from_the_first_element() -> None:
    check_stage(Reduce(operator.sub), lambda xs: [reduce(operator.sub, xs)] if xs else [], st.integers())


def grown(kept: list[int], n: int) -> list[int]:
    kept.append(n)
    return kept


def test_laws_from_what_is_made_for_each_run() -> None:
    check_stage(Reduce(grown, create=list), lambda xs: [xs], st.integers())


@each_form
def test_what_is_made_for_a_run_is_its_own(form: Form) -> None:
    stream = over(form, 1, 2).reduce(grown, create=list)
    assert [stream.get(), stream.get()] == [[1, 2], [1, 2]]


def test_refuses_to_begin_all_runs_with_what_one_may_change() -> None:
    message = (
        "reduce: initial must be hashable, since all runs begin with it, got []; "
        "give create=, a function that makes one for each run"
    )
    with pytest.raises(TypeError, match=rf"^{re.escape(message)}$"):
        Stream.range(3).reduce(grown, [])


def test_refuses_two_beginnings() -> None:
    with pytest.raises(TypeError, match=r"^reduce: one of initial and create must be given$"):
        Stream.range(3).reduce(max, 0, create=int)  # type: ignore[call-overload]


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^reduce: fn must be callable, got 0$"):
        Stream.range(3).reduce(0)  # type: ignore[call-overload]


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).reduce(operator.add))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).reduce(operator.add))
    probe.request(1)
    assert probe.wait_for_end() == [6]


def test_the_result_waits_for_demand() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).reduce(operator.add, 0))
    upstream.complete()
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [0]
    assert probe.completed


def divide(total: float, n: int) -> float:
    return total / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 1, 0).reduce(divide))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in reduce(divide), step 1 of 1, {place(divide)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(total: int, n: int) -> int:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).reduce(leak))
    assert str(error) == f"reduce({name}): the function raised StopIteration; that is an error, not an end"


@each_form
def test_a_result_of_none_is_not_an_element(form: Form) -> None:
    error = failure_of(over(form, 1, 2).reduce(lambda total, n: None))
    assert str(error).startswith("rule 2.13: None is not an element; ")


def test_a_none_on_the_way_is_the_functions_own_affair() -> None:
    assert Stream.just(1, 2).reduce(lambda total, n: None if n == 1 else [total, n], 0).get() == [None, 2]
