"""last: the last element alone."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import EmptyError, Stream
from penstock.operators.last import Last
from penstock.testing import Form, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws() -> None:
    check_stage(Last(), lambda xs: xs[-1:], st.integers())


def large(n: int) -> bool:
    return n > 2


def test_laws_with_a_predicate() -> None:
    check_stage(Last(large), lambda xs: list(filter(large, xs))[-1:], st.integers(0, 4))


def test_laws_with_a_default() -> None:
    check_stage(Last(default=9), lambda xs: xs[-1:] or [9], st.integers())


def test_laws_with_both() -> None:
    check_stage(Last(large, 9), lambda xs: list(filter(large, xs))[-1:] or [9], st.integers(0, 4))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^last: predicate must be callable, got 0$"):
        Stream.range(3).last(0)  # type: ignore[call-overload]


def test_refuses_none_as_a_default() -> None:
    with pytest.raises(TypeError, match=r"^last: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).last(default=None)


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_predicate_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 0).last(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in last(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2).last())
    probe.request(1)
    assert probe.wait_for_end() == [2]


def test_an_empty_stream_has_no_last() -> None:
    assert list(Stream.empty().last()) == []
    with pytest.raises(EmptyError, match=r"^empty \| last: the stream completed without an element$"):
        Stream.empty().last().get()
