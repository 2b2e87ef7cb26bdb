"""stage: a Flow of three Python functions beside chained udfs and a mapInArrow written by hand.

The udfs get and give single columns, as one would write them; a Flow gets and gives whole rows. What comes out is added
up over all columns, so that Spark cannot leave any of them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf

from benchmarks.spark import data
from benchmarks.spark.data import Row
from benchmarks.spark.functions import is_wanted, labelled, relabelled, rescaled, scaled, wanted
from benchmarks.workload import PENSTOCK, Bound, Contender, Target, Workload
from penstock import Stream, flow
from penstock.spark import Spark

PLAIN = "chained plain udfs"
ARROW = "chained Arrow udfs"
BY_HAND = "mapInArrow by hand"
ROWS_BY_HAND = "mapInArrow by hand, rows"
ONE_BATCH = Bound(kept=True, why="a task holds the one batch it works on")


@flow
def three(rows: Stream[Row]) -> Stream[Row]:
    """Call the three functions, one after the other."""
    return rows.map(rescaled).filter(is_wanted).map(relabelled)


def in_arrow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the same in one loop that never makes a row, with other functions; it is the best that we know of."""
    for batch in batches:
        numbers: list[int] = []
        xs: list[float] = []
        names: list[str] = []
        for number, x, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            y = scaled(x)
            if wanted(y):
                numbers.append(number)
                xs.append(y)
                names.append(labelled(name, number))
        arrays = [pa.array(values, kind) for values, kind in zip((numbers, xs, names), data.ARROW.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=data.ARROW)


def rows_in_arrow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do the same in one loop with the functions of whole rows, which a Flow calls as well."""
    for batch in batches:
        numbers: list[int] = []
        xs: list[float] = []
        names: list[str] = []
        for each in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row = rescaled(each)
            if is_wanted(row):
                number, x, name = relabelled(row)
                numbers.append(number)
                xs.append(x)
                names.append(name)
        arrays = [pa.array(values, kind) for values, kind in zip((numbers, xs, names), data.ARROW.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=data.ARROW)


def _summed(df: DataFrame) -> tuple[float, ...]:
    found: Any = df.selectExpr("count(*)", "sum(id)", "sum(x)", "sum(length(name))").first()
    return tuple(found)


def _expected(size: int) -> tuple[float, ...]:
    rows = [relabelled(row) for each in data.tuples(size) if is_wanted(row := rescaled(each))]
    numbers, xs, names = zip(*rows, strict=True) if rows else ((), (), ())
    return len(rows), sum(numbers), sum(xs), sum(map(len, names))


def _chained(spark: Spark, *, arrow: bool) -> Callable[[int], object]:
    """Return the same work as three udfs."""
    change, keep = udf(scaled, "double", useArrow=arrow), udf(wanted, "boolean", useArrow=arrow)
    label = udf(labelled, "string", useArrow=arrow)

    def run(size: int) -> object:
        df = data.frame(spark.session, size).withColumn("x", change("x")).where(keep("x"))
        return _summed(df.withColumn("name", label("name", "id")))

    return run


def workload(spark: Spark) -> Workload:
    """Map, filter and map a DataFrame's rows in the executors, and add up what comes out."""

    def by_hand(size: int) -> object:
        return _summed(data.frame(spark.session, size).mapInArrow(in_arrow, data.DDL))

    def rows_by_hand(size: int) -> object:
        return _summed(data.frame(spark.session, size).mapInArrow(rows_in_arrow, data.DDL))

    def penstock(size: int) -> object:
        return _summed(data.frame(spark.session, size).transform(spark.stage(three, data.DDL, rows="tuple")))

    return Workload(
        name="python_stage",
        title="map, filter, map of Python functions in the executors",
        size=1_000_000,
        quick_size=200_000,
        expected=_expected,
        contenders=(
            Contender(PLAIN, _chained(spark, arrow=False), ONE_BATCH),
            Contender(PENSTOCK, penstock, ONE_BATCH),
            Contender(BY_HAND, by_hand, ONE_BATCH),
            Contender(ROWS_BY_HAND, rows_by_hand, ONE_BATCH),
            Contender(ARROW, _chained(spark, arrow=True), ONE_BATCH),
        ),
        baseline=BY_HAND,
        targets=(
            Target(at_most=0.6, against=PLAIN),
            Target(at_most=1.15, against=BY_HAND),
            Target(at_most=1.05, against=ROWS_BY_HAND),
        ),
    )
