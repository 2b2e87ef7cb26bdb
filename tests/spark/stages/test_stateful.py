"""stateful: keyed_by on streaming DataFrames keeps what steps remember of each key, through restarts too."""

from __future__ import annotations

import datetime as dt
import math
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from penstock import Flow, Stream, flow
from penstock.spark import Schema, SchemaError, Spark, SparkSetupError, StageError, keyed_by
from penstock.spark.stages import stateful as module
from penstock.spark.stages.event_time import rank
from penstock.spark.stages.stateful import ROCKSDB, STORE
from penstock.spark.wire.failure import ExecutorError


@dataclass(frozen=True)
class Reading:
    station: str | None
    at: dt.datetime
    celsius: float
    tags: dict[str, int]


@dataclass(frozen=True)
class Change:
    station: str | None
    number: int
    since_last: float
    at: dt.datetime


START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
STATIONS = ("north", "south", None)


def reading(n: int) -> Reading:
    return Reading(STATIONS[n % 3], START + dt.timedelta(minutes=n), float(n * n % 17), {"n": n})


def count_up(last: list[Any], one: Reading) -> tuple[list[Any], list[Change]]:
    """Change the state in place, and give no result for each fourth row of a station."""
    if not last:
        last += [0, one.celsius]
    last[0] += 1
    change = Change(one.station, last[0], one.celsius - last[1], one.at)
    last[1] = one.celsius
    return last, [change] * (last[0] % 4 != 0)


def renumber(before: int, change: Change) -> tuple[int, Change]:
    return before + 1, Change(change.station, 100 * change.number + before, change.since_last, change.at)


async def later(change: Change) -> Change:
    return change


@flow
def changes(readings: Stream[Reading]) -> Stream[Change]:
    return (
        readings.filter(lambda one: one.tags["n"] % 5 != 4)
        .stateful_map(count_up, list)
        .flatten()
        .map_async(later)
        .stateful_map(renumber, int)
    )


