"""partitions: rows that the executors make themselves, beside the same rows that pass through the driver's gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.spark import data
from benchmarks.spark.ingest import CAPACITY, streamed
from benchmarks.workload import PENSTOCK, Bound, Contender, Target, Workload
from penstock import Stream
from penstock.spark import Spark

GATE = "through the gate"
LOOKING = "penstock, looking ahead"
PARTS = 4


def row_of(n: int) -> data.Row:
    """Make one row."""
    return (n, n * 0.5, f"name-{n % 1000}")


def shard(size: int, parts: int) -> Callable[[Any, int], Stream[data.Row]]:
    """Return a function that opens a part: every so manieth number below `size`, from a row on."""

    def opened(part: int, row: int) -> Stream[data.Row]:
        return Stream.range(part + parts * row, size, parts).map(row_of)

    return opened


def through_gate(spark: Spark, size: int) -> object:
    """Make the rows in this process."""

    def opened(row: int) -> Stream[data.Row]:
        return Stream.range(row, size).map(row_of)

    return streamed(spark.frame(opened, data.DDL, capacity=CAPACITY))


def on_executors(spark: Spark, size: int, *, live: bool, parts: int = PARTS) -> object:
    """Make the rows on the executors."""
    opened = shard(size, parts)
    return streamed(
        spark.partitioned(range(parts), opened, data.DDL, streaming=True, live=live, capacity=CAPACITY // parts)
    )


def workload(spark: Spark) -> Workload:
    """Make Python tuples and give them to Spark, written nowhere."""
    held = Bound(kept=True, why=f"at most {CAPACITY // PARTS:,} rows of each of {PARTS} parts in a micro-batch")
    return Workload(
        name="partitions",
        title="rows made on the executors, written nowhere",
        size=3_000_000,  # a query takes a second or two to start, which is not what is asked here
        quick_size=200_000,
        expected=data.totals,
        contenders=(
            Contender(
                GATE,
                lambda size: through_gate(spark, size),
                Bound(kept=True, why=f"at most {CAPACITY:,} rows ahead of Spark's last commit"),
            ),
            Contender(PENSTOCK, lambda size: on_executors(spark, size, live=False), held),
            Contender(LOOKING, lambda size: on_executors(spark, size, live=True), held),
        ),
        baseline=GATE,
        targets=(Target(at_most=0.5, against=GATE, rate=True),),
    )
