"""python -m benchmarks.operators: measure every operator by itself."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import this_machine
from benchmarks.measure import measure
from benchmarks.operators import joints, memory, observed, signals, synchronous
from benchmarks.operators.report import line, markdown
from benchmarks.page import OPERATORS, write_part
from benchmarks.report import Result, as_data, terminal_table
from benchmarks.verdict import Verdict, verdicts
from benchmarks.workload import Workload

ROUNDS = 15
QUICK_ROUNDS = 5
QUICK_MEMORY = 200_000
MEMORY = "memory"
GROUPS = (synchronous.WORKLOADS, joints.WORKLOADS, signals.WORKLOADS, observed.WORKLOADS)
NAMES = sorted({MEMORY, *(each.name for group in GROUPS for each in group)})


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument("--only", action="append", metavar="NAME", choices=NAMES, help="one operator; repeatable")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds ({ROUNDS}, or {QUICK_ROUNDS} when quick)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to a file")
    parser.add_argument("--write", action="store_true", help="update the operators' part of docs/performance.md")
    chosen = parser.parse_args(arguments)
    if chosen.write and (chosen.only or chosen.quick):
        parser.error("--write shows all operators at full size: leave out --only and --quick")
    if chosen.rounds is not None and chosen.rounds < 1:
        parser.error(f"--rounds must be >= 1, got {chosen.rounds}")
    return chosen


def measured(workload: Workload, rounds: int, *, quick: bool) -> Result:
    """Measure one workload and judge it."""
    measurement = measure(workload, workload.quick_size if quick else workload.size, rounds)
    return Result(measurement, verdicts(measurement))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen operators and say whether all that was asked is reached."""
    chosen = options(arguments)
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    machine = this_machine()
    print(f"{machine.sentence()}; {rounds} rounds\n")

    def results_of(workloads: Sequence[Workload]) -> list[Result]:
        found = []
        for workload in workloads:
            if not chosen.only or workload.name in chosen.only:
                found.append(measured(workload, rounds, quick=chosen.quick))
                print(line(found[-1]) if workloads is synchronous.WORKLOADS else terminal_table(found[-1]), flush=True)
        return found

    print("ns per element, by hand and with penstock")
    groups = [results_of(each) for each in GROUPS]
    judged = [verdict for results in groups for result in results for verdict in result.verdicts]
    if not chosen.only or MEMORY in chosen.only:
        check = memory.check_of(QUICK_MEMORY if chosen.quick else memory.SIZE)
        found = check.run()
        judged.append(Verdict(MEMORY, check.name, found.text, found.passed))
        print(f"  {'pass' if found.passed else 'MISS'}  {check.name}: {found.text}")
    missed = [verdict for verdict in judged if not verdict.passed]
    print(f"\n{len(judged) - len(missed)} of {len(judged)} reached")
    print("".join(f"  MISS  {each.workload}: {each.asked}: {each.seen}\n" for each in missed), end="")
    if chosen.json:
        every = [result for results in groups for result in results]
        chosen.json.write_text(json.dumps(as_data(every, machine, rounds), indent=1), encoding="utf-8")
    if chosen.write:
        write_part(OPERATORS, markdown(*groups, judged[-1], machine, rounds), {})
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
