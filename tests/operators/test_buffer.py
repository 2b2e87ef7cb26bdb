"""buffer: lists of so many elements, side by side, apart or overlapping; those at the end may be shorter."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.buffer import Buffer
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("count", [1, 3])
def test_laws(count: int) -> None:
    check_stage(Buffer(count), lambda xs: [xs[i : i + count] for i in range(0, len(xs), count)], st.integers())


@pytest.mark.parametrize(("count", "step"), [(3, 1), (3, 2), (3, 3), (2, 3), (1, 4), (5, 3)])
def test_laws_with_a_step(count: int, step: int) -> None:
    model = lambda xs: [xs[at : at + count] for at in range(0, len(xs), step)]  # noqa: E731
    check_stage(Buffer(count, step), model, st.integers(), examples=15)


def test_refuses_a_step_below_one() -> None:
    with pytest.raises(ValueError, match=r"^buffer: step must be >= 1, got 0$"):
        Stream.range(3).buffer(2, 0)


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


def test_asks_for_no_more_while_a_list_fills() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).buffer(3), 1)
    for element in range(3):
        assert (upstream.requests, probe.elements) == ([3], [])
        upstream.next(element)
    assert probe.elements == [[0, 1, 2]]
    assert upstream.demand == 0


@pytest.mark.parametrize(("step", "needed"), [(1, 4), (2, 5), (5, 8)])
def test_asks_for_what_two_lists_need(step: int, needed: int) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).buffer(3, step), 2)
    assert upstream.requests == [needed]
    for element in range(needed):
        upstream.next(element)
    assert probe.elements == [[0, 1, 2], [step, step + 1, step + 2]]
    assert upstream.requests == [needed]


@each_form
def test_lists_that_have_begun_wait_for_demand(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3, 4).buffer(3, 1))
    probe.request(3)
    assert probe.wait_for(3) == [[1, 2, 3], [2, 3, 4], [3, 4]]
    assert not probe.ended
    probe.request(1)
    assert probe.wait_for_end()[3:] == [[4]]


def test_overlapping_lists_share_nothing() -> None:
    first, second, *_ = Stream.range(4).buffer(3, 1)
    first.append("mine")
    assert second == [1, 2, 3]


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
