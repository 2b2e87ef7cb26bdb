"""default_if_empty: the elements of upstream, or the given ones if there are none."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.default_if_empty import DefaultIfEmpty
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("items", [(7,), (7, 8)])
def test_laws(items: tuple[int, ...]) -> None:
    check_stage(DefaultIfEmpty(items), lambda xs: xs or [*items], st.integers())


def test_refuses_none() -> None:
    with pytest.raises(TypeError, match=r"^default_if_empty: None is not an element \(rule 2\.13\)$"):
        Stream.range(3).default_if_empty(None)


def test_refuses_nothing() -> None:
    with pytest.raises(ValueError, match=r"^default_if_empty: items must be one element or more, got none$"):
        Stream.range(3).default_if_empty()


@each_form
def test_what_a_filter_rejects_was_nothing(form: Form) -> None:
    assert list(over(form, 1, 2).filter(lambda n: n > 5).default_if_empty(7)) == [7]


def test_the_default_waits_for_demand() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).default_if_empty(7))
    upstream.complete()
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [7]
    assert probe.completed


def test_nothing_takes_the_place_of_a_failure() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).default_if_empty(7), 1)
    upstream.fail(ValueError("lost"))
    assert probe.elements == []
    assert repr(probe.error) == "ValueError('lost')"
