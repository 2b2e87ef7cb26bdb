"""__main__: `python -m tests.fuzz --chains 100000`: random chains on random paths, against their models."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time

from tests.fuzz import paths
from tests.fuzz.search import Options, Tally, patient, worked

SHARE = 500
"""How many chains a process runs before it asks for more."""


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
    options = Options(
        given.seed,
        time.time() + given.seconds,
        frozenset(given.without),
        frozenset(given.laws_off),
        frozenset(given.kinds_off),
    )
    start = time.monotonic()
    shares = [(options, at, min(at + SHARE, given.chains)) for at in range(0, given.chains, SHARE)]
    tally = Tally()
    with multiprocessing.get_context("spawn").Pool(given.jobs, patient, (given.patience,)) as processes:
        for one in processes.imap_unordered(worked, shares):
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
