"""modes: when the rows of a stateful frame come, and that what is held back comes out when its sources end."""

from __future__ import annotations

import datetime as dt
import sys
import threading
from dataclasses import dataclass

import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as f

from penstock import Sink, Stream, branch, flow
from penstock.spark import PlanError, StageError, also, entry, frame, keyed_by, spark_sink, spark_source
from penstock.spark.ingest.supply import IngestError

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not know the tests

WAIT = 240
NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


pytestmark = pytest.mark.usefixtures("few_partitions")


@dataclass(frozen=True)
class Event:
    name: str
    at: dt.datetime


@flow
def every_second(events: Stream[Event]) -> Stream[Event]:
    return events.buffer(2).map(lambda some: some[-1])


@flow
def sizes(hours: Stream) -> Stream[tuple[list[int]]]:
    return hours.to_list().map(lambda some: ([row.n for row in some],))


@flow
def quiet(events: Stream[Event]) -> Stream[Event]:
    return events.debounce(3600.0)


@flow
def parsed(lines: Stream[str]) -> Stream[int]:
    return lines.map(str.strip).map(int)


def at(minutes: int) -> dt.datetime:
    return NOON + dt.timedelta(minutes=minutes)


def counted(df):
    return df.groupBy("value").count()


def test_a_count_per_key_without_a_watermark_is_that_of_the_whole_stream(spark):
    lines = ["1", " 2", "1 ", "3", "1"]
    # Two rows are ahead of Spark at most, so the counts pass through several micro-batches.
    batches: list[int] = []
    numbers = Stream.from_iterable(lines) | entry(capacity=2) | parsed | also(lambda df, batch: batches.append(batch))
    board = numbers | frame(counted) | Sink.to_list()
    assert sorted(map(tuple, board.run(spark).wait(WAIT))) == [(1, 3), (2, 1), (3, 1)]
    assert len(batches) > 2


def test_update_gives_a_row_whenever_it_has_changed(spark):
    lines = Stream.from_iterable(["1"] * 6) | entry(capacity=2) | parsed
    counts = [row[1] for row in (lines | frame(counted, mode="update") | Sink.to_list()).run(spark).wait(WAIT)]
    assert counts == sorted(set(counts))
    assert len(counts) > 1
    assert counts[-1] == 6


def test_complete_gives_all_rows_each_time(spark):
    lines = Stream.from_iterable(["1", "2", "2", "2"]) | entry(capacity=2) | parsed
    rows = [tuple(row) for row in (lines | frame(counted, mode="complete") | Sink.to_list()).run(spark).wait(WAIT)]
    assert sorted(rows[-2:]) == [(1, 1), (2, 3)]
    assert rows.count((1, 1)) > 1


# What is held back comes out at the end.


def hourly(df):
    return df.withWatermark("at", "10 minutes").groupBy(f.window("at", "1 hour")).count()


def sessions(df):
    return df.withWatermark("at", "10 minutes").groupBy(f.session_window("at", "20 minutes"), "name").count()


def hours_of_hours(df):
    return hourly(df).groupBy(f.window("window", "2 hours")).agg(f.sum("count").alias("count"))


def once(df):
    return df.withWatermark("at", "10 minutes").dropDuplicatesWithinWatermark(["name"]).selectExpr("1 as count")


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (hourly, [3, 3, 3, 3, 2]),
        (hours_of_hours, [6, 6, 2]),
        (sessions, [14]),
        (once, [1]),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_open_when_the_source_ends_comes_out(spark, fn, expected):
    rows = Stream.range(14).map(lambda n: ("a", at(n if fn in {sessions, once} else 20 * n)))
    pipeline = rows | entry("name string, at timestamp", capacity=5) | frame(fn) | Sink.to_list()
    found = pipeline.run(spark).wait(WAIT)
    assert sorted(row[-1] for row in found) == sorted(expected)


