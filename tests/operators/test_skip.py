"""skip: every element after the first few."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.skip import Skip
from penstock.testing import ManualPublisher, check_stage, subscribed


@pytest.mark.parametrize("count", [0, 2])
def test_laws(count: int) -> None:
    check_stage(Skip(count), lambda xs: xs[count:], st.integers(), examples=15)


def test_refuses_a_negative_count() -> None:
    with pytest.raises(ValueError, match=r"^skip: count must be >= 0, got -2$"):
        Stream.range(3).skip(-2)


def test_refuses_what_is_no_count() -> None:
    with pytest.raises(TypeError, match=r"^skip: count must be a whole number, got '1'$"):
        Stream.range(3).skip("1")  # type: ignore[arg-type]


def test_replaces_what_it_leaves_out_and_asks_for_no_more() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).skip(3), 2)
    for element in range(5):
        upstream.next(element)
    assert probe.elements == [3, 4]
    assert upstream.demand == 0


def test_unbounded_demand_stays_unbounded() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).skip(3), UNBOUNDED)
    assert upstream.requests == [UNBOUNDED]


def test_more_than_there_are_leaves_nothing() -> None:
    assert list(Stream.range(3).skip(9)) == []
