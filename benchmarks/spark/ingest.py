"""ingest: rows of this process in Spark, beside `createDataFrame` on the same rows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.spark import data
from benchmarks.workload import PENSTOCK, Bound, Contender, Target, Workload
from penstock import Stream
from penstock.spark import Spark, entry, spark_sink

CREATED = "createDataFrame"
BY_HAND = "penstock, query by hand"
CAPACITY = 500_000
WHOLE = Bound(kept=False, why="all rows are handed over at once")
AHEAD = Bound(kept=True, why=f"at most {CAPACITY:,} rows ahead of Spark's last commit")


def _counted() -> tuple[Column, Column]:
    return f.count(f.lit(1)).alias("count"), f.sum("id").alias("total")


@lru_cache(maxsize=1)
def _rows(size: int) -> list[data.Row]:
    return data.tuples(size)


@lru_cache(maxsize=1)
def _batches(size: int) -> list[pa.RecordBatch]:
    return data.batches(_rows(size))


def written(df: DataFrame) -> tuple[int, int]:
    """Write a batch DataFrame nowhere, and return what its rows add up to."""
    seen = Observation()
    df.observe(seen, *_counted()).write.format("noop").mode("overwrite").save()
    return seen.get["count"], seen.get["total"]


def streamed(df: DataFrame) -> tuple[int, int]:
    """Write a streaming DataFrame nowhere until its stream ends, and return what its rows add up to."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as checkpoint:
        writer = df.observe("seen", *_counted()).writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return _totals(query)


def query_of(spark: Spark) -> StreamingQuery:
    """Wait for the query of a run, which is the only one."""
    while not (found := spark.session.streams.active):
        time.sleep(0.01)
    (query,) = found
    return query


def in_a_run(spark: Spark, stream: Stream[Any]) -> tuple[int, int]:
    """Write a stream nowhere in a run without a checkpoint, and return what its rows add up to."""
    sink = spark_sink(lambda df: df.observe("seen", *_counted()).writeStream.format("noop"))
    run = (stream | entry(data.DDL, capacity=CAPACITY) | sink).run(spark)
    query = query_of(spark)
    run.wait()
    return _totals(query)


def _totals(query: StreamingQuery) -> tuple[int, int]:
    found: list[Any] = [progress.observedMetrics["seen"] for progress in query.recentProgress]
    return sum(row["count"] for row in found), sum(row["total"] or 0 for row in found)


def _against(
    name: str,
    title: str,
    at_most: float,
    created: Callable[[int], object],
    penstock: Callable[[int], object],
    by_hand: Callable[[int], object],
) -> Workload:
    return Workload(
        name=name,
        title=title,
        size=3_000_000,  # a query takes a second or two to start, which is not what is asked here
        quick_size=200_000,
        expected=data.totals,
        contenders=(
            Contender(CREATED, created, WHOLE),
            Contender(PENSTOCK, penstock, AHEAD),
            Contender(BY_HAND, by_hand, AHEAD),
        ),
        baseline=CREATED,
        targets=(Target(at_most=at_most, against=CREATED, rate=True),),
    )


def of_batches(spark: Spark) -> Workload:
    """Give Spark record batches."""

    def created(size: int) -> object:
        return written(spark.session.createDataFrame(pa.Table.from_batches(_batches(size))))

    def penstock(size: int) -> object:
        return in_a_run(spark, Stream.from_iterable(_batches(size)))

    def by_hand(size: int) -> object:
        return streamed(spark.frame(Stream.from_iterable(_batches(size)), data.DDL, capacity=CAPACITY))

    return _against("ingest_arrow", "record batches into Spark, written nowhere", 1 / 0.9, created, penstock, by_hand)


def of_tuples(spark: Spark) -> Workload:
    """Give Spark tuples."""

    def created(size: int) -> object:
        return written(spark.session.createDataFrame(_rows(size), data.DDL))

    def penstock(size: int) -> object:
        return in_a_run(spark, Stream.from_iterable(_rows(size)))

    def by_hand(size: int) -> object:
        return streamed(spark.frame(Stream.from_iterable(_rows(size)), data.DDL, capacity=CAPACITY))

    return _against("ingest_tuples", "Python tuples into Spark, written nowhere", 0.5, created, penstock, by_hand)
