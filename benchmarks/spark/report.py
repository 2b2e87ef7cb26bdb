"""report: the Spark part of docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.machine import Machine
from benchmarks.report import Result, bound_table, markdown_table, milliseconds, verdict_table
from benchmarks.verdict import times
from benchmarks.workload import Measure

PICTURE = "performance-spark.svg"


def markdown(results: Sequence[Result], machine: Machine, rounds: int) -> str:
    """Write the part of the page that is measured on Spark."""
    measured = f"Measured on {machine.sentence()}. {rounds} rounds"
    parts = [
        f"{measured}; each figure is the median of the paired ratios, with the quartiles in brackets.",
        f"![Each target on Spark and how much of it is used](images/{PICTURE})",
        verdict_table(results),
        "### What each way takes",
        time_table(results),
        "CPU time is that of the driver, the JVM and Spark's Python workers together.",
        "### What each way holds",
        bound_table(results),
    ]
    return "\n\n".join(parts)


def time_table(results: Iterable[Result]) -> str:
    """Give one row to each contender of each workload."""
    rows: list[tuple[str, ...]] = [("workload", "way", "median time", "CPU time", "per second", "against the first")]
    for result in results:
        measurement = result.measurement
        workload = measurement.workload
        names = sorted((each.name for each in workload.contenders), key=lambda name: name != workload.baseline)
        for number, name in enumerate(names):
            ratio = measurement.ratio(name, workload.baseline)
            wall = measurement.median(name)
            rows.append(
                (
                    f"`{workload.name}`, {workload.title}" if not number else "",
                    name,
                    milliseconds(wall),
                    milliseconds(measurement.median(name, Measure.CPU)),
                    f"{short_count(measurement.size / wall)}",
                    f"{times(ratio.median)} ({times(ratio.low)} .. {times(ratio.high)})" if number else "",
                )
            )
    return markdown_table(rows, numeric_from=2)


def short_count(count: float) -> str:
    """Write a count with about three figures, such as 5.9, 840, 1.25M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"
