"""sum: one element, all elements added up."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.sum import Sum
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    check_stage(Sum(), lambda xs: [sum(xs)], st.integers())


def test_laws_with_a_start() -> None:
    check_stage(Sum(""), lambda xs: ["".join(xs)], st.text(max_size=3))


def test_refuses_none_as_a_start() -> None:
    with pytest.raises(TypeError, match=r"^sum: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).sum(None)


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).sum())
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).sum())
    probe.request(1)
    assert probe.wait_for_end() == [6]
    assert probe.completed


def test_nothing_sums_up_to_the_start() -> None:
    assert Stream.empty().sum().get() == 0
    assert Stream.empty().sum(timedelta()).get() == timedelta()


def test_adds_whatever_can_be_added() -> None:
    assert Stream.just(Decimal("0.1"), Decimal("0.2")).sum().get() == Decimal("0.3")
    assert Stream.just(timedelta(1), timedelta(2)).sum(timedelta()).get() == timedelta(3)


def test_changes_no_element() -> None:
    first = [1]
    assert Stream.just(first, [2]).sum([]).get() == [1, 2]
    assert first == [1]


@each_form
def test_what_cannot_be_added_fails_the_stream(form: Form) -> None:
    error = failure_of(over(form, "a").sum())
    assert type(error) is TypeError
    assert notes(error) == ["in sum, step 1 of 1"]
