from __future__ import annotations

import asyncio
import datetime as dt
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import DataFrame

from penstock import Flow, Stream, flow
from penstock.spark import Schema, SchemaError, Spark, StageError, keyed_by, per_partition
from penstock.spark.stages.executing import stage_function
from penstock.spark.wire.packing import packed
from tests.spark.chains import STEPS, chained

N = Schema.of(pa.schema([pa.field("n", pa.int64(), nullable=False)]))
CURE = 'say what it may see with per_partition(flow) or keyed_by(flow, "key")'


def refused(message: str) -> Any:
    return pytest.raises(StageError, match=f"^{re.escape(message)}$")


def numbers(spark: Spark, count: int, parts: int = 3) -> DataFrame:
    return spark.session.range(0, count, 1, parts).withColumnRenamed("id", "n")


def run(spark: Spark, made: Flow[Any, Any], count: int, parts: int = 3) -> list[int]:
    """Run a Flow from numbers to numbers on Spark."""
    found = numbers(spark, count, parts).transform(spark.stage(made, N, rows="tuple"))
    return [row.n for row in found.collect()]


def bare(fn: Callable[[int], Any]) -> Callable[[tuple[int]], Any]:
    return lambda row: fn(row[0])


@flow
def odd_squares(rows: Stream[tuple[int]]) -> Stream[int]:
    return rows.map(lambda row: row[0]).filter(lambda n: n % 2).map(lambda n: n * n)


# The same answer.


def test_a_flow_gives_the_same_answer_in_process_and_on_spark(spark: Spark) -> None:
    here = list(Stream.from_iterable([(n,) for n in range(1000)]) | odd_squares)
    assert run(spark, odd_squares, 1000) == here
    assert len(here) == 500


def test_an_empty_frame_gives_an_empty_one(spark: Spark) -> None:
    assert run(spark, odd_squares, 0) == []


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), max_size=5),
    data=st.lists(st.integers(-(10**6), 10**6), max_size=250),
    parts=st.integers(1, 3),
)
def test_any_chain_of_item_stages_answers_the_same(spark: Spark, names: list[str], data: list[int], parts: int) -> None:
    made = chained(names)
    rows = [(n,) for n in data]
    here = list(Stream.from_iterable(rows) | made)
    frame = spark.session.createDataFrame(rows, N.struct).repartition(parts)
    there = [row.n for row in frame.transform(spark.stage(made, N, rows="tuple")).collect()]
    assert sorted(there) == sorted(here)
    # The same function without Spark around it keeps the order too.
    batches = (N.batch(rows[start : start + 100]) for start in range(0, len(rows), 100))
    ordered = [n for batch in stage_function(made, N, N, rows="tuple")(batches) for n in batch.column(0).to_pylist()]
    assert ordered == here if "unordered" not in names else sorted(ordered) == sorted(here)


@dataclass(frozen=True)
class Flight:
    origin: str
    delay: int | None
    at: dt.datetime


@dataclass(frozen=True)
class Late:
    origin: str
    minutes: int
    at: dt.datetime


@flow
def late(flights: Stream[Flight]) -> Stream[Late]:
    return flights.filter(lambda f: f.delay is not None and f.delay > 0).map(
        lambda f: Late(f.origin, f.delay or 0, f.at)
    )


def test_dataclasses_go_in_and_come_out(spark: Spark) -> None:
    moment = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    flights = [Flight("JFK", 5, moment), Flight("LGA", None, moment), Flight("EWR", -2, moment)]
    schema = Schema.of(Flight)
    frame = spark.session.createDataFrame(pa.Table.from_batches([schema.batch(flights)])).transform(
        spark.stage(late, Late, rows=Flight)
    )
    assert frame.schema == Schema.of(Late).struct
    table = frame.toArrow()
    (found,) = [row for batch in table.to_batches() for row in Schema.of(Late).reader()(Schema.of(Late).fitted(batch))]
    assert found == Late("JFK", 5, moment)


def test_rows_come_by_name_unless_told_otherwise(spark: Spark) -> None:
    named = flow(lambda rows: rows.map(lambda row: {"n": row.n + row[0]}))
    frame = numbers(spark, 3).transform(spark.stage(named, "n long"))
    assert [row.n for row in frame.collect()] == [0, 2, 4]


