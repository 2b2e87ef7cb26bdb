"""python -m benchmarks.spark.executors: rows made on 1, 2 and 4 executors of a loopback cluster, and through the gate.

Every executor has one core, and all share this machine: where it has fewer cores than executors, the ratios say what
the machine has and not what penstock does. Each way runs as often as `--rounds` says; the middle one counts. With
`--rows lines` each row is made of a line of JSON, which is work for Python; with `--rows pages` rows come in pages that
are waited for, as those of most live sources are; else a row is made of a number.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.spark import data
from benchmarks.spark.partitions import (
    on_executors,
    pages_through_gate,
    row_of,
    row_of_line,
    row_of_page,
    through_gate,
)
from benchmarks.spark.processes import cpu_seconds
from penstock.spark import Spark
from tests.spark.cluster import Cluster

EXECUTORS = (1, 2, 4)
ROWS = {"numbers": row_of, "lines": row_of_line, "pages": row_of_page}
ROOT = Path(__file__).parents[2]


def timed(work: Callable[[], object], size: int, rounds: int) -> str:
    """Say the rows per second of the middle run, after one that warms up, and the CPU time of all processes."""
    seconds: list[float] = []
    spent: list[float] = []
    for number in range(rounds + 1):
        began, before = time.perf_counter(), cpu_seconds()
        if work() != data.totals(size):
            raise AssertionError("rows were lost or came twice")
        if number:
            seconds.append(time.perf_counter() - began)
            spent.append(cpu_seconds() - before)
    load = os.getloadavg()[0]
    cpu = statistics.median(spent) / size * 1e6
    return f"{size / statistics.median(seconds):,.0f} rows/s, {cpu:.1f} s of CPU for a million (load {load:.1f})"


def rates(master: str, executors: int, rows: str, size: int, rounds: int) -> dict[str, str]:
    """Measure all ways on so many executors."""
    row = ROWS[rows]
    gate = pages_through_gate if rows == "pages" else partial(through_gate, row=row)
    conf = {
        "spark.cores.max": executors,
        "spark.executor.memory": "512m",
        "spark.driver.memory": "1g",
        "spark.executorEnv.PYTHONPATH": str(ROOT),  # where the functions of the parts are
    }
    with Spark(master=master, conf=conf, app="penstock benchmarks") as spark:
        while spark.session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() <= executors:  # type: ignore[union-attr]
            time.sleep(0.1)
        return {
            "through the gate": timed(lambda: gate(spark, size), size, rounds),
            "on executors": timed(lambda: on_executors(spark, size, live=False, row=row), size, rounds),
            "on executors, looking ahead": timed(lambda: on_executors(spark, size, live=True, row=row), size, rounds),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark.executors", description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000, help="rows of a run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", choices=list(ROWS), default="numbers", help="what rows are made of")
    chosen = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {chosen.size:,} rows of {chosen.rows}")
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder,
        Cluster(Path(folder), workers=max(EXECUTORS)) as cluster,
    ):
        for executors in EXECUTORS:
            for way, said in rates(cluster.master, executors, chosen.rows, chosen.size, chosen.rounds).items():
                print(f"{executors} executors, {way}: {said}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
