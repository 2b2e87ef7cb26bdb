"""egress: the rows of a DataFrame as Python tuples in this process, and what memory that takes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pyarrow.compute as pc  # type: ignore[import-untyped]

from benchmarks.spark import data
from benchmarks.spark.processes import growth
from benchmarks.workload import PENSTOCK, Bound, Check, Contender, Finding, Target, Workload
from penstock.spark import Spark
from penstock.spec.interfaces import Subscription

ITERATOR = "toLocalIterator()"
PREFETCHED = "toLocalIterator(prefetch)"
TABLE = "toArrow()"
SUBSCRIBED = "penstock, subscribed"
MEGABYTE = 1 << 20
ROOM = 30 * MEGABYTE
"""What a bounded way may grow by, however many rows there are."""
ASKED = 10_000
"""Rows that the subscriber asks for at a time."""


def _counted(rows: Iterable[Any]) -> tuple[int, int]:
    """Count rows and add up their first column, one by one."""
    count = total = 0
    for row in rows:
        count += 1
        total += row[0]
    return count, total


class Counting:
    """Be a subscriber that counts, asking for so many rows at a time."""

    def __init__(self) -> None:
        self.count = self.total = 0
        self.over = threading.Event()
        self.error: Exception | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscription = subscription
        subscription.request(ASKED)

    def on_next(self, row: data.Row, /) -> None:
        self.count += 1
        self.total += row[0]
        if self.count % ASKED == 0:
            self._subscription.request(ASKED)

    def on_error(self, error: Exception, /) -> None:
        self.error = error
        self.over.set()

    def on_complete(self) -> None:
        self.over.set()

    def result(self) -> tuple[int, int]:
        """Wait for the end."""
        self.over.wait()
        if self.error is not None:
            raise self.error
        return self.count, self.total


class Ways:
    """Be the ways from a DataFrame to tuples here."""

    def __init__(self, spark: Spark) -> None:
        self._spark = spark

    def iterator(self, size: int) -> object:
        return _counted(data.frame(self._spark.session, size).toLocalIterator())

    def prefetched(self, size: int) -> object:
        return _counted(data.frame(self._spark.session, size).toLocalIterator(prefetchPartitions=True))

    def table(self, size: int) -> object:
        found = data.frame(self._spark.session, size).toArrow()
        return found.num_rows, pc.sum(found.column("id")).as_py()  # type: ignore[attr-defined]

    def penstock(self, size: int) -> object:
        return _counted(self._spark.stream(data.frame(self._spark.session, size), rows="tuple"))

    def subscribed(self, size: int) -> object:
        subscriber = Counting()
        self._spark.stream(data.frame(self._spark.session, size), rows="tuple").subscribe(subscriber)
        return subscriber.result()

    def memory(self, size: int) -> Finding:
        """See by how much this process grows while rows pass through."""
        self.penstock(size // 10)
        found, grown = growth(lambda: self.penstock(size))
        passed = found == data.totals(size) and grown <= ROOM
        _, whole = growth(lambda: self.table(size))
        said = f"by {grown / MEGABYTE:.0f} MB over {size:,} rows, {ROOM // MEGABYTE} MB allowed"
        return Finding(passed, f"{said} (toArrow(): {whole / MEGABYTE:.0f} MB)")


def workload(spark: Spark) -> Workload:
    """Bring rows into this process and look at each."""
    ways = Ways(spark)
    partition = Bound(kept=False, why="a whole partition in the driver at a time")
    credit = Bound(kept=True, why="two batches per task on their way, one open here")
    return Workload(
        name="egress",
        title="rows of a DataFrame as tuples in this process",
        size=1_000_000,
        quick_size=200_000,
        expected=data.totals,
        contenders=(
            Contender(TABLE, ways.table, Bound(kept=False, why="the whole DataFrame in the driver")),
            Contender(PENSTOCK, ways.penstock, credit),
            Contender(SUBSCRIBED, ways.subscribed, credit),
            Contender(ITERATOR, ways.iterator, partition),
            Contender(PREFETCHED, ways.prefetched, partition),
        ),
        baseline=TABLE,
        targets=(
            Target(at_most=0.25, against=ITERATOR, rate=True),
            Target(at_most=2.0, against=TABLE, rate=True),
        ),
        checks=(Check("this process grows little", lambda: ways.memory(5_000_000)),),
    )
