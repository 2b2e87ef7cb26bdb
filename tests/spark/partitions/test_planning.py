"""Planning: only rows that are there are planned, each part at its pace, and none holds up the others."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.spark.partitions.planning import LAST_LOOK, PartSettings, Planning
from penstock.spark.partitions.positions import Offset, PartError, key_of, part_of

A, B = key_of("a"), key_of("b")


class Time:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def planning(
    parts: Any = ("a", "b"), *, latest: Any = None, start: Any = lambda part: 0, live: bool = True, **more: Any
) -> tuple[Planning, Time]:
    time = Time()
    said = {"capacity": 100_000, "latency": 1.0, "tasks": 8} | more
    return Planning(PartSettings(parts if callable(parts) else lambda: parts, start, latest, live, **said), time), time


def told(part: str, row: int, **more: Any) -> dict[str, Any]:
    return {"part": part, "row": row, **more}


def read(plan: Planning, start: Offset, end: Offset | None) -> list[tuple[Any, int, int]]:
    assert end is not None
    return [(one.part, one.first, one.end) for one in plan.ranges("run", start, end)]


def test_parts_are_looked_at_first_and_then_read_as_far_as_was_seen() -> None:
    plan, _ = planning()
    first = plan.next_offset(Offset())
    assert first == Offset(1, {A: 0, B: 0})
    assert read(plan, Offset(), first) == [("a", 0, 0), ("b", 0, 0)]
    plan.heard(told(A, 7))
    second = plan.next_offset(first)
    assert second == Offset(2, {A: 7, B: 0})
    assert read(plan, first, second) == [("a", 0, 7)]  # b is open somewhere, and its reader tells


def test_a_part_without_rows_is_looked_at_again_ever_less_often() -> None:
    plan, time = planning(["a"])
    at = plan.next_offset(Offset())
    looks = []
    for _ in range(320):
        assert at is not None
        time.at += 0.125
        found = plan.next_offset(at)
        if found is not None:
            looks.append(time.at - 100)
            at = found
    assert looks[:3] == [1.0, 3.0, 7.0]
    assert looks[3:] == [15.0, 25.0, 35.0]
    assert plan.wait(60.0) <= LAST_LOOK


def test_the_end_is_that_of_all_parts() -> None:
    plan, _ = planning()
    plan.until_end = True
    at = plan.next_offset(Offset())
    assert at is not None
    plan.heard(told(A, 0, ended=True))
    assert plan.next_offset(at) is None
    plan.heard(told(B, 5, ended=True))
    last = plan.next_offset(at)
    assert last is not None
    assert last.rows == {A: 0, B: 5}
    assert plan.next_offset(last) == last  # nothing new: Spark ends the query
    plan.until_end = False
    assert plan.next_offset(last) is None  # parts may still come


def test_old_news_of_a_reader_that_was_left_behind_changes_nothing() -> None:
    plan, _ = planning(["a"])
    plan.until_end = True
    plan.heard(told(A, 9, ended=True))
    plan.heard(told(A, 4))
    plan.heard(told(A, 9))
    end = plan.next_offset(Offset())
    assert end == Offset(1, {A: 9})
    assert plan.next_offset(end) == end


def test_a_part_that_has_failed_is_read_up_to_there_and_then_by_a_task_that_waits_for_it() -> None:
    plan, _ = planning(["a"])
    at = plan.next_offset(Offset())
    assert at is not None
    plan.heard(told(A, 3, failed=True))
    rows = plan.next_offset(at)
    assert rows is not None
    assert read(plan, at, rows) == [("a", 0, 3)]
    again = plan.next_offset(rows)
    assert again is not None
    (task,) = plan.ranges("run", rows, again)
    assert (task.first, task.end, task.patience) == (3, 3, LAST_LOOK)


def test_parts_come_and_go_and_go_on_where_they_were() -> None:
    names = ["a"]
    plan, _ = planning(lambda: names, latest={"a": 10, "b": 4}.__getitem__, start=lambda part: 1 if part == "b" else 0)
    one = plan.next_offset(Offset())
    assert one == Offset(1, {A: 10})
    names[:] = ["b"]
    two = plan.next_offset(one)
    assert two == Offset(2, {A: 10, B: 1 + 3})
    assert read(plan, one, two) == [("b", 1, 4)]
    names[:] = ["a", "b"]
    assert plan.next_offset(two) is None  # neither has anything new


def test_a_repeated_micro_batch_has_the_same_rows_in_the_same_partitions() -> None:
    plan, _ = planning(["b", "c", "a"])
    start, end = Offset(4, {B: 1, A: 2, key_of("c"): 3}), Offset(5, {key_of("c"): 9, B: 5, A: 2})
    plan.next_offset(start)  # plans a look at all three in turn 5, as another run would not
    assert read(plan, start, end) == [("b", 1, 5), ("c", 3, 9), ("a", 2, 2)]
    restarted, _ = planning([])  # the parts have gone meanwhile, and what was planned is read all the same
    assert read(restarted, start, end) == [("b", 1, 5), ("c", 3, 9)]


def test_what_is_available_now_is_what_there_was_at_the_start() -> None:
    ends = {"a": 20_000, "b": 5}
    plan, _ = planning(latest=ends.__getitem__)
    plan.until_end = True
    at = plan.next_offset(Offset())
    assert at == Offset(1, {A: 10_000, B: 5})
    ends |= {"a": 50_000, "b": 50_000}
    at = plan.next_offset(at)
    assert at == Offset(2, {A: 20_000, B: 5})
    assert plan.next_offset(at) == at


def test_parts_that_are_not_live_are_read_to_their_ends() -> None:
    plan, _ = planning(["a"], live=False, capacity=100)
    plan.until_end = True
    one = plan.next_offset(Offset())
    assert one == Offset(1, {A: 100})
    plan.heard(told(A, 70, rows=100, seconds=0.1, ended=True))
    assert plan.next_offset(one) == one


def test_a_part_is_read_at_its_own_pace() -> None:
    plan, time = planning(latest=lambda part: 10**9)
    at = Offset()
    sizes: dict[str, list[int]] = {A: [], B: []}
    for _ in range(12):
        end = plan.next_offset(at)
        assert end is not None
        for key, rate in ((A, 200_000), (B, 2_000)):
            rows = end.rows[key] - at.rows.get(key, 0)
            sizes[key].append(rows)
            plan.heard(told(key, end.rows[key], rows=rows, seconds=rows / rate))
        time.at += 1.2
        plan.ended()
        at = end
    assert sizes[A][-1] == 100_000  # as many as it may have
    assert 1000 <= sizes[B][-1] <= 2500


def test_a_micro_batch_may_take_twice_what_it_costs_without_rows() -> None:
    plan, time = planning(["a"], latest=lambda part: 10**9, capacity=10**6)
    at, sizes = Offset(), []
    for _ in range(12):
        end = plan.next_offset(at)
        assert end is not None
        rows = end.rows[A] - at.rows.get(A, 0)
        sizes.append(rows)
        plan.heard(told(A, end.rows[A], rows=rows, seconds=rows / 100_000))
        time.at += 4.0 + rows / 100_000
        plan.ended()
        at = end
    assert 300_000 <= sizes[-1] <= 500_000


def test_a_limit_of_sparks_is_shared_by_the_parts() -> None:
    plan, _ = planning(["a", "b", "c"], latest={"a": 1000, "b": 2, "c": 1000}.__getitem__)
    end = plan.next_offset(Offset(), 100)
    assert end == Offset(1, {A: 49, B: 2, key_of("c"): 49})
    assert plan.next_offset(Offset(), 2) == Offset(1, {A: 1, B: 1, key_of("c"): 0})


@pytest.mark.parametrize("given", [None, {"row": 3}, {"turn": 1}, {"turn": 1, "parts": {}, "x": 1}, [1]])
def test_an_offset_of_another_query_is_refused(given: Any) -> None:
    with pytest.raises(PartError, match=r"which has no positions of parts; it belongs to another query$"):
        Offset.of(given)


def test_parts_are_named_by_texts_and_numbers() -> None:
    assert [part_of(key_of(part)) for part in ("1", 1, 'x"y', -3)] == ["1", 1, 'x"y', -3]
    for part in (1.5, None, ("a", 1), True):
        with pytest.raises(PartError, match=r"^partitioned: a part of a stream must be a text or a whole number, got"):
            key_of(part)


def test_a_position_that_is_none_is_refused() -> None:
    plan, _ = planning(["a"], latest=lambda part: -1)
    with pytest.raises(PartError, match=r"^partitioned: latest\('a'\) must be a whole number >= 0, got -1$"):
        plan.next_offset(Offset())