def by_station(rows: Iterable[Any]) -> dict[str | None, list[tuple[Any, ...]]]:
    """Group what came out; the rows of a station keep their order."""
    found: dict[str | None, list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(row.station, []).append((row.number, row.since_last, row.at))
    return found


def in_process(made: Flow[Reading, Change], readings: list[Reading]) -> dict[str | None, list[tuple[Any, ...]]]:
    return by_station(
        change
        for station in STATIONS
        for change in Stream.from_iterable([one for one in readings if one.station == station]) | made
    )


def live(spark: Spark, count: int, *, start: int = 0, capacity: int = 40) -> DataFrame:
    return spark.frame(Stream.range(start, count).map(reading), Reading, capacity=capacity)


def kept(spark: Spark) -> Any:
    return spark.stage(keyed_by(changes, "station", order_by="at"), Change, rows=Reading)


def test_one_flow_answers_the_same_in_process_on_a_batch_and_on_a_stream(spark: Spark) -> None:
    readings = [reading(n) for n in range(100)]
    here = in_process(changes, readings)
    assert {station: len(rows) for station, rows in here.items()} == {"north": 21, "south": 20, None: 21}
    schema = Schema.of(Reading)
    batch = spark.session.createDataFrame(pa.Table.from_batches([schema.batch(readings)])).repartition(3)
    streamed = spark.stream(live(spark, 100).transform(kept(spark)), rows=Change)
    assert by_station(streamed) == here  # three micro-batches at least, for no more than 40 rows are ever inside
    assert by_station(spark.stream(batch.transform(kept(spark)), rows=Change)) == here


def test_states_survive_a_restart_and_a_micro_batch_that_was_not_delivered(spark: Spark, tmp_path: Path) -> None:
    def run(end: int) -> Stream[Change]:
        frame = spark.frame(lambda row: Stream.range(row, end).map(reading), Reading, capacity=20)
        return spark.stream(frame.transform(kept(spark)), rows=Change, checkpoint=tmp_path / "query")

    before = list(run(60).take(20))  # more than 20 rows give, so it ends in the middle of a later micro-batch
    after = list(run(80))
    again = {(one.station, one.at) for one in before} & {(one.station, one.at) for one in after}
    assert len(again) < 20  # it does not begin anew, or only with the micro-batch that was broken off
    whole = sorted({*before, *after}, key=lambda one: one.at)
    assert by_station(whole) == in_process(changes, [reading(n) for n in range(80)])


def test_states_are_kept_of_a_micro_batch_that_was_delivered_and_not_committed(spark: Spark, tmp_path: Path) -> None:
    def run(end: int) -> Stream[Change]:
        frame = spark.frame(lambda row: Stream.range(row, end).map(reading), Reading)
        return spark.stream(frame.transform(kept(spark)), rows=Change, checkpoint=tmp_path / "query")

    before = list(run(30))
    commits = tmp_path / "query" / "commits"
    last = max((path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    last.unlink()  # as if the driver had died between our note and Spark's
    (commits / f".{last.name}.crc").unlink(missing_ok=True)
    assert by_station([*before, *run(50)]) == in_process(changes, [reading(n) for n in range(50)])


def test_a_state_of_none_is_forgotten_and_keys_may_be_of_any_type(spark: Spark) -> None:
    def pairs(before: int, row: Any) -> tuple[int | None, tuple[int, int]]:
        return (before + 1 if before < 1 else None), (row.n, before)

    rows = [(n, START + dt.timedelta(microseconds=n % 3), None if n % 2 else "x") for n in range(12)]
    frame = spark.frame(Stream.from_iterable(rows), "n long, at timestamp, name string")
    step = spark.stage(
        keyed_by(flow(lambda rows: rows.stateful_map(pairs, int)), "at", "name", order_by="n"), "n long, before long"
    )
    name = "states_forgotten"
    query = frame.transform(step).writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    found = {row.n: row.before for row in spark.session.table(name).collect()}
    assert found == {n: n // 6 for n in range(12)}  # six keys of two rows each
    assert [state["numRowsTotal"] for state in query.lastProgress["stateOperators"]] == [0]


def test_an_exception_comes_with_its_type_and_key(spark: Spark) -> None:
    def broken(before: int, row: Any) -> tuple[int, int]:
        return before, 1 // row.n

    frame = spark.frame(Stream.just((0,)), "n long")
    step = spark.stage(keyed_by(flow(lambda rows: rows.stateful_map(broken, int)), "n"), "n long")
    with pytest.raises(ExecutorError, match=r"^ZeroDivisionError: ") as caught:
        list(spark.stream(frame.transform(step)))
    text = str(caught.value)
    name = "test_an_exception_comes_with_its_type_and_key.broken"
    assert f"in stateful_map({name}), step 1 of 1, test_stateful.py:" in text
    assert "in keyed_by, key (0,)" in text


def test_a_state_that_cannot_be_pickled_is_named(spark: Spark) -> None:
    def locking(lock: Any, row: Any) -> tuple[Any, int]:
        return threading.Lock(), row.n

    frame = spark.frame(Stream.just((1,)), "n long")
    step = spark.stage(keyed_by(flow(lambda rows: rows.stateful_map(locking, int)), "n"), "n long")
    name = "stateful_map(test_a_state_that_cannot_be_pickled_is_named.locking)"
    with pytest.raises(
        ExecutorError,
        match=rf"StageError: keyed_by: {re.escape(name)}: its state must be one that pickle takes, got \[<",
    ):
        list(spark.stream(frame.transform(step)))


def test_a_flow_that_remembers_nothing_needs_no_states(spark: Spark) -> None:
    frame = spark.frame(Stream.just((1,), (2,)), "n long")
    step = spark.stage(keyed_by(flow(lambda rows: rows.map(lambda row: row.n)), "n"), "n long")
    made = frame.transform(step)
    assert "TransformWithState" not in made._jdf.queryExecution().analyzed().toString()
    assert sorted(row.n for row in spark.stream(made)) == [1, 2]


def test_what_steps_hold_at_the_end_of_the_stream_comes_then(spark: Spark) -> None:
    def sums(rows: Stream[Any]) -> Stream[tuple[str, list[int], int]]:
        numbers = rows.map(lambda row: row.n).start_with(-1).drop_repeats().buffer(4).enumerate(1)
        return numbers.map(lambda numbered: (str(numbered[1][0] % 3), numbered[1], numbered[0]))

    rows = [(f"key {n % 3}", n) for n in range(50)]
    here = sorted(
        tuple(one) for key in range(3) for one in sums(Stream.from_iterable([Pair(*row) for row in rows[key::3]]))
    )
    schema = "key string, n long"
    step = spark.stage(keyed_by(flow(sums), "key", order_by="n"), "third string, numbers array<long>, number long")
    streamed = spark.frame(Stream.from_iterable(rows), schema, capacity=20).transform(step)
    assert sorted(map(tuple, spark.stream(streamed))) == here
    assert len(here) == 15  # 17 or 18 numbers of each key make lists of four, the last of them shorter
    batch = spark.session.createDataFrame(rows, schema).transform(step)
    assert sorted(tuple(row) for row in batch.collect()) == here


class Pair(NamedTuple):
    key: str
    n: int


def test_the_last_words_of_one_stage_are_rows_of_the_next(spark: Spark) -> None:
    rows = [(n % 3, n) for n in range(20)]
    lists = flow(lambda rows: rows.buffer(3).map(lambda held: (0, sum(row.n for row in held))))
    total = flow(lambda rows: rows.map(lambda row: row.n).buffer(100).map(lambda sums: (len(sums), sum(sums))))
    first = spark.stage(keyed_by(lists, "key", order_by="n"), "key long, n long")
    second = spark.stage(keyed_by(total, "key"), "lists long, n long")
    live = spark.frame(Stream.from_iterable(rows), "key long, n long", capacity=12).transform(first).transform(second)
    assert list(map(tuple, spark.stream(live))) == [(8, sum(range(20)))]  # eight lists, of which two have one number


def test_a_key_that_has_ended_leaves_only_a_mark(spark: Spark) -> None:
    rows = [(n % 4, n) for n in range(60)]
    frame = spark.frame(Stream.from_iterable(rows), "key long, n long", capacity=20)
    step = spark.stage(keyed_by(flow(lambda rows: rows.take(2).map(lambda row: row.n)), "key", order_by="n"), "n long")
    name = "keys_that_ended"
    query = frame.transform(step).writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(row.n for row in spark.session.table(name).collect()) == list(range(8))
    (state,) = query.lastProgress["stateOperators"]
    assert state["numRowsTotal"] == 4


def test_a_checkpoint_of_other_steps_is_refused(spark: Spark, tmp_path: Path) -> None:
    def run(made: Any, end: int) -> list[Any]:
        frame = spark.frame(lambda row: Stream.range(row, end).map(lambda n: (0, n)), "key long, n long")
        step = spark.stage(keyed_by(flow(made), "key", order_by="n"), "n long")
        return [row.n for row in spark.stream(frame.transform(step), checkpoint=tmp_path / "query")]

    def largest(rows: Stream[Any]) -> Stream[int]:
        return rows.map(lambda row: row.n).scan(max, 0).drop_repeats()

    assert run(largest, 3) == [0, 1, 2]
    message = "keyed_by: the checkpoint has the states of scan(result) drop_repeats(last), and the flow has skip(left)"
    with pytest.raises(ExecutorError, match=re.escape(message)):
        run(lambda rows: rows.skip(1).map(lambda row: row.n), 4)


def test_what_cannot_go_on_between_micro_batches_is_refused(spark: Spark) -> None:
    rate = spark.session.readStream.format("rate").load()
    why = "cannot go on from one micro-batch to the next"

    def refused(made: Any, message: str) -> None:
        step = spark.stage(keyed_by(flow(made), "value"), "n long")
        with pytest.raises(StageError, match=f"^{re.escape(message)}$"):
            rate.transform(step)

    refused(
        lambda rows: rows.map(len).delay_subscription(1),
        f"keyed_by: delay_subscription {why}: what it waits for would be lost between them:"
        " put it before or behind Spark",
    )
    refused(
        lambda rows: rows.map(len).concat(Stream.just(1)),
        f"keyed_by: concat {why}: its other inputs would begin anew with each:"
        " join DataFrames, or make one of both with both(left, right) and use pair_with_latest, pair_latest or"
        " pair_within",
    )
    numbered = flow(lambda rows: rows.stateful_map(lambda n, row: (n, n), int))
    nested = rate.selectExpr("value", "struct(value) AS inner")
    with pytest.raises(SchemaError, match=r"^keyed_by: order_by 'inner' must be a plain column where rows stream$"):
        nested.transform(spark.stage(keyed_by(numbered, "value", order_by="inner"), "n long"))


def test_a_state_store_that_cannot_do_it_is_refused(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered = flow(lambda rows: rows.stateful_map(lambda n, row: (n, n), int))
    rate = spark.session.readStream.format("rate").load()
    step = spark.stage(keyed_by(numbered, "value"), "n long")
    before = spark.session.conf.get(STORE)
    spark.session.conf.set(STORE, "org.example.Store")
    try:
        with pytest.raises(SparkSetupError, match=f"^keyed_by: {STORE} must be {ROCKSDB}, got 'org.example.Store'$"):
            rate.transform(step)
    finally:
        spark.session.conf.set(STORE, before or "")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(
        SparkSetupError,
        match=r"^keyed_by: Spark keeps states by means of protobuf: pip install penstock\[spark\]$",
    ):
        rate.transform(step)


def test_the_order_is_that_of_spark_none_first_and_nan_last() -> None:
    values = [2.0, math.nan, None, -1.0, None, math.inf]
    assert list(map(repr, sorted(values, key=rank))) == ["None", "None", "-1.0", "2.0", "inf", "nan"]
