"""python -m benchmarks.spark: measure penstock on Spark against Spark's own ways."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.machine import this_machine
from benchmarks.measure import measure
from benchmarks.page import ON_SPARK, write_part
from benchmarks.picture import targets_picture
from benchmarks.report import Result, as_data, summary, terminal_table
from benchmarks.spark import egress, ingest, keyed, letters, microbatch, native, partitions, stage, timing
from benchmarks.spark.report import PICTURE, markdown
from benchmarks.verdict import verdicts
from benchmarks.workload import Workload
from penstock.spark import Spark

ROUNDS = 7
QUICK_ROUNDS = 2
CONF = {"spark.driver.memory": "3g"}
"""Some of the ways keep all rows in the JVM, and fail where it has less."""
WORKLOADS: dict[str, Callable[[Spark], Workload]] = {
    "native_steps": native.workload,
    "python_stage": stage.workload,
    "egress": egress.workload,
    "ingest_arrow": ingest.of_batches,
    "ingest_tuples": ingest.of_tuples,
    "dead_letters": letters.workload,
    "micro_batch": microbatch.workload,
    "partitions": partitions.workload,
    "partitions_json": partitions.of_lines,
    "keyed_state": keyed.workload,
}


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument("--only", action="append", metavar="NAME", choices=list(WORKLOADS), help="one; repeatable")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds ({ROUNDS}, or {QUICK_ROUNDS} when quick)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="multiply all sizes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to a file")
    parser.add_argument("--write", action="store_true", help="update the Spark part of docs/performance.md")
    chosen = parser.parse_args(arguments)
    if chosen.write and (chosen.only or chosen.quick or chosen.scale != 1.0):
        parser.error("--write shows all workloads at full size: leave out --only, --quick and --scale")
    if chosen.rounds is not None and chosen.rounds < 1:
        parser.error(f"--rounds must be >= 1, got {chosen.rounds}")
    if not chosen.scale > 0:
        parser.error(f"--scale must be > 0, got {chosen.scale}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen workloads and say whether all that was asked is reached."""
    chosen = options(arguments)
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    results: list[Result] = []
    with Spark(app="penstock benchmarks", conf=CONF) as spark:
        java = spark.session.sparkContext._jvm.System.getProperty("java.version")  # type: ignore[union-attr]
        machine = this_machine(("penstock", "pyspark", "pyarrow"), (("Java", str(java)),))
        print(f"{machine.sentence()}; {rounds} rounds\n")
        for name, make in WORKLOADS.items():
            if chosen.only and name not in chosen.only:
                continue
            workload = make(spark)
            size = max(1, round((workload.quick_size if chosen.quick else workload.size) * chosen.scale))
            measurement = measure(workload, size, rounds, timing.run)
            results.append(Result(measurement, verdicts(measurement)))
            print(f"{terminal_table(results[-1])}\n", flush=True)
    print(summary(results))
    if chosen.json:
        chosen.json.write_text(json.dumps(as_data(results, machine, rounds), indent=1), encoding="utf-8")
    judged = [verdict for result in results for verdict in result.verdicts]
    if chosen.write:
        write_part(ON_SPARK, markdown(results, machine, rounds), {PICTURE: targets_picture(judged)})
    return 0 if all(verdict.passed for verdict in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
