"""take: the first elements, asking upstream for no more than these, and completing with the last of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.take import Take
from penstock.testing import Form, ManualPublisher, Tracked, check_stage, subscribed
from tests.operators.subjects import each_form, over


@pytest.mark.parametrize("count", [0, 1, 4])
def test_laws(count: int) -> None:
    check_stage(Take(count), lambda xs: xs[:count], st.integers(), examples=15)


def test_refuses_a_negative_count() -> None:
    with pytest.raises(ValueError, match=r"^take: count must be >= 0, got -1$"):
        Stream.range(3).take(-1)


@pytest.mark.parametrize("count", ["3", 1.0, True, None])
def test_refuses_what_is_no_count(count: object) -> None:
    with pytest.raises(TypeError, match=f"^take: count must be a whole number, got {count!r}$"):
        Stream.range(3).take(count)  # type: ignore[arg-type]


@each_form
def test_completes_with_its_last_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).take(2))
    probe.request(2)
    assert probe.wait_for_end() == [1, 2]
    assert probe.completed


@pytest.mark.parametrize("demand", [2, 5, UNBOUNDED])
def test_caps_demand(demand: int) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).take(2), demand)
    assert upstream.requested == 2


def test_caps_demand_over_several_requests() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).take(3))
    for element in range(3):
        probe.request(9)
        assert upstream.demand > 0
        upstream.next(element)
    assert upstream.requested == 3
    assert probe.completed


def test_cancels_upstream_once_it_has_had_all() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).take(1), 1)
    upstream.next(7)
    assert upstream.cancelled
    assert probe.elements == [7]
    assert probe.completed


def test_takes_no_element_too_many_from_its_source() -> None:
    items = Tracked(range(9))
    assert list(Stream.from_iterable(items).take(3)) == [0, 1, 2]
    assert items.taken == 3
    assert items.open_runs == 0


@each_form
def test_none_at_all_completes_without_a_request_and_without_touching_the_source(form: Form) -> None:
    items = Tracked([1, 2])
    probe = subscribed(form.over(items).take(0))
    probe.wait_for_end()
    assert probe.completed
    assert items.taken == 0


def test_more_than_there_are_is_all() -> None:
    assert list(Stream.range(3).take(10**30)) == [0, 1, 2]


def test_the_smallest_of_several_counts_wins() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).take(5).map(str).take(2).take(4), 9)
    upstream.next(*range(upstream.demand))
    assert probe.elements == ["0", "1"]
    assert probe.completed
    assert upstream.requested == 2


@pytest.mark.parametrize("behind", [lambda s: s.flat_map(lambda x: [x] * 3), lambda s: s.flat_map(range)])
def test_upstream_is_cancelled_before_what_comes_of_the_last_element(
    behind: Callable[[Stream[int]], Stream[int]],
) -> None:
    upstream = ManualPublisher[int]()
    probe = subscribed(behind(Stream.from_publisher(upstream).take(1)))
    probe.request(1)
    upstream.next(3)
    assert len(probe.elements) == 1
    assert upstream.cancelled
    probe.request(5)
    assert len(probe.wait_for_end()) == 3
