"""buffer: lists of so many elements; the last may be shorter."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.demand import UNBOUNDED
from penstock.operators.buffer import Buffer
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("count", [1, 3])
def test_laws(count: int) -> None:
    check_stage(Buffer(count), lambda xs: [xs[i : i + count] for i in range(0, len(xs), count)], st.integers())


def test_refuses_a_count_below_one() -> None:
    with pytest.raises(ValueError, match=r"^buffer: count must be >= 1, got 0$"):
        Stream.range(3).buffer(0)


def test_refuses_what_is_no_count() -> None:
    with pytest.raises(TypeError, match=r"^buffer: count must be a whole number, got None$"):
        Stream.range(3).buffer(None)  # type: ignore[arg-type]


def test_asks_for_whole_lists() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).buffer(3), 2)
    assert upstream.requested == 6
    upstream.next(*range(6))
    assert probe.elements == [[0, 1, 2], [3, 4, 5]]
    assert upstream.demand < 3


def test_unbounded_demand_stays_unbounded() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).buffer(3), UNBOUNDED)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_a_shorter_last_list_waits_for_demand(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).buffer(2))
    probe.request(1)
    assert probe.wait_for(1) == [[1, 2]]
    assert not probe.ended
    probe.request(1)
    assert probe.wait_for_end() == [[1, 2], [3]]


@each_form
def test_a_failure_drops_the_list_at_hand(form: Form) -> None:
    probe = subscribed(over(form, 1, 1, 0).map(lambda n: 1 // n).buffer(2), UNBOUNDED)
    assert probe.wait_for_end() == [[1, 1]]
    assert type(probe.error) is ZeroDivisionError


def test_each_list_is_a_new_one() -> None:
    first, second = Stream.range(4).buffer(2)
    first.append("mine")
    assert second == [2, 3]
