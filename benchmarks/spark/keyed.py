"""keyed: a running sum per key whose states Spark keeps, beside a processor for transformWithState written by hand.

Rows come from files, so many of them in each micro-batch, as they would from a broker. Both ways keep their states in
RocksDB and give one row for each row, which goes nowhere.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

from benchmarks.spark.processes import workers_growth
from benchmarks.workload import PENSTOCK, Bound, Check, Contender, Finding, Target, Workload
from penstock import Stream, flow
from penstock.spark import Spark, keyed_by

BY_HAND = "transformWithState by hand"
DDL = "key long, n long"
SUMS = "key long, total long"
FILES = 4
"""Micro-batches of a run."""
SHARE = 10
"""Rows of a key."""
MILLION = 1_000_000
MEGABYTE = 1 << 20
ROOM = 64 * MEGABYTE
"""What a worker may grow by between the first micro-batch of new keys and the last one."""
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORE = "spark.sql.streaming.stateStore.providerClass"


class Pair(NamedTuple):
    """One row."""

    key: int
    n: int


Sum = tuple[int, int]
"""A key, and the sum of its rows so far."""


def added(before: Sum, row: Pair) -> Sum:
    """Add a row to the sum of its key."""
    return row.key, before[1] + row.n


@flow
def sums(rows: Stream[Pair]) -> Stream[Sum]:
    return rows.scan(added, (0, 0))


class Sums(StatefulProcessor):
    """Be the same by hand."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", StructType([StructField("total", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  Spark's names
        kept = self._total.get()
        total = 0 if kept is None else kept[0]
        for row in rows:
            found, total = added((0, total), row)
            yield Row(key=found, total=total)
        self._total.update((total,))

    def close(self) -> None:
        pass


class Keyed:
    """Be the ways to keep a sum per key."""

    def __init__(self, spark: Spark) -> None:
        self._spark = spark
        spark.session.conf.set(STORE, ROCKSDB)
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
        spark.on_close(partial(shutil.rmtree, self._folder, ignore_errors=True))

    def rows(self, size: int, keys: int, files: int = FILES) -> DataFrame:
        """Return a stream of so many rows, some in each micro-batch; a key comes again after all others."""
        place = self._folder / f"{size}-{keys}-{files}"
        if not place.exists():
            made = self._spark.session.range(0, size, 1, files).selectExpr(f"id % {keys} AS key", "1L AS n")
            made.write.parquet(str(place))
        reader = self._spark.session.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(place))

    def by_hand(self, rows: DataFrame) -> DataFrame:
        return rows.groupBy("key").transformWithState(Sums(), SUMS, "Append", "None")

    def penstock(self, rows: DataFrame) -> DataFrame:
        return rows.transform(self._spark.stage(keyed_by(sums, "key"), SUMS, rows=Pair))

    def run(self, way: Callable[[DataFrame], DataFrame], size: int) -> object:
        """Run a query to its end, and return what comes out adds up to."""
        return self._summed(way(self.rows(size, max(1, size // SHARE))))

    def _summed(self, df: DataFrame) -> tuple[int, int]:
        seen = df.observe("seen", f.count(f.lit(1)).alias("count"), f.sum("total").alias("total"))
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as checkpoint:
            writer = seen.writeStream.format("noop").option("checkpointLocation", checkpoint)
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
            found: list[Any] = [each.observedMetrics["seen"] for each in query.recentProgress]
        return sum(one["count"] for one in found), sum(one["total"] or 0 for one in found)

    def million(self, keys: int = MILLION, files: int = 20) -> Finding:
        """See by how much the workers grow while a million keys come, each of which is kept."""
        way = self.penstock(self.rows(keys, keys, files))
        found, grown, most = workers_growth(lambda: self._summed(way))
        passed = found == (keys, keys) and grown <= ROOM
        said = f"by {grown / MEGABYTE:.0f} MB over {keys:,} keys in {files} micro-batches, to {most / MEGABYTE:.0f} MB"
        return Finding(passed, f"{said}, {ROOM // MEGABYTE} MB allowed")


def expected(size: int) -> tuple[int, int]:
    """Return how many rows come out, and the sum of all running sums of ones."""
    keys = max(1, size // SHARE)
    whole, more = divmod(size, keys)
    return size, (keys - more) * whole * (whole + 1) // 2 + more * (whole + 1) * (whole + 2) // 2


def workload(spark: Spark) -> Workload:
    """Keep a sum per key."""
    keyed = Keyed(spark)
    return Workload(
        name="keyed_state",
        title=f"a running sum per key, {SHARE} rows of each",
        size=200_000,
        quick_size=40_000,
        expected=expected,
        contenders=(
            Contender(
                BY_HAND,
                lambda size: keyed.run(keyed.by_hand, size),
                Bound(kept=True, why="a task holds a batch and the state of one key"),
            ),
            Contender(
                PENSTOCK,
                lambda size: keyed.run(keyed.penstock, size),
                Bound(kept=True, why="a task holds the rows of one bucket and the state of one key"),
            ),
        ),
        baseline=BY_HAND,
        targets=(Target(at_most=1.1, against=BY_HAND),),
        checks=(Check("workers grow little with the keys", keyed.million),),
    )
