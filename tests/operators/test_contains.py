"""contains: whether one of the elements equals the given one, known as soon as it comes."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.contains import Contains
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    check_stage(Contains(2), lambda xs: [2 in xs], st.integers(0, 4))


def test_refuses_none() -> None:
    with pytest.raises(TypeError, match=r"^contains: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).contains(None)


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).contains(2))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).contains(9))
    probe.request(1)
    assert probe.wait_for_end() == [False]
    assert probe.completed


@each_form
def test_ends_the_run_as_soon_as_it_is_known(form: Form) -> None:
    items = Tracked([1, 2, 3, 4])
    assert form.over(items).contains(2).get() is True
    items.wait_until_closed()
    assert form is Form.SIGNALLED or items.taken == 2


def test_cancels_upstream_as_soon_as_it_is_known() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).contains(2), 1)
    upstream.next(1)
    assert not upstream.cancelled
    upstream.next(2)
    assert upstream.cancelled
    assert probe.elements == [True]
    assert probe.completed


class Awkward:
    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = None  # type: ignore[assignment]


@each_form
def test_elements_that_cannot_be_compared_fail_the_stream(form: Form) -> None:
    error = failure_of(over(form, Awkward()).contains(1))
    assert repr(error) == "ValueError('not comparable')"
    assert notes(error) == ["in contains, step 1 of 1"]


@each_form
def test_equal_is_called_with_an_element_and_what_is_looked_for(form: Form) -> None:
    def longer(element: str, looked_for: int) -> bool:
        return len(element) > looked_for

    assert over(form, "a", "abc").contains(2, equal=longer).get()
    assert not over(form, "a", "ab").contains(2, equal=longer).get()
