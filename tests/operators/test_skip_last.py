"""skip_last: every element but the last ones."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.skip_last import SkipLast
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("count", [0, 1, 4])
def test_laws(count: int) -> None:
    check_stage(SkipLast(count), lambda xs: xs[: max(0, len(xs) - count)], st.integers(), examples=15)


def test_refuses_a_negative_count() -> None:
    with pytest.raises(ValueError, match=r"^skip_last: count must be >= 0, got -1$"):
        Stream.range(3).skip_last(-1)


def test_an_element_comes_when_so_many_have_followed() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).skip_last(2), 1)
    upstream.next(1)
    upstream.next(2)
    assert probe.elements == []
    upstream.next(3)
    assert probe.elements == [1]
    assert upstream.demand == 0


@each_form
def test_more_than_there_are_is_nothing(form: Form) -> None:
    assert list(over(form, 1, 2).skip_last(10**30)) == []
