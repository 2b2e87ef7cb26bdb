"""pace: micro-batches take about as long as they should, and one that is dear in itself is not made tiny for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.engine.places.clocks import VirtualClock
from penstock.spark.ingest.pace import SMALLEST, Pace


def run(pace: Pace, clock: VirtualClock, took: Callable[[int], float], count: int = 1, rows: int | None = None) -> int:
    """Run micro-batches, full ones unless said otherwise, and return how many rows the next may have."""
    for _ in range(count):
        size = pace.limit if rows is None else rows
        pace.began(size)
        clock.advance(took(size))
        pace.ended()
    return pace.limit


def warm(latency: float = 1.0, start: int = 1000) -> tuple[Pace, VirtualClock]:
    """Return a pace that has its first micro-batch behind it."""
    clock = VirtualClock()
    pace = Pace(latency, start, clock)
    assert run(pace, clock, lambda _: 60.0) == start  # which says nothing
    return pace, clock


def test_the_size_follows_the_time_that_rows_take():
    pace, clock = warm()
    sizes = [run(pace, clock, lambda _, took=took: took) for took in (0.125, 0.4, 0.8, 2.0)]
    assert sizes == [8000, 23_272, 30_907, 15_453]


def test_a_first_micro_batch_that_is_quick_for_all_its_warming_up_makes_larger_ones():
    clock = VirtualClock()
    assert run(Pace(1.0, 1000, clock), clock, lambda _: 0.25) == 4000


def test_one_slow_micro_batch_is_no_reason_for_tiny_ones():
    pace, clock = warm(start=8000)
    assert run(pace, clock, lambda _: 1000.0) == 2000


@pytest.mark.parametrize("start", [200, 10_000, 1_000_000])
@pytest.mark.parametrize("own", [0.0, 0.1, 0.4])
def test_a_micro_batch_comes_near_the_wanted_time(start, own):
    pace, clock = warm(start=start)
    run(pace, clock, lambda rows: own + rows / 20_000, count=30)
    assert 0.6 <= own + pace.limit / 20_000 <= 1.0


@pytest.mark.parametrize("own", [1.0, 5.0])
@pytest.mark.parametrize("start", [200, 10_000, 1_000_000])
def test_what_a_micro_batch_costs_without_rows_is_not_fought_with_fewer_rows(own, start):
    pace, clock = warm(start=start)
    run(pace, clock, lambda rows: own + rows / 20_000, count=30)
    assert own / 2 <= pace.limit / 20_000 <= 1.01 * own  # a third of the time at least goes to rows, at most half


def test_it_finds_back_from_a_micro_batch_that_was_slow_by_itself():
    pace, clock = warm()
    before = run(pace, clock, lambda rows: 1.0 + rows / 20_000, count=30)
    assert run(pace, clock, lambda _: 30.0) < before
    after = run(pace, clock, lambda rows: 1.0 + rows / 20_000, count=12)
    assert before / 2 <= after <= 2 * before


def test_it_is_not_made_smaller_for_ever():
    pace, clock = warm()
    assert run(pace, clock, lambda rows: rows * 1.0, count=20) == SMALLEST


def test_a_small_start_is_kept_where_rows_are_dear():
    pace, clock = warm(start=10)
    assert run(pace, clock, lambda rows: rows * 1.0, count=5) == 10


def test_a_micro_batch_that_was_small_for_want_of_rows_makes_no_larger_ones():
    pace, clock = warm()
    assert run(pace, clock, lambda _: 0.1, count=5, rows=10) == 1000


def test_sizes_that_come_together_again_tell_nothing_new():
    pace, clock = warm(start=5000)
    for size in (1250, 1000, 1200, 1250):
        run(pace, clock, lambda rows: rows / 2000, rows=size)
    assert pace.limit == 5000


def planned(pace: Pace, clock: VirtualClock, before: float, took: Callable[[int], float], count: int = 1) -> int:
    """Run full micro-batches whose rows are read only after a while; return how many rows the next may have."""
    for _ in range(count):
        size = pace.limit
        pace.began(size)
        clock.advance(before)
        pace.reading()
        clock.advance(took(size))
        pace.reading()  # another task of the same micro-batch
        pace.ended()
    return pace.limit


def test_what_goes_by_before_rows_are_read_does_not_count_as_theirs():
    clock = VirtualClock()
    pace = Pace(1.0, 10_000, clock)
    assert planned(pace, clock, 60.0, lambda _: 0.0625) == 160_000  # a cold start, and quick rows
    assert planned(pace, clock, 0.125, lambda rows: rows / 1e6) > 500_000


def test_rows_make_micro_batches_larger_by_so_much_at_a_time():
    clock = VirtualClock()
    assert planned(Pace(1.0, 1000, clock), clock, 0.1, lambda _: 0.0) == 32_000


def test_an_estimate_makes_micro_batches_larger_by_less_at_a_time():
    pace, clock = warm(start=1000)
    assert planned(pace, clock, 0.125, lambda _: 0.25) == 3500
    assert planned(pace, clock, 0.125, lambda _: 0.25) == 8 * 3500  # as if rows cost nothing: the machine may be busy


def test_a_micro_batch_that_was_planned_slowly_once_is_no_reason_for_large_ones_or_tiny_ones():
    pace, clock = warm(start=10_000)
    before = planned(pace, clock, 0.125, lambda rows: 0.05 + rows / 20_000, count=20)
    after = planned(pace, clock, 60.0, lambda rows: 0.05 + rows / 20_000)
    assert before / 2 <= after <= before


@pytest.mark.parametrize("own", [1.0, 5.0])
def test_dear_planning_is_not_fought_with_fewer_rows(own):
    pace, clock = warm(start=10_000)
    planned(pace, clock, own, lambda rows: rows / 20_000, count=30)
    assert own / 2 <= pace.limit / 20_000 <= 1.01 * own


def test_rows_that_are_read_outside_of_a_micro_batch_change_nothing():
    pace, clock = warm(start=1000)
    pace.reading()
    clock.advance(5.0)
    assert run(pace, clock, lambda _: 0.5) == 2000
