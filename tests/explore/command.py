"""command: explore parts, report the counts of each and every violation with a schedule that shows it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import monotonic

from tests.explore.parts import PARTS, Part
from tests.explore.search import Search, Violation, scenarios, stops_of, triples


def explore(arguments: Sequence[str]) -> int:
    """Do what the command line says; return whether anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore", description="Explore schedules of the engine.")
    parser.add_argument("--part", action="append", help="a part (may be given again); all of them if none is named")
    parser.add_argument("--schedules", type=int, default=0, help="how many in all: random ones follow the exhaustive ones")
    parser.add_argument("--calls", help="only scenarios with these calls, as in 'a.next|down.cancel'")
    parser.add_argument("--list", action="store_true", help="list the parts")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(PARTS))
        return 0
    chosen = [PARTS[name] for name in options.part or PARTS]
    found: list[Violation] = []
    total = 0
    for part in chosen:
        count, violations = _bounded(part, options.calls)
        total += count
        found += violations
    return 1 if found else 0


def _bounded(part: Part, calls: str | None) -> tuple[int, list[Violation]]:
    """Run every schedule of a part with at most two preemptions."""
    begun = monotonic()
    count, found, pairs = 0, [], 0
    for scenario in scenarios(part):
        if calls is not None and "|".join(scenario.calls) != calls:
            continue
        search = Search(scenario)
        if search.serial():
            pairs += 1
            for _ in search.bounded():
                pass
        count += search.count
        found += search.violations.values()
    seconds = monotonic() - begun
    print(f"{part.name:24} {pairs:4} pairs {count:8} schedules {seconds:7.1f} s {len(found):3} violations", flush=True)
    alike: dict[object, list[Violation]] = {}
    for violation in map(stops_of, found):
        kind = violation.what.partition(": [")[0]
        alike.setdefault((kind, violation.stops), []).append(violation)
    for violations in alike.values():
        shortest = min(violations, key=lambda one: (len(one.schedule.plan), len(one.scenario.before)))
        print(f"  {shortest}" + (f"\n    and {len(violations) - 1} alike" if len(violations) > 1 else ""), flush=True)
    return count, found
