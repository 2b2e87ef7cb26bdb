"""average: one element, the mean of all."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from penstock import EmptyError, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.average import Average
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    check_stage(Average(), lambda xs: [sum(xs) / len(xs)] if xs else [], st.integers(-1000, 1000))


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).average())
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).average())
    probe.request(1)
    assert probe.wait_for_end() == [2.0]
    assert probe.completed


def test_nothing_has_no_mean() -> None:
    assert list(Stream.empty().average()) == []
    with pytest.raises(EmptyError, match=r"^empty \| average: the stream completed without an element$"):
        Stream.empty().average().get()


def test_whatever_can_be_added_and_divided_has_a_mean() -> None:
    assert Stream.just(Fraction(1, 2), Fraction(1, 4)).average().get() == Fraction(3, 8)
    assert Stream.just(timedelta(1), timedelta(3)).average().get() == timedelta(2)


@each_form
def test_what_cannot_be_added_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, 1, "a").average())
    assert type(error) is TypeError
    assert notes(error) == ["in average, step 1 of 1"]


def test_what_cannot_be_divided_fails_the_stream() -> None:
    error = failure_of(Stream.just("a").average())
    assert type(error) is TypeError
    assert notes(error) == ["in average, step 1 of 1"]