def test_what_a_state_of_a_key_says_at_the_end_is_not_late_for_the_windows_behind_it(spark):
    events = Stream.range(10).map(lambda n: Event("ab"[n % 2], at(20 * n)))
    windows = frame(lambda df: df.withWatermark("at", "10 hours").groupBy(f.window("at", "1 hour")).count())
    pipeline = events | entry(Event, capacity=4) | keyed_by(every_second, "name") | windows | Sink.to_list()
    found = pipeline.run(spark).wait(WAIT)
    assert [row[1] for row in sorted(found, key=lambda row: row[0]["start"])] == [1, 1, 3, 1]


def test_what_a_key_holds_for_its_time_comes_at_the_end_and_counts_behind_it(spark):
    events = Stream.range(10).map(lambda n: Event("ab"[n % 2], at(20 * n)))
    counts = frame(lambda df: df.groupBy("name").agg(f.max("at").alias("at"), f.count("*").alias("count")))
    pipeline = events | entry(Event, capacity=4) | keyed_by(quiet, "name") | counts | Sink.to_list()
    found = sorted(pipeline.run(spark).wait(WAIT))
    assert [(row[0], row[2]) for row in found] == [("a", 1), ("b", 1)]
    assert [row[1] for row in found] == [at(160), at(180)]


@pytest.mark.parametrize("several", [False, True], ids=["alone", "beside another"])
def test_what_is_held_back_counts_in_the_steps_of_keys_behind_it(spark, several):
    rows = Stream.range(14).map(lambda n: ("a", at(20 * n))) | entry("name string, at timestamp", capacity=5)
    hours = rows | frame(lambda df: hourly(df).selectExpr("'a' AS name", "window.start AS at", "count AS n"))
    whole = frame(lambda df: df.transform(spark.stage(keyed_by(sizes, "name"), "sizes array<long>")))
    found = (hours | (branch(whole | Sink.to_list(), Sink.count()) if several else whole | Sink.to_list())).run(spark)
    (row,) = found.wait(WAIT)[0] if several else found.wait(WAIT)
    assert sorted(row.sizes) == [2, 3, 3, 3, 3]


def test_rows_of_an_outer_join_that_have_met_no_other_count_in_the_steps_of_keys_behind_it(spark):
    def joined(left, right):
        left, right = left.withWatermark("at", "1 hour"), right.withWatermark("at", "1 hour")
        both = left.join(right.selectExpr("name AS other", "at AS then"), f.expr("name = other AND at = then"), "left")
        return both.selectExpr("'a' AS name", "at", "CAST(then IS NULL AS LONG) AS n")

    def side(names):
        return Stream.from_iterable([(name, NOON) for name in names]) | entry("name string, at timestamp")

    alone = frame(lambda df: df.transform(spark.stage(keyed_by(sizes, "name"), "sizes array<long>")))
    (row,) = (side("abc") | frame(joined, side("b")) | alone | Sink.to_list()).run(spark).wait(WAIT)
    assert sorted(row.sizes) == [0, 1, 1]


def test_what_rows_have_closed_counts_in_the_steps_of_keys_behind_it_outside_of_a_pipeline(spark):
    rows = [("a", at(20 * n)) for n in range(14)]
    hours = hourly(spark.frame(Stream.from_iterable(rows), "name string, at timestamp"))
    step = spark.stage(keyed_by(sizes, "name"), "sizes array<long>")
    (row,) = spark.stream(hours.selectExpr("'a' AS name", "window.start AS at", "count AS n").transform(step))
    assert sorted(row.sizes) == [3, 3, 3, 3]  # the last one stays open, as in any query of Spark's


