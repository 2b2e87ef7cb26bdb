"""single: the only element, and a failure if there is none or more than one."""

from __future__ import annotations

import pickle

import pytest

from penstock import EmptyError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.single import Single
from penstock.testing import Form, ManualPublisher, Tracked, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_pickles_to_an_equal_value() -> None:
    assert pickle.loads(pickle.dumps(Single())) == Single()
    assert pickle.loads(pickle.dumps(Single(3))) == Single(3)


def test_refuses_none_as_a_default() -> None:
    with pytest.raises(TypeError, match=r"^single: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).single(None)


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1).single())
    probe.request(1)
    assert probe.wait_for_end() == [1]
    assert probe.completed


@each_form
def test_a_second_element_fails_the_stream(form: Form) -> None:
    items = Tracked([1, 2, 3])
    error = failure_of(form.over(items).single())
    assert type(error) is ValueError
    assert str(error) == "single: the stream must have one element, got 1 and then 2"
    assert notes(error) == ["in single, step 1 of 1"]
    items.wait_until_closed()
    assert items.taken == 2


@each_form
def test_none_at_all_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form).single())
    assert type(error) is EmptyError
    assert str(error) == "single: the stream completed without an element"
    assert notes(error) == ["in single, step 1 of 1"]


@each_form
def test_none_at_all_is_the_default_if_there_is_one(form: Form) -> None:
    assert list(over(form).single(7)) == [7]
    assert list(over(form, 1).single(7)) == [1]


@pytest.mark.parametrize("demand", [1, 5, UNBOUNDED])
def test_asks_for_two_elements_and_cancels_when_both_have_come(demand: int) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).single(), demand)
    assert upstream.requested == 2
    upstream.next(1)
    assert probe.signals == []
    upstream.next(2)
    assert upstream.cancelled
    assert type(probe.error) is ValueError
    assert upstream.requested == 2
