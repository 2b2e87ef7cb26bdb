"""letters: rows of which some do not fit the schema and go to a dead letter, beside the same where all of them fit.

What is timed begins when the rows are asked for: how long Spark takes to start a query is not what is measured.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

from benchmarks.spark import data
from benchmarks.spark.ingest import CAPACITY, streamed
from benchmarks.spark.timing import Timed
from benchmarks.workload import PENSTOCK, Bound, Contender, Target, Workload
from penstock import Sink, Stream
from penstock.spark import Spark

ALL_FIT = "all rows fit"
FEW = "penstock, one in 1,000 does not fit"
LEAST = 100_000
"""Rows that are to come through in a second."""
AHEAD = Bound(kept=True, why=f"at most {CAPACITY:,} rows ahead of Spark's last commit, and as many letters")


@lru_cache(maxsize=3)
def _rows(size: int, each: int) -> list[Any]:
    """Make rows; the second field of one in `each` is text, and none is for 0."""
    rows: list[Any] = data.tuples(size)
    if each:
        rows[each - 1 :: each] = [(number, "no number", name) for number, _, name in rows[each - 1 :: each]]
    return rows


def workload(spark: Spark) -> Workload:
    """Bring tuples into Spark, those that fit."""

    def run(size: int, each: int) -> object:
        letters: list[int] = []
        began: list[float] = []
        rows = _rows(size, each)

        def opened() -> Stream[Any]:
            began.append(time.perf_counter())
            return Stream.from_iterable(rows)

        sink: Sink[Any, Any] = Sink.for_each(lambda letter: letters.append(letter.row[0]))
        count, total = streamed(spark.frame(Stream.defer(opened), data.DDL, capacity=CAPACITY, dead_letter=sink))
        return Timed((count + len(letters), total + sum(letters)), time.perf_counter() - began[0])

    return Workload(
        name="dead_letters",
        title="Python tuples into Spark, one in 100 of which does not fit",
        size=1_000_000,
        quick_size=500_000,
        expected=data.totals,
        contenders=(
            Contender(ALL_FIT, lambda size: run(size, 0), AHEAD),
            Contender(FEW, lambda size: run(size, 1000), AHEAD),
            Contender(PENSTOCK, lambda size: run(size, 100), AHEAD),
        ),
        baseline=ALL_FIT,
        targets=(
            Target(at_most=1.0, against=f"{LEAST:,} rows a second", ideal=lambda size: size / LEAST, rate=True),
            Target(at_most=2.0, against=ALL_FIT),
        ),
    )