@pytest.mark.parametrize("marked", [False, True], ids=["plain", "behind a watermark"])
def test_a_table_that_came_at_the_end_does_not_come_again_from_the_same_checkpoint(spark, tmp_path, marked):
    counts = frame(lambda df: df.groupBy("name").count())
    delay = frame(lambda df: df.withWatermark("at", "1 hour") if marked else df)

    def found():
        rows = Stream.range(5).map(lambda n: Event("ab"[n % 2], at(n))) | entry(Event) | delay
        steps = frame(lambda df: df.transform(spark.stage(keyed_by(every_second, "name"), "name string, at timestamp")))
        run = (rows | steps | counts | Sink.to_list()).run(spark, tmp_path)
        return sorted((row[0], row[1]) for row in run.wait(WAIT))

    assert found() == [("a", 2), ("b", 1)]
    assert found() == []
    commits = tmp_path / "query" / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    (commits / str(last)).unlink()  # as if the driver had died before Spark had written down that it was done
    for note in tmp_path.rglob("penstock-delivered-*"):
        note.unlink()
    assert found() == []


def test_a_table_that_was_to_come_when_the_driver_died_comes_in_the_next_run(spark, tmp_path):
    counts = frame(lambda df: df.groupBy("name").count())
    rows = Stream.range(5).map(lambda n: Event("ab"[n % 2], at(n)))
    steps = frame(lambda df: df.transform(spark.stage(keyed_by(every_second, "name"), "name string, at timestamp")))

    def refuse(row):
        raise LookupError(row)

    begun = rows | entry(Event) | steps | counts
    with pytest.raises(LookupError):
        (begun | Sink.for_each(refuse)).run(spark, tmp_path).wait(WAIT)
    assert (begun | Sink.for_each(lambda row: None)).run(spark, tmp_path).wait(WAIT) == 2
    assert (begun | Sink.for_each(lambda row: None)).run(spark, tmp_path).wait(WAIT) == 0


def test_what_is_open_when_a_source_fails_does_not_come_out(spark):
    got: list[int] = []
    rows = Stream.range(14).map(lambda n: ("a", at(20 * n))).concat(Stream.error(OSError("the feed broke")))
    pipeline = rows | entry("name string, at timestamp") | frame(hourly) | Sink.for_each(lambda row: got.append(row[1]))
    with pytest.raises(OSError, match="the feed broke"):
        pipeline.run(spark).wait(WAIT)
    assert set(got) <= {3}  # the last window has two


def test_what_is_open_comes_out_into_a_sink_of_sparks_own(spark, tmp_path):
    rows = Stream.range(14).map(lambda n: ("a", at(20 * n)))
    written = spark_sink(lambda df: df.writeStream.format("parquet").option("path", str(tmp_path / "out")))
    (rows | entry("name string, at timestamp") | frame(hourly) | written).run(spark, tmp_path / "state").wait(WAIT)
    found = spark.session.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row[1] for row in found) == [2, 3, 3, 3, 3]


def test_what_rows_have_closed_comes_out_while_none_come_and_the_rest_in_another_run(spark, tmp_path):
    closed = threading.Event()
    first: list[int] = []

    def arrived(row):
        first.append(row[1])
        if len(first) == 4:
            closed.set()

    def hot(*parts):
        return Stream.defer(lambda: Stream.concat(*parts)) | entry("name string, at timestamp", again="later")

    shape = frame(hourly)
    rows = Stream.from_iterable([("a", at(20 * n)) for n in range(14)])
    run = (hot(rows, Stream.never()) | shape | Sink.for_each(arrived)).run(spark, tmp_path)
    assert closed.wait(WAIT)
    run.stop()
    assert run.wait(WAIT) == 4
    assert first == [3, 3, 3, 3]
    rest = (hot(Stream.empty()) | shape | Sink.to_list()).run(spark, tmp_path).wait(WAIT)
    assert [row[1] for row in rest] == [2]
    assert (hot(Stream.empty()) | shape | Sink.to_list()).run(spark, tmp_path).wait(WAIT) == []
    with pytest.raises(IngestError, match=r"the checkpoint is at the end of its stream, row 14, .* another checkpoint"):
        (hot(Stream.just(("a", at(0)))) | shape | Sink.to_list()).run(spark, tmp_path).wait(WAIT)


# Refusals.


