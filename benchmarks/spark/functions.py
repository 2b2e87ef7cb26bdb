"""functions: what every contender calls in the executors, so that only the plumbing differs."""

from __future__ import annotations

from benchmarks.spark.data import Row


def scaled(x: float) -> float:
    return x * 1.5 + 1.0


def wanted(x: float) -> bool:
    return x % 3.0 != 1.0


def labelled(name: str, number: int) -> str:
    return f"{name}/{number % 7}"


# The same three for a whole row.


def rescaled(row: Row) -> Row:
    return row[0], scaled(row[1]), row[2]


def is_wanted(row: Row) -> bool:
    return wanted(row[1])


def relabelled(row: Row) -> Row:
    return row[0], row[1], labelled(row[2], row[0])
