"""killed_graph: a graph to be killed while it runs: two sources, windows and a join, and two sinks."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

from penstock import Sink, Stream, branch
from penstock.spark import Spark, entry, frame, numbered, spark_sink
from tests.spark.processes import QUICK_JVM

NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
AHEAD = 400
"""Rows between the moment of the kill and where the sources wait for it."""


class Ledger:
    """A database that takes the windows of a micro-batch, and its number, in one transaction."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: list[tuple[int, int]] = []
        with sqlite3.connect(file) as base:
            base.execute("create table if not exists batches (number integer primary key)")
            base.execute("create table if not exists windows (start integer, rows integer)")

    def take(self, one: Any) -> None:
        """Keep a row until its micro-batch is whole, then write all of it unless it was written before."""
        if one.number == 0:
            self._rows = []
        self._rows.append((one.row.start, one.row.rows))
        if one.last:
            with sqlite3.connect(self._file) as base:
                try:
                    base.execute("insert into batches values (?)", (one.batch,))
                except sqlite3.IntegrityError:
                    return
                base.executemany("insert into windows values (?, ?)", self._rows)

    def windows(self) -> list[tuple[int, int]]:
        """Return what was written."""
        with sqlite3.connect(self._file) as base:
            return base.execute("select start, rows from windows order by start").fetchall()


def windows(left: Any, right: Any) -> Any:
    """Count the rows of both in each minute."""
    both = left.union(right)
    counted = both.groupBy(f.window("at", "1 minute")).agg(f.count("*").alias("rows"))
    return counted.select(f.col("window.start").cast("long").alias("start"), "rows")


def joined(left: Any, right: Any) -> Any:
    """Find for each row of the left one that comes within ten seconds on the right; every third has none."""
    others = right.where("n % 3 != 0").select(f.col("n").alias("m"), f.col("at").alias("met"))
    near = f.expr("n = m and met between at and at + interval 10 seconds")
    return left.join(others, near, "leftOuter").select("n", "m")


def _unchanged(df: Any) -> Any:
    return df


class Life:
    """One of the lives of the graph: the rows of its sources, and when it says that its driver may be killed.

    The rows are the numbers below `rows`, or those that `numbers` gives, from one on; `step` is put behind each source.
    """

    def __init__(
        self,
        folder: Path,
        rows: int,
        moment: int | None = None,
        *,
        numbers: Callable[[int], Iterable[int]] | None = None,
        step: Callable[[Any], Any] = _unchanged,
    ) -> None:
        self._folder = folder
        self._rows = rows
        self._moment = moment
        self._numbers = numbers
        self._step = step
        self.ledger = Ledger(folder / "ledger")

    def _source(self, delay: int) -> Stream[Any]:
        moment, numbers, step = self._moment, self._numbers, self._step

        def row(n: int) -> tuple[int, dt.datetime]:
            if moment is not None and n == moment:
                os.write(1, b"now\n")  # at once: the threads of two sources may say it together
            if moment is not None and n >= moment + AHEAD:
                threading.Event().wait()  # the kill is on its way
            return n, NOON + dt.timedelta(seconds=n + delay)

        given = Stream.range(self._rows) if numbers is None else Stream.resumable(numbers, counted=True)
        source = given.map(row) | entry("n long, at timestamp", capacity=500, latency=0.1)
        return source | frame(lambda df: step(df).withWatermark("at", "5 seconds"))

    def run(self, spark: Spark) -> Any:
        """Start the graph."""
        out = str(self._folder / "out")
        left, right = self._source(0), self._source(5)
        graph = left | branch(
            frame(windows, right) | numbered() | Sink.for_each(self.ledger.take),
            frame(joined, right) | spark_sink(lambda df: df.writeStream.format("parquet").option("path", out)),
        )
        return graph.run(spark, checkpoint=self._folder / "checkpoint")

    def told(self, spark: Spark) -> dict[str, Any]:
        """Return what both sinks hold: the windows, and the numbers that have met another and those that have not."""
        pairs = [tuple(row) for row in spark.session.read.parquet(str(self._folder / "out")).collect()]
        return {
            "windows": [list(window) for window in self.ledger.windows()],
            "met": sorted(n for n, m in pairs if n == m),
            "alone": sorted(n for n, m in pairs if m is None),
            "pairs": len(pairs),
        }


def once(rows: int) -> dict[str, Any]:
    """Return what is told if no row is lost and none is there twice."""
    noon = int(NOON.timestamp())
    counts = Counter(noon + second // 60 * 60 for second in [*range(rows), *range(5, rows + 5)])
    return {
        "windows": [list(each) for each in sorted(counts.items())],
        "met": [n for n in range(rows) if n % 3],
        "alone": [n for n in range(rows) if n % 3 == 0],
        "pairs": rows,
    }


def session(master: str) -> Spark:
    """Start a session for such a graph."""
    conf = {
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.executor.extraJavaOptions": QUICK_JVM,
        "spark.sql.shuffle.partitions": "2",
    }
    return Spark(master=master, conf=conf)


def main(folder: Path, rows: int, moment: int, master: str = "local[2]") -> None:
    with session(master) as spark:
        Life(folder, rows, moment).run(spark).wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
