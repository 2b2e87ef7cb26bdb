"""cast: every element as it is, and a failure at the first of another type."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.cast import Cast
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    check_stage(Cast(int), lambda xs: xs, st.integers())


@pytest.mark.parametrize("kind", [5, "int", None, list[int]], ids=repr)
def test_refuses_what_is_no_type(kind: object) -> None:
    with pytest.raises(TypeError) as refusal:
        Stream.range(3).cast(kind)  # type: ignore[arg-type]
    assert str(refusal.value) == f"cast: kind must be a type, got {kind!r}"


class Order:
    def __repr__(self) -> str:
        return "Order()"


@each_form
def test_an_element_of_another_type_fails_the_stream_and_is_named(form: Form) -> None:
    error = failure_of(over(form, Order(), "a").cast(Order))
    assert type(error) is TypeError
    assert str(error) == "cast: each element must be of type Order, got 'a' of type str"
    assert notes(error) == ["in cast(Order), step 1 of 1"]


def test_a_union_is_named_too() -> None:
    error = failure_of(Stream.just(1, "a", 2.5).cast(int | str))
    assert str(error) == "cast: each element must be of type int | str, got 2.5 of type float"


def test_cancels_upstream_when_it_fails() -> None:
    upstream: ManualPublisher[object] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).cast(int), 2)
    upstream.next(1, "a")
    assert probe.elements == [1]
    assert type(probe.error) is TypeError
    assert upstream.cancelled
