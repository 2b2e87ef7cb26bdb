"""sliding: windows of neighbours that are full."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.sliding import Sliding
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize(("count", "step"), [(1, 1), (3, 1), (3, 2), (3, 3), (2, 4)])
def test_laws(count: int, step: int) -> None:
    def model(elements: list[int]) -> list[tuple[int, ...]]:
        return [tuple(elements[at : at + count]) for at in range(0, len(elements) - count + 1, step)]

    check_stage(Sliding(count, step), model, st.integers(), examples=15)


@pytest.mark.parametrize(("count", "step", "name"), [(0, 1, "count"), (1, 0, "step")])
def test_refuses_what_is_below_one(count: int, step: int, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^sliding: {name} must be >= 1, got 0$"):
        Stream.range(3).sliding(count, step)


@each_form
def test_what_does_not_fill_a_window_is_left_out(form: Form) -> None:
    assert list(over(form, 1, 2).sliding(3)) == []


@pytest.mark.parametrize(("step", "requested"), [(1, 4), (2, 6), (3, 6), (5, 8)])
def test_asks_for_what_two_windows_need(step: int, requested: int) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).sliding(3, step), 2)
    for element in range(9):
        if len(probe.elements) == 2:
            break
        upstream.next(element)
    assert probe.elements == [(0, 1, 2), (step, step + 1, step + 2)]
    assert 3 + step <= upstream.requested <= requested


def test_unbounded_demand_stays_unbounded() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).sliding(3, 2), UNBOUNDED)
    assert upstream.requests == [UNBOUNDED]
