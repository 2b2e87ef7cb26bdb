"""of_type: the elements of one type."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.of_type import OfType
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    elements = st.one_of(st.integers(), st.text(), st.booleans())
    check_stage(OfType(int), lambda xs: [x for x in xs if isinstance(x, int)], elements)


@pytest.mark.parametrize("kind", [5, "int", None, list[int]], ids=repr)
def test_refuses_what_is_no_type(kind: object) -> None:
    with pytest.raises(TypeError) as refusal:
        Stream.range(3).of_type(kind)  # type: ignore[arg-type]
    assert str(refusal.value) == f"of_type: kind must be a type, got {kind!r}"


@each_form
def test_a_subclass_is_of_that_type_too(form: Form) -> None:
    assert list(over(form, 1, True, "a", 2.0).of_type(int)) == [1, True]


def test_several_types_are_given_as_a_union() -> None:
    assert list(Stream.from_iterable([1, "a", 2.0]).of_type(int | str)) == [1, "a"]  # type: ignore[arg-type]


def test_what_is_left_out_is_replaced() -> None:
    upstream: ManualPublisher[object] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).of_type(str), 2)
    upstream.next(1, "a")
    assert upstream.requested == 3
    upstream.next("b")
    assert probe.elements == ["a", "b"]
    assert upstream.demand == 0
