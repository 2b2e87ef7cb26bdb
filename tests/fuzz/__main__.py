"""__main__: `python -m tests.fuzz --chains 100000`: random chains on random paths, against their models."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from penstock import set_on_dropped
from tests.fuzz import paths
from tests.fuzz.check import DifferenceError, check, expression
from tests.fuzz.grammar import Chain, Grammar, Seeded, names
from tests.fuzz.paths import Path, Runner
from tests.fuzz.shrink import run, shrunk

PATHS = 8
"""On how many paths each chain runs."""


SHRUNK = 40
"""How many differences of one law a process shrinks; it counts the others."""


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

    seed: int
    seconds: float
    without: frozenset[str]
    laws: frozenset[str]
    kinds: frozenset[str]


def differs_by(runner: Runner, chain: Chain, path: Path, law: str, options: Options) -> bool:
    """Tell whether a run still breaks the same law, and nothing that is left out is in it."""
    if names(chain) & options.without or options.kinds & set(path.kinds):
        return False
    try:
        check(runner, chain, path)
    except DifferenceError as found:
        return found.law == law
    return False


def work(options: Options, first: int, last: int) -> Tally:
    """Run the chains of some seeds."""
    logging.disable()
    set_on_dropped(lambda _: None)
    runner = Runner()
    tally = Tally()
    start = time.monotonic()
    for number in range(first, last):
        if time.monotonic() - start > options.seconds:
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
                tally.determined += check(runner, chain, path)
            except DifferenceError as found:
                tally.laws[found.law] += 1
                if found.law in options.laws or tally.laws[found.law] > SHRUNK:
                    continue
                report(runner, tally, options, draws.drawn, chain, path, found)
    runner.close()
    return tally


def report(
    runner: Runner,
    tally: Tally,
    options: Options,
    drawn: list[int],
    chain: Chain,
    path: Path,
    found: DifferenceError,
) -> None:
    """Shrink what was found, and keep one of each kind."""
    small = shrunk(drawn, lambda chain, path: differs_by(runner, chain, path, found.law, options))
    said = str(found)
    if small is not None:
        chain, path = small
        try:
            check(runner, chain, path)
        except DifferenceError as again:
            said = str(again)
    key = (found.law, *sorted(names(chain)))
    if key not in tally.found:
        lines = [f"{expression(chain, path)}", f"    on {path}", f"    {said}", f"    kept: ({chain!r}, {path!r})"]
        tally.found[key] = "\n".join(lines)
        sys.stdout.write(f"[{'' if small else 'not '}shrunk] " + tally.found[key] + "\n")
        sys.stdout.flush()


def main() -> int:
    """Run many chains on all cores and say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--chains", type=int, default=100_000, help="how many chains to run")
    parser.add_argument("--seed", type=int, default=0, help="where the seeds begin")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count(), help="how many processes to use")
    parser.add_argument("--seconds", type=float, default=1e9, help="when to stop")
    parser.add_argument("--patience", type=float, default=paths.PATIENCE, help="seconds until a silence is a hang")
    parser.add_argument("--without", nargs="*", default=[], help="operators to leave out")
    parser.add_argument("--kinds-off", nargs="*", default=[], help="kinds of sources to leave out")
    parser.add_argument("--laws-off", nargs="*", default=[], help="laws to count only")
    given = parser.parse_args()
    paths.PATIENCE = given.patience
    options = Options(
        given.seed, given.seconds, frozenset(given.without), frozenset(given.laws_off), frozenset(given.kinds_off)
    )
    start = time.monotonic()
    share = -(-given.chains // given.jobs)
    shares = [(options, at, min(at + share, given.chains)) for at in range(0, given.chains, share)]
    tally = Tally()
    with multiprocessing.get_context("fork").Pool(given.jobs) as processes:
        for one in processes.starmap(work, shares):
            tally.add(one)
    seconds = time.monotonic() - start
    print(f"{tally.chains} chains, {tally.runs} runs, {tally.determined} of them determined, in {seconds:.0f} s")
    for name in ("operators", "modes", "kinds"):
        print(f"{name}: " + ", ".join(f"{key} {count}" for key, count in sorted(getattr(tally, name).items())))
    print(f"differences: {sum(tally.laws.values())}; " + ", ".join(f"{n} x {law}" for law, n in tally.laws.items()))
    print(f"kinds of differences: {len(tally.found)}")
    return 1 if tally.laws else 0


if __name__ == "__main__":
    sys.exit(main())