def test_several_stages_and_native_steps_mix(spark: Spark) -> None:
    step = spark.stage(odd_squares, N, rows="tuple")
    frame = numbers(spark, 100).transform(step).where("n > 100").transform(step)
    assert [row.n for row in frame.collect()] == [n**4 for n in range(100) if n % 2 and n * n > 100]


def test_arrow_batches_may_come_out(spark: Spark) -> None:
    def batch(row: tuple[int]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"n": pa.array(range(row[0]), pa.int32())})

    assert run(spark, flow(lambda rows: rows.map(batch)), 4, parts=1) == [0, 0, 1, 0, 1, 2]


# map_async.


def test_map_async_overlaps_its_calls_within_a_task(spark: Spark) -> None:
    def gathering() -> Callable[[tuple[int]], Any]:
        waiting: list[asyncio.Future[int]] = []

        async def fn(row: tuple[int]) -> int:
            # Nobody goes on before four are here: with less concurrency this would never end.
            mine = asyncio.get_running_loop().create_future()
            waiting.append(mine)
            if len(waiting) == 4:
                for one in waiting:
                    one.set_result(4)
                waiting.clear()
            return await mine

        return fn

    made = flow(lambda rows: rows.map_async(gathering(), concurrency=4))
    assert run(spark, made, 40, parts=2) == [4] * 40


def test_the_event_loop_of_a_task_is_not_the_thread_of_its_rows(spark: Spark) -> None:
    async def where(_: tuple[int]) -> int:
        return int(threading.current_thread() is threading.main_thread()) or os.getpid()

    made = flow(lambda rows: rows.map_async(where))
    found = set(run(spark, made, 4, parts=2))
    assert 1 not in found
    assert os.getpid() not in found


def test_rows_of_asynchronous_calls_are_waited_for_on_a_thread_of_their_own() -> None:
    readers, callers = set(), set()

    async def call(row: tuple[int]) -> int:
        callers.add(threading.current_thread())
        await asyncio.sleep(0)
        return row[0]

    def batches() -> Iterator[Any]:
        for number in range(50):
            readers.add(threading.current_thread())
            yield N.batch([(number,)])

    made = flow(lambda rows: rows.map_async(call))
    out = stage_function(made, N, N, rows="tuple")(batches())
    assert [n for batch in out for n in batch.column(0).to_pylist()] == list(range(50))
    assert [thread.name for thread in readers] == ["penstock-rows"]
    assert not readers & callers


def test_an_error_of_map_async_reaches_the_driver_with_its_place(spark: Spark) -> None:
    async def broken(row: tuple[int]) -> int:
        raise LookupError(f"nothing for {row[0]}")

    with pytest.raises(
        PythonException, match=r"(?s)LookupError: nothing for 0.*in map_async\(.*broken\).*in partition 0"
    ):
        run(spark, flow(lambda rows: rows.map_async(broken)), 1, parts=1)


# Scopes.


def test_stages_that_see_the_stream_are_refused_with_the_cure(spark: Spark) -> None:
    add = lambda a, b: a + b  # noqa: E731
    for made, name in (
        (flow(lambda rows: rows.take(3)), "take, step 1 of 1,"),
        (flow(lambda rows: rows.map(len).scan(add, 0).map(str)), "scan("),
        (flow(lambda rows: rows.map(len).drop_repeats()), "drop_repeats, step 2 of 2,"),
        (flow(lambda rows: rows.buffer(2)), "buffer, step 1 of 1,"),
        (flow(lambda rows: rows.count()), "count, step 1 of 1,"),
    ):
        with pytest.raises(StageError) as caught:
            spark.stage(made, N)
        assert str(caught.value).startswith(f"stage: {name}")
        assert str(caught.value).endswith(f"sees the whole stream, and an executor has only a part of it: {CURE}")
    with refused(f"stage: take, step 2 of 3, sees the whole stream, and an executor has only a part of it: {CURE}"):
        spark.stage(flow(lambda rows: rows.map(len).take(2).map(str)), N)


def test_per_partition_sees_each_partition_whole(spark: Spark) -> None:
    sums = flow(lambda rows: rows.map(lambda row: row[0]).reduce(lambda a, b: a + b))
    assert run(spark, per_partition(sums), 30, parts=3) == [sum(range(10)), sum(range(10, 20)), sum(range(20, 30))]
    firsts = flow(lambda rows: rows.take(2).map(lambda row: row[0]))
    assert run(spark, per_partition(firsts), 600, parts=2) == [0, 1, 300, 301]
    later = flow(lambda rows: rows.map(lambda row: row[0]).concat(Stream.just(-1)))
    assert run(spark, per_partition(later), 4, parts=2) == [0, 1, -1, 2, 3, -1]


