"""end_with: the elements of upstream, then the given ones."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.end_with import EndWith
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("items", [(), (7,), (7, 8, 9)])
def test_laws(items: tuple[int, ...]) -> None:
    check_stage(EndWith(items), lambda xs: [*xs, *items], st.integers(), examples=15)


def test_refuses_none() -> None:
    with pytest.raises(TypeError, match=r"^end_with: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).end_with(None)


@each_form
def test_completes_with_its_last_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1).end_with(2, 3))
    probe.request(2)
    assert probe.wait_for(2) == [1, 2]
    assert not probe.ended
    probe.request(1)
    assert probe.wait_for_end() == [1, 2, 3]


def test_nothing_follows_a_failure() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).end_with(9), 5)
    upstream.next(1)
    upstream.fail(ValueError("lost"))
    assert probe.elements == [1]
    assert repr(probe.error) == "ValueError('lost')"


@each_form
def test_follows_what_a_take_lets_through(form: Form) -> None:
    assert list(over(form, 1, 2, 3).take(2).end_with(9)) == [1, 2, 9]
    assert list(over(form, 1, 2, 3).end_with(9).take(2)) == [1, 2]
