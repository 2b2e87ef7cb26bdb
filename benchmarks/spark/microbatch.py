"""microbatch: what a small micro-batch costs from a stream of ours, beside the one source of Spark's that is as small.

Spark's `rate-micro-batch` gives the same number of rows to every micro-batch, as fast as Spark asks for them, and
makes them inside the JVM. With `capacity` at that number a stream of ours does the same: the publisher is asked for
the next rows when the ones before are committed, and they pass through the gate and a Python worker. Trigger (as soon
as the one before is done), sink (noop), number of partitions and session are the same. In a query that is written by
hand the checkpoint is written by the same means, too; a run of penstock's chooses them itself. The time of a
micro-batch is what Spark reports as its `triggerExecution`, in the middle of those of a query: one that a disk held up
says nothing about its source. The first ones, which are still warming up, do not count.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.spark.ingest import BY_HAND, query_of
from benchmarks.spark.timing import Timed
from benchmarks.workload import PENSTOCK, Bound, Contender, Target, Workload
from penstock import Stream
from penstock.spark import Spark, entry, spark_sink
from penstock.spark.egress.draining import stop_after_batch

RATE = "rate-micro-batch"
ROWS = 1000
COLUMNS = "timestamp long, value long"
WARM_UP = 3
SPARE = 3
"""Micro-batches beyond those that count, in case that some are not full."""
PATIENCE = 600.0


def _full_ones(df: DataFrame, count: int) -> Timed:
    """Run a query for so many full micro-batches, and return the time that as many of the middle one take."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as checkpoint:
        query = df.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            return _measured(query, count)
        finally:
            stop_after_batch(query)


def _measured(query: StreamingQuery, count: int) -> Timed:
    """Wait for so many full micro-batches of a query."""
    given_up = time.monotonic() + PATIENCE
    seen = -1
    while seen < WARM_UP + count + SPARE and query.isActive and time.monotonic() < given_up:
        time.sleep(0.2)  # seldom: what looks at a query takes time from what feeds it
        last = query.lastProgress
        seen = -1 if last is None else last.batchId
    full = [each for each in query.recentProgress if each.batchId >= WARM_UP and each.numInputRows == ROWS][:count]
    middle = statistics.median(each.durationMs["triggerExecution"] for each in full) / 1000
    return Timed((len(full), sum(each.numInputRows for each in full)), middle * count)


def workload(spark: Spark) -> Workload:
    """Run micro-batches of a thousand rows, one after the other."""

    def rate(size: int) -> object:
        reader = spark.session.readStream.format(RATE).option("rowsPerBatch", ROWS).option("numPartitions", 1)
        return _full_ones(reader.load(), size)

    def by_hand(size: int) -> object:
        rows = Stream.from_iterable((n, n) for n in itertools.count())
        return _full_ones(spark.frame(rows, COLUMNS, capacity=ROWS, partitions=1), size)

    def penstock(size: int) -> object:
        rows = Stream.from_iterable((n, n) for n in itertools.count())
        pipeline = rows | entry(COLUMNS, capacity=ROWS) | spark_sink(lambda df: df.writeStream.format("noop"))
        run = pipeline.run(spark)
        try:
            return _measured(query_of(spark), size)
        finally:
            run.stop()
            run.wait()

    ahead = Bound(kept=True, why=f"at most {ROWS:,} rows ahead of Spark's last commit")
    return Workload(
        name="micro_batch",
        title=f"micro-batches of {ROWS:,} rows",
        size=30,
        quick_size=10,
        expected=lambda size: (size, size * ROWS),
        contenders=(
            Contender(RATE, rate, Bound(kept=True, why="makes the rows of a micro-batch when it is run")),
            Contender(PENSTOCK, penstock, ahead),
            Contender(BY_HAND, by_hand, ahead),
        ),
        baseline=RATE,
        targets=(Target(at_most=1.1, against=RATE),),
    )