def test_keyed_by_runs_a_flow_of_its_own_for_each_key(spark: Spark) -> None:
    frame = numbers(spark, 1000, parts=4).selectExpr("n % 7 as k", "-n as n")
    running = flow(lambda rows: rows.scan(lambda total, row: (row.k, total[1] + row.n), (0, 0)).take(3))
    found = frame.transform(spark.stage(keyed_by(running, "k", order_by="n"), "k long, n long")).collect()
    expected: list[tuple[int, int]] = []
    for key in range(7):
        own = [(key, -n) for n in range(999, -1, -1) if n % 7 == key]
        row_type = Schema.of("k long, n long").reader()
        batch = Schema.of("k long, n long").batch(own)
        expected.extend(list(running(Stream.from_iterable(list(row_type(batch))))))
    assert sorted(map(tuple, found)) == sorted(expected)
    assert len(found) == 21


def test_keyed_by_tells_missing_keys_from_others_and_takes_several(spark: Spark) -> None:
    rows = [("a", 1, 1), (None, 1, 2), ("a", None, 3), (None, 1, 4), ("a", 1, 5)]
    frame = spark.session.createDataFrame(rows, "a string, b int, n long")
    count = flow(lambda group: group.map(lambda row: row.n).reduce(lambda a, b: a + b))
    found = frame.transform(spark.stage(keyed_by(count, "a", "b"), N)).collect()
    assert sorted(row.n for row in found) == [3, 6, 6]


def test_keyed_by_refuses_what_it_cannot_do(spark: Spark) -> None:
    count = flow(lambda rows: rows.count())
    frame = numbers(spark, 3)
    with pytest.raises(SchemaError, match=r"^keyed_by: column 'k' must be one of \['n'\]$"):
        frame.transform(spark.stage(keyed_by(count, "k"), N))
    for made, what in (("n * 0.5d", "a floating-point number"), ("struct(n * 0.5d)", "a floating-point number"),
                       ("map(n, n)", "a map")):  # fmt: skip
        wrong = rf"^keyed_by: key 'n' must not be or hold {what}; make a whole number or a text of it before$"
        with pytest.raises(SchemaError, match=wrong):
            frame.selectExpr(f"{made} as n").transform(spark.stage(keyed_by(count, "n"), N))
    with pytest.raises(TypeError, match=r"^keyed_by: keys must be at least one name of a column, got none$"):
        keyed_by(count)
    with pytest.raises(TypeError, match=r"^keyed_by: keys must be names of columns, got 5$"):
        keyed_by(count, 5)  # type: ignore[arg-type]


ODD_NAMES = ["a.b", "`n`", "A.B", "", "é"]


@pytest.mark.parametrize("key", ODD_NAMES)
def test_keys_and_orders_may_have_any_names(spark: Spark, few_partitions: None, key: str) -> None:
    order = ODD_NAMES[ODD_NAMES.index(key) - 1]
    schema = pa.schema([(name, pa.int64()) for name in ODD_NAMES])
    rows = [tuple(n % 2 if name == key else 9 - n for name in ODD_NAMES) for n in range(10)]
    counted = flow(
        lambda of_key: of_key.map(lambda row: getattr(row, order)).pairwise().map(lambda two: two[1] - two[0])
    )
    step = spark.stage(keyed_by(counted, key, order_by=order), N)
    batch = spark.session.createDataFrame(pa.Table.from_batches([Schema.of(schema).batch(rows)]))
    assert [row.n for row in batch.transform(step).collect()] == [2] * 8
    live = spark.frame(Stream.from_iterable(rows), schema)
    assert [row.n for row in spark.stream(live.transform(step))] == [2] * 8


def test_a_flow_that_reads_its_input_twice_is_refused(spark: Spark) -> None:
    twice = flow(lambda rows: rows.map(len).merge(rows.map(len)))
    with refused("stage: a Flow must read its input once to run on the executors, this one does 2 times"):
        spark.stage(per_partition(twice), N)


