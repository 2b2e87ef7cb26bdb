"""element_at: the element at one place alone, and none after it is asked for."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import EmptyError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.element_at import ElementAt
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("index", [0, 2])
def test_laws(index: int) -> None:
    check_stage(ElementAt(index), lambda xs: xs[index : index + 1], st.integers(), examples=15)


def test_laws_with_a_default() -> None:
    check_stage(ElementAt(2, "none"), lambda xs: xs[2:3] or ["none"], st.integers(), examples=15)


def test_refuses_a_negative_index() -> None:
    with pytest.raises(ValueError, match=r"^element_at: index must be >= 0, got -1$"):
        Stream.range(3).element_at(-1)


def test_refuses_none_as_a_default() -> None:
    with pytest.raises(TypeError, match=r"^element_at: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).element_at(1, None)


@pytest.mark.parametrize("demand", [1, 5, UNBOUNDED])
def test_asks_for_what_it_needs_and_then_cancels(demand: int) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).element_at(2), demand)
    assert upstream.requested == 3
    upstream.next(7, 8, 9)
    assert probe.elements == [9]
    assert probe.completed
    assert upstream.cancelled
    assert upstream.requested == 3


def test_takes_no_element_too_many_from_its_source() -> None:
    items = Tracked(range(9))
    assert Stream.from_iterable(items).element_at(3).get() == 3
    assert (items.taken, items.open_runs) == (4, 0)


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).element_at(1))
    probe.request(1)
    assert probe.wait_for_end() == [2]
    assert probe.completed


@each_form
def test_a_place_that_does_not_exist_has_no_element(form: Form) -> None:
    assert list(over(form, 1, 2).element_at(2)) == []
    assert list(over(form, 1, 2).element_at(2, "none")) == ["none"]


def test_to_ask_for_its_value_then_fails() -> None:
    with pytest.raises(EmptyError, match=r"^range \| element_at: the stream completed without an element$"):
        Stream.range(2).element_at(2).get()
