"""command: explore parts, report the counts of each, and show every violation with a schedule that can be run again."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, repeat
from time import monotonic

from tests.explore import kept
from tests.explore.all_parts import PARTS, planted
from tests.explore.part import Part
from tests.explore.search import Search, Violation, scenarios, stops_of, triples

PER_TRIPLE = 50
"""How many random schedules are run for three calls before others are chosen."""


@dataclass(slots=True)
class Report:
    """Count what was run for one part, and hold what was found."""

    part: str
    scenarios: int = 0
    schedules: int = 0
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)

    def add(self, search: Search) -> None:
        self.scenarios += 1
        self.schedules += search.count
        self.violations += search.violations.values()

    def __str__(self) -> str:
        return (
            f"{self.part:24} {self.scenarios:5} scenarios {self.schedules:8} schedules {self.seconds:7.1f} s "
            f"{len(self.violations):4} violations"
        )


def explore(arguments: Sequence[str]) -> int:
    """Do what the command line says; return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore", description="Explore schedules of the engine.")
    parser.add_argument(
        "--part", action="append", choices=tuple(PARTS), metavar="PART", help="all parts if none is named"
    )
    parser.add_argument("--calls", action="append", help="only this pair of calls, as in 'a.next|down.cancel'")
    parser.add_argument(
        "--preemptions", type=int, default=2, choices=(0, 1, 2, 3), help="how many are tried exhaustively"
    )
    parser.add_argument("--random", type=int, default=2000, help="random schedules of three calls for each part")
    parser.add_argument("--schedules", type=int, default=0, help="add random ones until there are so many in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--share", metavar="I/N", help="run a fixed small share: the Ith of N")
    parser.add_argument("--kept", action="store_true", help="run the schedules again that have failed before")
    parser.add_argument("--keep", action="store_true", help="keep the schedules that fail")
    parser.add_argument("--planted", metavar="CLASS", action="append", help="what has a fault (planted*.py)")
    parser.add_argument("--list", action="store_true", help="list the parts")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(PARTS))
        return 0
    if options.kept:
        return _told(kept.replayed())
    parts = [planted(name) for name in options.planted or ()] or [PARTS[name] for name in options.part or PARTS]
    if options.share:
        return _told(_share(parts, *map(int, options.share.split("/"))))
    if options.jobs > 1 or options.schedules:
        return _spread(parts, options)
    found: list[Violation] = []
    for part in parts:
        report = _explored(part, options)
        print(report, flush=True)
        found += _told_apart(report.violations)
    if options.planted:
        for violation in found:
            print(f"again: {violation.scenario.part.name}: {'yes' if kept.fails_again(violation) else 'no'}")
    if options.keep:
        kept.keep(found)
    return 1 if found else 0


def _told(found: Iterable[Violation]) -> int:
    """Print violations; return 1 if there are any."""
    return 1 if _told_apart(list(found)) else 0


def _told_apart(found: list[Violation]) -> list[Violation]:
    """Print one violation of each kind, the one with the shortest schedule, and return these."""
    alike: dict[object, list[Violation]] = {}
    for violation in map(stops_of, found):
        alike.setdefault((violation.kind, violation.stops), []).append(violation)
    shortest = [
        min(each, key=lambda one: (len(one.schedule.plan), len(one.scenario.before))) for each in alike.values()
    ]
    for violation, same in zip(shortest, alike.values(), strict=True):
        print(f"  {violation}" + (f"\n    and {len(same) - 1} alike" if len(same) > 1 else ""), flush=True)
    return shortest


def _explored(part: Part, options: argparse.Namespace) -> Report:
    """Run the schedules of one part: all with few preemptions, then random ones."""
    begun = monotonic()
    report = Report(part.name)
    for scenario in scenarios(part) if options.preemptions else ():
        if options.calls is None or "|".join(scenario.calls) in options.calls:
            search = Search(scenario)
            if search.serial():
                for _ in search.bounded(options.preemptions):
                    pass
            report.add(search)
    drawn = triples(part, options.seed)
    wanted = report.schedules + (0 if options.calls else options.random)
    while report.schedules < wanted and (scenario := next(drawn, None)) is not None:
        search = Search(scenario)
        if search.serial():
            for _ in islice(search.random(options.seed + report.scenarios), PER_TRIPLE):
                pass
        report.add(search)
    report.seconds = monotonic() - begun
    return report


def _share(parts: list[Part], place: int, of: int) -> Iterable[Violation]:
    """Run a fixed share: some scenarios of each part, each with a few schedules spread over all with one preemption."""
    report = Report("share")
    for number, part in enumerate(parts):
        if number % of == place:
            for scenario in scenarios(part)[number % 3 :: 3]:
                search = Search(scenario)
                if search.serial():
                    search.spread(8)
                report.add(search)
    print(report)
    return report.violations


def _spread(parts: list[Part], options: argparse.Namespace) -> int:
    """Give each part a process, so many at a time; go on with random schedules until there are enough."""
    begun = monotonic()
    schedules = violations = 0
    seed, preemptions, random = options.seed, options.preemptions, options.random
    while True:
        common = [f"--seed={seed}", f"--preemptions={preemptions}", f"--random={random}"]
        common += [f"--calls={calls}" for calls in options.calls or ()]
        common += ["--keep"] if options.keep else []
        with ThreadPoolExecutor(options.jobs) as pool:
            for text in pool.map(_alone, [part.name for part in parts], repeat(common)):
                print(text, end="", flush=True)
                counts = re.search(r" (\d+) schedules .* (\d+) violations", text)
                if counts is None:
                    violations += 1
                else:
                    schedules += int(counts[1])
                    violations += int(counts[2])
        if schedules >= options.schedules:
            break
        seed, preemptions, random = seed + 1, 0, -(-(options.schedules - schedules) // len(parts))
    print(f"{len(parts)} parts, {schedules} schedules, {violations} violations, {monotonic() - begun:.0f} s")
    return 1 if violations else 0


def _alone(part: str, arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.explore", f"--part={part}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
