"""partitions: rows that the executors make themselves, beside the same rows that pass through the driver's gate."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from benchmarks.spark import data
from benchmarks.spark.ingest import CAPACITY, streamed
from benchmarks.workload import PENSTOCK, Bound, Contender, Target, Workload
from penstock import Stream, thread
from penstock.spark import Spark

GATE = "through the gate"
LOOKING = "penstock, looking ahead"
PARTS = 4
PAGE, WAIT = 2_000, 0.05
"""Rows of a page, and the seconds until one has come, of a part that mostly waits: 40,000 rows a second at most."""


def row_of(n: int) -> data.Row:
    """Make one row."""
    return (n, n * 0.5, f"name-{n % 1000}")


def row_of_line(n: int) -> data.Row:
    """Make one row of a line of JSON, as most sources that come by lines do; the line itself costs a quarter of it."""
    found = json.loads(
        f'{{"id": {n}, "x": {n * 0.5}, "name": "name-{n % 1000}", "tags": ["a", "b"], "at": {{"k": 1}}}}'
    )
    return (found["id"], found["x"], found["name"])


def row_of_page(n: int) -> data.Row:
    """Make one row of a page; who makes the first of a part's page waits for it, as for one from far away."""
    if n // PARTS % PAGE == 0:
        time.sleep(WAIT)
    return row_of(n)


def shard(size: int, parts: int, row: Callable[[int], data.Row]) -> Callable[[Any, int], Stream[data.Row]]:
    """Return a function that opens a part: every so manieth number below `size`, from a row on."""

    def opened(part: int, first: int) -> Stream[data.Row]:
        return Stream.range(part + parts * first, size, parts).map(row)

    return opened


def through_gate(spark: Spark, size: int, *, row: Callable[[int], data.Row] = row_of) -> object:
    """Make the rows in this process."""

    def opened(first: int) -> Stream[data.Row]:
        return Stream.range(first, size).map(row)

    return streamed(spark.frame(opened, data.DDL, capacity=CAPACITY))


def pages_through_gate(spark: Spark, size: int) -> object:
    """Make the same pages in this process, those of each part on a thread."""
    opened = shard(size, PARTS, row_of_page)
    first, *others = [opened(part, 0).subscribe_on(thread()) for part in range(PARTS)]
    return streamed(spark.frame(first.merge(*others), data.DDL, capacity=CAPACITY))


def on_executors(
    spark: Spark, size: int, *, live: bool, parts: int = PARTS, row: Callable[[int], data.Row] = row_of
) -> object:
    """Make the rows on the executors."""
    opened = shard(size, parts, row)
    return streamed(
        spark.partitioned(range(parts), opened, data.DDL, streaming=True, live=live, capacity=CAPACITY // parts)
    )


def _against_gate(
    name: str, title: str, size: int, rate: float, row: Callable[[int], data.Row], spark: Spark
) -> Workload:
    held = Bound(kept=True, why=f"at most {CAPACITY // PARTS:,} rows of each of {PARTS} parts in a micro-batch")
    return Workload(
        name=name,
        title=title,
        size=size,  # a query takes a second or two to start, which is not what is asked here
        quick_size=200_000,
        expected=data.totals,
        contenders=(
            Contender(
                GATE,
                lambda size: through_gate(spark, size, row=row),
                Bound(kept=True, why=f"at most {CAPACITY:,} rows ahead of Spark's last commit"),
            ),
            Contender(PENSTOCK, lambda size: on_executors(spark, size, live=False, row=row), held),
            Contender(LOOKING, lambda size: on_executors(spark, size, live=True, row=row), held),
        ),
        baseline=GATE,
        targets=(Target(at_most=1 / rate, against=GATE, rate=True),),
    )


def workload(spark: Spark) -> Workload:
    """Make Python tuples and give them to Spark, written nowhere."""
    return _against_gate("partitions", "rows made on the executors, written nowhere", 3_000_000, 2.0, row_of, spark)


def of_lines(spark: Spark) -> Workload:
    """Make Python tuples of lines of JSON and give them to Spark, written nowhere."""
    title = "rows made of JSON on the executors, written nowhere"
    return _against_gate("partitions_json", title, 2_000_000, 1.5, row_of_line, spark)
