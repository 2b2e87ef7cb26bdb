"""Sinks on the executors: bounded, one for each partition and epoch, and their results come back."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock import Sink, Stream
from penstock.spark import SinkPart, Spark, StageError, entry, executor_sink
from penstock.spark.partitions.sinks import ended
from penstock.spark.wire.failure import ExecutorError


def to_file(folder: str) -> Any:
    """Return a function that makes sinks, each of which replaces the file of its epoch and partition."""

    def make(part: SinkPart) -> Sink[Any, Any]:
        name = Path(folder) / f"{part.epoch}-{part.partition}"

        def write(rows: list[Any]) -> int:
            fresh = name.with_suffix(f".{os.getpid()}")
            fresh.write_text("".join(f"{row.n}\n" for row in rows))
            fresh.replace(name)
            return len(rows)

        return Sink.of(lambda rows: rows.to_list().map(write))

    return make


def written(folder: Path) -> dict[str, list[int]]:
    return {path.name: [int(line) for line in path.read_text().split()] for path in sorted(folder.iterdir())}


def test_each_partition_of_a_batch_has_a_sink(spark: Spark, tmp_path: Path) -> None:
    df = spark.session.range(0, 1000, 1, 4).selectExpr("id AS n")
    assert spark.write(df, to_file(str(tmp_path)), epoch=7) == [250] * 4
    assert written(tmp_path) == {f"7-{part}": list(range(250 * part, 250 * part + 250)) for part in range(4)}


def test_columns_may_have_any_names(spark: Spark) -> None:
    df = spark.session.range(0, 10, 1, 2).toDF("`a.b`")
    assert spark.write(df, lambda part: Sink.fold(lambda total, row: total + row[0], 0)) == [10, 35]


def test_a_pipeline_ends_on_the_executors(spark: Spark, tmp_path: Path) -> None:
    told: list[tuple[int, list[Any]]] = []

    def make(part: SinkPart) -> Sink[Any, Any]:
        return Sink.of(lambda rows: rows.map(lambda row: row.n).to_list().map(lambda found: (os.getpid(), found)))

    end = executor_sink(make, done=lambda epoch, results: told.append((epoch, results)))
    pipeline = Stream.range(20_000).map(lambda n: (n,)) | entry("n long", capacity=8000) | end
    assert pipeline.run(spark, checkpoint=tmp_path / "checkpoint").wait() == 20_000
    assert [epoch for epoch, _ in told] == list(range(len(told)))
    assert [n for _, results in told for _, found in results for n in found] == list(range(20_000))
    assert os.getpid() not in {pid for _, results in told for pid, _ in results}


def test_an_asynchronous_sink_takes_the_rows_as_it_asks_for_them(spark: Spark) -> None:
    async def doubled(row: Any) -> int:
        await asyncio.sleep(0)
        return 2 * int(row.n)

    df = spark.session.range(0, 500, 1, 2).selectExpr("id AS n")
    sums = spark.write(
        df, lambda part: Sink.of(lambda rows: rows.map_async(doubled, concurrency=4).reduce(int.__add__))
    )
    assert sums == [2 * sum(range(250)), 2 * sum(range(250, 500))]


def test_a_sink_that_has_enough_reads_no_further() -> None:
    read: list[int] = []

    def rows() -> Any:
        for n in range(1000):
            read.append(n)
            yield n

    assert ended(lambda part: Sink.of(lambda xs: xs.take(3).to_list()), SinkPart(0, 0, 0), rows()) == [0, 1, 2]
    assert read == [0, 1, 2]


def test_a_failure_arrives_with_its_type_and_says_where(spark: Spark) -> None:
    def make(part: SinkPart) -> Sink[Any, Any]:
        return Sink.for_each(lambda row: 1 // (row.n - 5))

    rows = Stream.range(10).map(lambda n: (n,)) | entry("n long")
    with pytest.raises(ZeroDivisionError, match=r"(?s)in epoch 0, partition 0, attempt 0"):
        (rows | executor_sink(make)).run(spark).wait()


def test_a_failure_beside_the_sinks_arrives_as_it_is(spark: Spark) -> None:
    def told(epoch: int, results: list[Any]) -> None:
        raise LookupError("x" * 100_000)

    def leave(part: SinkPart) -> Sink[Any, Any]:
        return Sink.for_each(lambda row: os._exit(9))

    rows = Stream.range(10).map(lambda n: (n,)) | entry("n long")
    with pytest.raises(LookupError, match=r"^x+$"):
        (rows | executor_sink(lambda part: Sink.count(), done=told)).run(spark).wait()
    with pytest.raises(ExecutorError, match=r"^WorkerLost: a Python worker of an executor has ended [^\n]*$"):
        (rows | executor_sink(leave)).run(spark).wait()


def test_what_does_not_fit_is_refused(spark: Spark) -> None:
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"^executor_sink: make must return a Sink, got 5$"):
        ended(lambda part: 5, SinkPart(0, 0, 0), [])  # type: ignore[arg-type,return-value]
    with pytest.raises(StageError, match=r"^executor_sink: make .* cannot be sent .* there$"):
        executor_sink(lambda part: Sink.for_each(lambda row: lock))
    live = spark.session.readStream.format("rate").load()
    with pytest.raises(TypeError, match=r"^write: df must be a batch DataFrame, got a streaming one; "):
        spark.write(live, lambda part: Sink.count())
