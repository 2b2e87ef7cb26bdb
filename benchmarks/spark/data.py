"""data: the rows that every contender moves, and what they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "id long, x double, name string"
ARROW = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("name", pa.string())])
BATCH = 10_000
"""Rows of a record batch: as many as Spark itself puts into one."""

Row = tuple[int, float, str]


def frame(session: SparkSession, size: int) -> DataFrame:
    """Let Spark make the rows, one partition per core."""
    rows = session.range(0, size, 1, session.sparkContext.defaultParallelism)
    return rows.selectExpr("id", "cast(id AS double) * 0.5D AS x", "concat('name-', id % 1000) AS name")


def tuples(size: int) -> list[Row]:
    """Make the same rows here."""
    return [(n, n * 0.5, f"name-{n % 1000}") for n in range(size)]


def batches(rows: list[Row]) -> list[pa.RecordBatch]:
    """Put rows into record batches."""
    return [
        pa.record_batch([pa.array(column) for column in zip(*rows[at : at + BATCH], strict=True)], schema=ARROW)
        for at in range(0, len(rows), BATCH)
    ]


def totals(size: int) -> tuple[int, int]:
    """Return what all rows add up to: how many they are, and the sum of their first column."""
    return size, size * (size - 1) // 2
