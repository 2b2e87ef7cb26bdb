"""python -m benchmarks: measure, check, compare and report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import this_machine
from benchmarks.measure import measure
from benchmarks.page import write
from benchmarks.picture import ratios_picture, targets_picture
from benchmarks.report import Result, as_data, markdown, summary, terminal_table
from benchmarks.verdict import verdicts
from benchmarks.workloads import WORKLOADS

ROUNDS = 15
QUICK_ROUNDS = 5


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        choices=[each.name for each in WORKLOADS],
        help="one workload; repeatable",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds ({ROUNDS}, or {QUICK_ROUNDS} when quick)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to a file")
    parser.add_argument("--write", action="store_true", help="update docs/performance.md and its pictures")
    chosen = parser.parse_args(arguments)
    if chosen.write and (chosen.only or chosen.quick):
        parser.error("--write shows all workloads at full size: leave out --only and --quick")
    if chosen.rounds is not None and chosen.rounds < 1:
        parser.error(f"--rounds must be >= 1, got {chosen.rounds}")
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen workloads and say whether all that was asked is reached."""
    chosen = options(arguments)
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    machine = this_machine()
    print(f"{machine.sentence()}; {rounds} rounds\n")
    results: list[Result] = []
    for workload in WORKLOADS:
        if chosen.only and workload.name not in chosen.only:
            continue
        measurement = measure(workload, workload.quick_size if chosen.quick else workload.size, rounds)
        results.append(Result(measurement, verdicts(measurement)))
        print(f"{terminal_table(results[-1])}\n", flush=True)
    print(summary(results))
    if chosen.json:
        chosen.json.write_text(json.dumps(as_data(results, machine, rounds), indent=1), encoding="utf-8")
    judged = [verdict for result in results for verdict in result.verdicts]
    if chosen.write:
        write(markdown(results, machine, rounds), ratios_picture(results), targets_picture(judged))
    return 0 if all(verdict.passed for verdict in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