def test_a_retry_of_the_rows_is_refused_and_one_of_each_row_runs(spark: Spark) -> None:
    made = flow(lambda rows: rows.map(lambda row: row[0]).retry(1))
    why = (
        "stage: retry subscribes again, and the rows of a part can be read only once:"
        " give each element its own, as in concat_map(lambda one: Stream.just(one).map(fn).retry(...))"
    )
    for scoped in (made, per_partition(made), keyed_by(made, "n")):
        with refused(why):
            spark.stage(scoped, N)
    tried: list[int] = []

    def shaky(row: tuple[int]) -> int:
        tried.append(row[0])
        if tried.count(row[0]) < 3:
            raise OSError("down")
        return row[0]

    each = flow(
        lambda rows: rows.concat_map(lambda row: Stream.just(row).map(shaky).retry(2).on_error_return(-1)).map_error(
            lambda error: LookupError(str(error))
        )
    )
    spark.stage(each, N)
    assert [
        one
        for batch in stage_function(each, N, N, rows="tuple")(iter([N.batch([(1,), (2,)])]))
        for one in batch.column(0).to_pylist()
    ] == [1, 2]
    assert tried == [1, 1, 1, 2, 2, 2]


def test_a_step_that_reads_the_rows_again_fails_clearly() -> None:
    made = flow(lambda rows: rows.map(lambda row: row[0]).repeat(2))
    with pytest.raises(StageError, match=r"^stage: the rows of a partition can be read only once; .*"):
        list(stage_function(made, N, N, rows="tuple")(iter([N.batch([(1,)])])))


# Bad input.


def test_what_is_not_a_flow_is_refused(spark: Spark) -> None:
    with pytest.raises(TypeError, match=r"^stage: flow must be a Flow, made with @flow, got 5$"):
        spark.stage(5, N)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^per_partition: flow must be a Flow, made with @flow, got 5$"):
        per_partition(5)  # type: ignore[arg-type]


def test_a_function_that_cannot_be_sent_is_named_with_its_step(spark: Spark) -> None:
    lock = threading.Lock()

    def guarded(row: tuple[int]) -> int:
        with lock:
            return row[0]

    with refused(
        "stage: map(test_a_function_that_cannot_be_sent_is_named_with_its_step.guarded), step 2 of 2, cannot be sent to"
        " the executors: cannot pickle '_thread.lock' object;"
        " open what it holds (a connection, a lock, a file) inside the function"
    ):
        spark.stage(flow(lambda rows: rows.filter(bool).map(guarded)), N)


def test_rows_of_a_form_that_does_not_fit_are_refused_before_anything_runs(spark: Spark) -> None:
    with pytest.raises(SchemaError, match=r"^schema: rows must have the fields \['n'\], got .* of Flight$"):
        numbers(spark, 3).transform(spark.stage(odd_squares, N, rows=Flight))


def test_an_output_row_that_does_not_fit_is_named(spark: Spark) -> None:
    wrong = flow(lambda rows: rows.map(lambda row: row[0] if row[0] < 150 else "x"))
    message = r"(?s)SchemaError: row 150: field 'n' must be int64 and not None, got 'x'.*in partition 0, attempt 0"
    with pytest.raises(PythonException, match=message):
        run(spark, wrong, 200, parts=1)


def test_an_exception_of_the_users_function_keeps_its_type_and_place(spark: Spark) -> None:
    def broken(row: tuple[int]) -> int:
        return 1 // row[0]

    with pytest.raises(
        PythonException, match=r"(?s)ZeroDivisionError: .*in map\(.*broken\), step 1 of 1, test_stages.py:"
    ):
        run(spark, flow(lambda rows: rows.map(broken)), 1, parts=1)


# Batches of rows.


def test_batches_grow_while_they_fill_at_once() -> None:
    sizes = [batch.num_rows for batch in packed(iter(range(50_000)), N)]
    assert sum(sizes) == 50_000
    assert max(sizes) <= 10_000
    assert sizes[0] == 16


def test_rows_and_arrow_batches_keep_their_order() -> None:
    mixed: Iterator[Any] = iter([1, N.batch([2, 3]), pa.Table.from_batches([N.batch([4])]), 5, 6])
    assert [n for batch in packed(mixed, N) for n in batch.column(0).to_pylist()] == [1, 2, 3, 4, 5, 6]
