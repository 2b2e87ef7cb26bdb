"""search: run the chains of seeds on several paths, and make small what differs."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from penstock import set_on_dropped
from tests.fuzz import paths
from tests.fuzz.carried import check_carried
from tests.fuzz.check import DifferenceError, check, expression
from tests.fuzz.grammar import Chain, Grammar, Seeded, names
from tests.fuzz.paths import Path, Runner, RunPath
from tests.fuzz.shrink import run, shrunk

PATHS = 2
"""On how many of the paths, drawn by chance, each chain runs."""


SHRUNK = 10
"""How many differences of one law are shrunk in a share of the chains; the others are counted."""


@dataclass
class Tally:
    """Count what was run, and keep what was found."""

    chains: int = 0
    runs: int = 0
    determined: int = 0
    operators: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    laws: Counter[str] = field(default_factory=Counter)
    found: dict[tuple[str, ...], str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.chains += other.chains
        self.runs += other.runs
        self.determined += other.determined
        self.operators += other.operators
        self.modes += other.modes
        self.kinds += other.kinds
        self.laws += other.laws
        for key, report in other.found.items():
            self.found.setdefault(key, report)


@dataclass(frozen=True)
class Options:
    """Say what to run."""

    seed: int = 0
    until: float = 1e12
    """The time to stop at."""
    without: frozenset[str] = frozenset()
    """The operators to leave out."""
    laws: frozenset[str] = frozenset()
    """The laws to count only."""
    kinds: frozenset[str] = frozenset()
    """The kinds of sources to leave out."""


def hold(runner: Runner, chain: Chain, path: Path) -> bool:
    """Run a chain on a path; raise DifferenceError, or return whether it was known what comes."""
    return check_carried(chain, path) if isinstance(path, RunPath) else check(runner, chain, path)


def differs_by(runner: Runner, chain: Chain, path: Path, law: str, options: Options) -> bool:
    """Tell whether a run still breaks the same law, and nothing that is left out is in it."""
    if names(chain) & options.without or options.kinds & set(path.kinds):
        return False
    try:
        hold(runner, chain, path)
    except DifferenceError as found:
        return found.law == law
    return False


def patient(seconds: float) -> None:
    """Set how long a process waits before it calls a silence a hang."""
    paths.PATIENCE = seconds


def worked(share: tuple[Options, int, int]) -> Tally:
    """Run the chains of some seeds."""
    options, first, last = share
    logging.disable()
    set_on_dropped(lambda _: None)
    runner = Runner()
    tally = Tally()
    for number in range(first, last):
        if time.time() > options.until:
            break
        tally.chains += 1
        for turn in range(PATHS):
            draws = Seeded(options.seed * 1_000_000_007 + number, options.seed + turn)
            chain, path = run(Grammar(draws))
            used = names(chain)
            if used & options.without or options.kinds & set(path.kinds):
                continue
            tally.runs += 1
            tally.modes[path.mode] += 1
            tally.kinds.update(path.kinds)
            if not turn:
                tally.operators.update(used)
            try:
                tally.determined += hold(runner, chain, path)
            except DifferenceError as found:
                tally.laws[found.law] += 1
                if found.law in options.laws or tally.laws[found.law] > SHRUNK:
                    continue
                key, report = small(runner, options, draws.drawn, chain, path, found)
                if key not in tally.found:
                    tally.found[key] = report
                    sys.stdout.write(f"{report}\n")
                    sys.stdout.flush()
    runner.close()
    return tally


def small(
    runner: Runner, options: Options, drawn: list[int], chain: Chain, path: Path, found: DifferenceError
) -> tuple[tuple[str, ...], str]:
    """Shrink what was found; return what it is known by, and a report."""
    made = shrunk(drawn, lambda chain, path: differs_by(runner, chain, path, found.law, options))
    said = f"{found} (not found again)"
    if made is not None:
        chain, path = made
        try:
            hold(runner, chain, path)
        except DifferenceError as again:
            said = str(again)
    report = f"{expression(chain, path)}\n    on {path}\n    {said}\n    keep: ({chain!r}, {path!r})"
    return (found.law, *sorted(names(chain))), report


def find(runner: Runner, number: int, turn: int) -> str | None:
    """Run one chain on one path; return what differs, made small, or None."""
    draws = Seeded(number, turn)
    chain, path = run(Grammar(draws))
    try:
        hold(runner, chain, path)
    except DifferenceError as found:
        return small(runner, Options(), draws.drawn, chain, path, found)[1]
    return None
