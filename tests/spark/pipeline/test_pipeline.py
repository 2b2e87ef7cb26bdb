"""Pipelines: what is planned where, and that it runs there, ends, stops, cancels and fails as it should."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from dataclasses import dataclass

import pytest
from pyspark import cloudpickle

from penstock import RunCancelledError, Sink, Stream, flow
from penstock.spark import PlanError, StageError, frame, spark_sink, spark_source

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not know the tests

WAIT = 240
HERE = os.getpid()


@dataclass(frozen=True)
class Reading:
    name: str
    celsius: float


@dataclass(frozen=True)
class Warm:
    name: str
    fahrenheit: float
    process: int


def parse(line: str) -> Reading:
    name, _, celsius = line.partition(" ")
    return Reading(name, float(celsius))


@flow
def parsed(lines: Stream[str]) -> Stream[Reading]:
    return lines.map(parse)


@flow
def warm(readings: Stream[Reading]) -> Stream[Warm]:
    return readings.filter(lambda each: each.celsius > 0).map(
        lambda each: Warm(each.name, each.celsius * 9 / 5 + 32, os.getpid())
    )


@flow
def names(readings: Stream[Reading]) -> Stream[str]:
    return readings.map(lambda each: each.name)


@flow
def shouted(words: Stream[str]) -> Stream[str]:
    return words.map(str.upper)


def same(df):
    return df


def some(session):
    return session.range(3)


LINES = [f"station{n % 3} {n - 2}" for n in range(10)]


# Planning.


def test_the_plan_says_what_runs_where_and_what_bounds_it():
    pipeline = Stream.from_iterable(LINES).map(str.strip) | parsed | warm | frame(same) | Sink.to_list()
    assert str(pipeline.explain()).splitlines() == [
        "on Spark (local[*])",
        "  this process ├─ from_iterable | map(str.strip)",
        "               │    through the gate as (value string)",
        "               │    asked for at most 100,000 rows beyond Spark's last commit",
        "               │",
        "     executors ├─ map(parse) | filter(warm.<lambda>) | map(warm.<lambda>)",
        "               │    one stage",
        "               │    its partition asks, row by row",
        "               │",
        "         Spark ├─ frame(same)",
        "               │    Spark's own plan",
        "               │",
        "  this process ├─ to_list",
        "               │    rows come back through the gate as they are asked for",
        "               │    until then Spark waits",
    ]


def test_the_plan_can_be_drawn():
    pipeline = spark_source(some) | frame(same) | Sink.count()
    assert pipeline.explain().mermaid().splitlines() == [
        "flowchart LR",
        '  subgraph w0["Spark"]',
        '    p0["spark_source(some)<br/>Spark\'s own source"]',
        '    p1["frame(same)<br/>Spark\'s own plan"]',
        "  end",
        '  subgraph w2["this process"]',
        '    p2["count<br/>rows come back through the gate as they are asked for; until then Spark waits"]',
        "  end",
        "  p0 --> p1",
        "  p1 --> p2",
    ]


def test_parts_are_known_however_they_were_composed():
    one = Stream.just("a 1") | parsed | (warm | frame(same) | Sink.count())
    two = (Stream.just("a 1") | (parsed | warm)) | frame(same) | Sink.count()

    @flow
    def inside(lines):
        return lines | parsed | warm | frame(same)

    three = Stream.just("a 1") | inside | Sink.count()
    assert len({str(each.explain()) for each in (one, two, three)}) == 1


def test_a_flow_whose_types_are_unknown_is_refused_with_the_cure():
    untyped = flow(lambda words: words.map(str.upper))
    with pytest.raises(
        PlanError,
        match=r"^run: what map\(str.upper\) gives must be known, got no annotation; annotate it: @flow def name"
        r"\(xs: Stream\[A\]\) -> Stream\[B\], B a dataclass, a NamedTuple, a TypedDict, a tuple of plain types or"
        r" one of str, int, float, bool$",
    ):
        (Stream.just("a") | untyped | frame(same) | Sink.count()).explain()


def test_a_live_source_without_a_schema_is_refused_with_the_cure():
    with pytest.raises(
        PlanError,
        match=r"^run: the rows of just must have a schema to enter Spark; give it: frame\(fn, schema=...\)$",
    ):
        (Stream.just("a") | frame(same) | Sink.count()).explain()


def test_a_stage_that_sees_neighbours_is_refused_before_anything_runs():
    @flow
    def first_two(words: Stream[str]) -> Stream[str]:
        return words.take(2)

    with pytest.raises(StageError, match=r"^stage: take, step 1 of 1, sees the whole stream"):
        (Stream.just("a") | first_two | frame(same) | Sink.count()).run()


def test_a_spark_step_does_not_run_in_this_process():
    with pytest.raises(
        TypeError,
        match=r"^frame: this step runs on Spark; end the pipeline with a Sink and run\(\) it, and put no step",
    ):
        list(Stream.just("a") | shouted | frame(same))


def test_a_step_around_one_of_sparks_is_refused_with_what_does_the_same_there():
    rows = Stream.just("a") | shouted | frame(same)
    cure = r"such as zip or share: merge, frame\(fn, other\) and branch do so on Spark$"
    for around in (rows.zip(rows), rows.share()):
        with pytest.raises(TypeError, match=cure):
            (around | Sink.count()).run().wait(WAIT)


# Running.


def test_flows_run_on_executors_and_rows_come_back_as_they_are_annotated(spark):
    pipeline = Stream.from_iterable(LINES) | parsed | warm | Sink.to_list()
    found = pipeline.run(spark).wait(WAIT)
    assert [(each.name, each.fahrenheit) for each in found] == [
        (name, celsius * 9 / 5 + 32) for name, celsius in ((f"station{n % 3}", n - 2) for n in range(10)) if celsius > 0
    ]
    assert {type(each) for each in found} == {Warm}
    assert HERE not in {each.process for each in found}
    here = pipeline.run().wait(WAIT)
    assert {each.process for each in here} == {HERE}


def test_bare_values_pass_through_flows_and_dataframe_steps(spark):
    pipeline = (
        Stream.from_iterable(LINES)
        | parsed
        | names
        | frame(lambda df: df.filter("value != 'station1'"))
        | shouted
        | Sink.to_list()
    )
    assert pipeline.run(spark).wait(WAIT) == [f"STATION{n % 3}" for n in range(10) if n % 3 != 1]


def test_rows_of_a_dataframe_step_are_named_tuples(spark):
    pipeline = (
        Stream.from_iterable(LINES) | frame(lambda df: df.selectExpr("length(value) as size"), schema="value string")
    ).map(lambda row: row.size) | Sink.of(lambda sizes: sizes.reduce(max))
    assert pipeline.run(spark).wait(WAIT) == max(map(len, LINES))


def test_a_batch_of_sparks_own_comes_back(spark):
    pipeline = spark_source(lambda session: session.range(0, 500, 1, 3)) | Sink.to_list()
    assert sorted(pipeline.run(spark).wait(WAIT)) == [(n,) for n in range(500)]


def test_spark_writes_what_comes_from_a_live_source(spark, tmp_path):
    pipeline = (
        Stream.from_iterable(LINES)
        | parsed
        | spark_sink(lambda df: df.writeStream.format("parquet").option("path", str(tmp_path / "out")))
    )
    with pytest.raises(PlanError, match=r"^run: this sink of Spark's writes down .*: run\(spark, checkpoint=folder\)$"):
        pipeline.run(spark).wait(WAIT)
    assert pipeline.run(spark, tmp_path / "checkpoint").wait(WAIT) == len(LINES)
    written = spark.session.read.parquet(str(tmp_path / "out")).collect()
    assert sorted((row.name, row.celsius) for row in written) == sorted(
        (each.name, each.celsius) for each in map(parse, LINES)
    )


def test_spark_reads_and_writes_a_batch(spark, tmp_path):
    out = str(tmp_path / "out")
    pipeline = (
        spark_source(lambda session: session.createDataFrame([("a", 1.0), ("b", -1.0)], "name string, celsius double"))
        | warm
        | spark_sink(lambda df: df.write.format("json").option("path", out))
    )
    assert pipeline.run(spark).wait(WAIT) is None
    assert [row.name for row in spark.session.read.json(out).collect()] == ["a"]


def test_a_pipeline_with_nothing_for_spark_runs_in_this_process_even_so(spark):
    assert (Stream.range(5).map(str) | Sink.to_list()).run(spark).wait(WAIT) == list("01234")


# Ending.


def endless(seen: threading.Event):
    def lines():
        number = 0
        while True:
            yield f"station {number}"
            number += 1
            if number == 1000:
                seen.set()

    return Stream.from_iterable(lines())


def test_stop_drains(spark):
    got: list[Reading] = []
    arrived = threading.Event()
    run = (endless(threading.Event()) | parsed | Sink.for_each(lambda each: (got.append(each), arrived.set()))).run(
        spark
    )
    assert arrived.wait(WAIT)
    run.stop()
    count = run.wait(WAIT)
    assert count == len(got)
    assert [each.celsius for each in got] == [float(n) for n in range(count)]
    assert run.now().rows_in == count  # all that was taken from the source has come to the end


def test_cancel_ends_at_once(spark):
    arrived = threading.Event()
    run = (endless(threading.Event()) | parsed | Sink.for_each(lambda _: arrived.set())).run(spark)
    assert arrived.wait(WAIT)
    run.cancel()
    with pytest.raises(RunCancelledError, match=r"^run: cancelled before there was a result$"):
        run.wait(WAIT)
    run.cancel()
    run.stop()


def test_a_query_of_sparks_own_is_stopped(spark, tmp_path):
    rate = spark_source(lambda session: session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load())
    run = (rate | spark_sink(lambda df: df.writeStream.format("noop"))).run(spark)
    reports = run.progress_every(0.2)
    assert next(report for report in reports if report.rows_out).batches > 0
    run.stop()
    assert run.wait(WAIT) >= 10


def test_rows_of_a_query_of_sparks_own_come_back_until_it_is_stopped(spark):
    rate = spark_source(lambda session: session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load())
    got: list[object] = []
    arrived = threading.Event()
    run = (
        rate | frame(lambda df: df.select("value")) | Sink.for_each(lambda row: (got.append(row), arrived.set()))
    ).run(spark)
    assert arrived.wait(WAIT)
    run.stop()
    assert run.wait(WAIT) == len(got)


@pytest.mark.parametrize("native", [False, True])
def test_the_publishers_own_exception_is_raised(spark, native):
    error = KeyError("lost")
    end = spark_sink(lambda df: df.writeStream.format("noop")) if native else Sink.count()
    source = Stream.just("a 1").concat(Stream.error(error))
    with pytest.raises(KeyError) as caught:
        (source | parsed | end).run(spark).wait(WAIT)
    assert caught.value is error


@pytest.mark.parametrize("native", [False, True])
def test_an_executors_exception_is_raised_with_its_type(spark, native):
    end = spark_sink(lambda df: df.writeStream.format("noop")) if native else Sink.count()
    with pytest.raises(ValueError, match="could not convert string to float: 'warm'") as caught:
        (Stream.just("a warm") | parsed | end).run(spark).wait(WAIT)
    assert "in parse" in caught.value.remote_traceback


def test_the_sinks_own_exception_is_raised(spark):
    def refuse(each):
        raise LookupError(each.name)

    with pytest.raises(LookupError, match=r"^a"):
        (Stream.just("a 1") | parsed | Sink.for_each(refuse)).run(spark).wait(WAIT)


def test_a_run_can_be_awaited(spark):
    async def main():
        return await (Stream.from_iterable(LINES) | parsed | Sink.count()).run(spark)

    assert asyncio.run(main()) == len(LINES)


def test_progress_is_a_stream_that_ends_with_the_run(spark):
    run = (Stream.from_iterable(LINES) | shouted | Sink.count()).run(spark)
    *_, last = list(run.progress_every(0.1))
    assert run.done
    assert (last.rows_in, last.rows_out, last.lag, last.done) == (10, 10, 0, True)


def test_a_dataframe_function_that_returns_something_else_is_refused(spark):
    for computed in (lambda df: df.count(), lambda df: df.collect()):
        with pytest.raises(PlanError, match=r"^frame: the function has asked for the rows of a stream, as by collect"):
            (Stream.from_iterable(LINES) | parsed | frame(computed) | Sink.count()).run(spark).wait(WAIT)
    with pytest.raises(TypeError, match=r"^frame: the function must return a DataFrame, got None$"):
        (Stream.just("a") | shouted | frame(lambda df: None) | Sink.count()).run(spark).wait(WAIT)