def test_a_frame_that_has_no_final_rows_is_refused_with_the_cure(spark):
    endless = spark_source(lambda session: session.readStream.format("rate").load())
    with pytest.raises(PlanError) as caught:
        (endless | frame(counted) | Sink.count()).run(spark).wait(WAIT)
    assert str(caught.value) == (
        "run: no row of this frame is ever final, since its source has no end: Invalid streaming output mode: append."
        " This output mode is not supported for streaming aggregations without watermark on streaming"
        " DataFrames/DataSets; let it have a watermark, df.withWatermark(column, delay), or say"
        " frame(fn, mode='update' or mode='complete')"
    )


def test_a_mode_that_cannot_be_is_refused_with_those_that_can(spark):
    with pytest.raises(PlanError, match=r"^run: mode='complete' cannot be had of this frame: .*; say mode='append' or"):
        (Stream.just("1") | parsed | frame(lambda df: df, mode="complete") | Sink.count()).run(spark).wait(WAIT)


def test_a_frame_without_any_mode_is_refused(spark):
    with pytest.raises(PlanError, match=r"^run: no output mode can be had of this frame: .*; give each stream in it a"):
        (Stream.just("1") | parsed | frame(lambda df: counted(df).groupBy("count").count()) | Sink.count()).run(
            spark
        ).wait(WAIT)
    never = (
        r"^run: no output mode can be had of this frame: Distinct aggregations are not supported on streaming .*; do"
        " that behind a sink, which has all rows$"
    )
    with pytest.raises(PlanError, match=never):
        (Stream.just("1") | parsed | frame(lambda df: df.agg(f.countDistinct("value").alias("n"))) | Sink.count()).run(
            spark
        ).wait(WAIT)


def test_a_watermark_behind_another_is_refused_before_a_row_goes_through(spark):
    def windows(df):
        return df.withWatermark("at", "1 hour").groupBy(f.window("at", "1 hour")).count()

    events = Stream.range(10).map(lambda n: Event("ab"[n % 2], at(20 * n))) | entry(Event, capacity=4)
    by_time = keyed_by(every_second, "name", time="at", watermark=60)
    first = frame(lambda df: df.withWatermark("at", "2 hours"))
    seen: list[int] = []
    noop = spark_sink(lambda df: df.writeStream.format("noop"))
    for pipeline in (
        events | also(lambda df, batch: seen.append(batch)) | first | frame(windows) | Sink.count(),
        events | by_time | also(lambda df, batch: seen.append(batch)) | frame(windows) | noop,
    ):
        with pytest.raises(PlanError, match=r"^run: a stream has a watermark behind another one, .*: leave out"):
            pipeline.run(spark).wait(WAIT)
    for before in (by_time, first):
        pipeline = events | also(lambda df, batch: seen.append(batch)) | before | by_time | Sink.count()
        with pytest.raises(
            StageError, match=r"^keyed_by: time 'at' must be the first watermark of a stream, .*: leave"
        ):
            pipeline.run(spark).wait(WAIT)
    assert seen == []
    without = frame(lambda df: df.groupBy(f.window("at", "1 hour")).count())
    found = (events | by_time | without | Sink.to_list()).run(spark).wait(WAIT)
    assert sorted(row[1] for row in found) == [1, 1, 1, 3]


def test_a_writer_of_sparks_own_that_cannot_append_is_refused_with_the_cure(spark):
    with pytest.raises(PlanError, match=r"^run: this frame cannot be written like that: .*; say .outputMode"):
        (Stream.just("1") | parsed | frame(counted) | spark_sink(lambda df: df.writeStream.format("noop"))).run(
            spark
        ).wait(WAIT)


def test_a_writer_of_sparks_own_gets_the_mode_of_the_frame(spark):
    rows: list[tuple[int, int]] = []
    end = spark_sink(lambda df: df.writeStream.foreachBatch(lambda batch, _: rows.extend(map(tuple, batch.collect()))))
    (Stream.just("1", "1", "2") | parsed | frame(counted, mode="update") | end).run(spark).wait(WAIT)
    assert sorted(rows) == [(1, 2), (2, 1)]


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match=r"^frame: mode must be one of 'append', 'update' and 'complete', got 'all'$"):
        frame(counted, mode="all")
