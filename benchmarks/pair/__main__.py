"""python -m benchmarks.pair BASE: measure every row on this tree and on another in turn, and compare.

BASE is a revision, or a folder that has `src`. A row that seems to have become slower is measured again, in new
processes and with more rounds; only one that stays so is flagged.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.measure import Ratio, paired
from benchmarks.pair.rows import every_row
from benchmarks.pair.trees import HERE, Bench, CannotRunError, bench, tree
from benchmarks.report import aligned, milliseconds
from benchmarks.verdict import times
from benchmarks.workload import Measure

LIMIT = 1.03
ROUNDS = 9
AGAIN = 3
"""How many times as many rounds a row gets that seems to be slower."""

Found = dict[str, tuple[Ratio, float]]
"""The ratio of each row, and what it took here."""


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pair", description=__doc__)
    parser.add_argument("base", metavar="BASE", help="a revision, or a folder that has src")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--only", action="append", metavar="TEXT", help="rows whose name contains a text; repeatable")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"rounds ({ROUNDS})")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="X", help=f"what is flagged ({LIMIT})")
    parser.add_argument(
        "--wall", action="store_true", help="compare wall times and not CPU times, which a busy machine disturbs less"
    )
    chosen = parser.parse_args(arguments)
    if chosen.rounds < 1:
        parser.error(f"--rounds must be >= 1, got {chosen.rounds}")
    chosen.rows = [name for name in every_row() if not chosen.only or any(text in name for text in chosen.only)]
    if not chosen.rows:
        parser.error(f"--only must be part of a row's name, got {chosen.only}")
    return chosen


@contextmanager
def benches(folders: Sequence[Path]) -> Iterator[list[Bench]]:
    """Start a process for each tree."""
    with ExitStack() as stack:
        yield [stack.enter_context(bench(folder)) for folder in folders]


def compared(here: Bench, base: Bench, row: str, rounds: int, measure: Measure, *, quick: bool) -> tuple[Ratio, float]:
    """Run a row on both trees in turn; every second round goes backwards."""
    costs: dict[Bench, list[float]] = {here: [], base: []}
    for number in range(rounds):
        for each in (here, base) if number % 2 else (base, here):
            costs[each].append(each.run(row, quick=quick).of(measure))
    return paired(costs[here], costs[base]), statistics.median(costs[here])


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the chosen rows, those that seem slower twice, and say whether none is."""
    chosen = options(arguments)
    measure = Measure.WALL if chosen.wall else Measure.CPU
    print(f"{measure.value} here against {chosen.base}; {chosen.rounds} rounds, {len(chosen.rows)} rows\n")
    with tree(chosen.base) as folder:

        def look(rows: Sequence[str], rounds: int) -> tuple[Found, dict[str, str]]:
            found: Found = {}
            missing: dict[str, str] = {}
            with benches((HERE, folder)) as (here, base):
                for row in rows:
                    try:
                        found[row] = compared(here, base, row, rounds, measure, quick=chosen.quick)
                    except CannotRunError as error:
                        missing[row] = str(error)
            return found, missing

        found, missing = look(chosen.rows, chosen.rounds)
        slower = [row for row, (ratio, _) in found.items() if ratio.median > chosen.limit]
        if slower:
            found |= look(slower, chosen.rounds * AGAIN)[0]
    print("\n".join(table(found, chosen.limit)))
    print("".join(f"cannot be compared: {row}: {why}\n" for row, why in missing.items()), end="")
    flagged = [row for row, (ratio, _) in found.items() if ratio.median > chosen.limit]
    middle = statistics.median(ratio.median for ratio, _ in found.values()) if found else 1.0
    print(f"\n{len(flagged)} of {len(found)} rows above {chosen.limit:g}x; the middle of all is {middle:.3f}x")
    return 1 if flagged else 0


def table(found: Found, limit: float) -> list[str]:
    """Lay out the rows, the slowest first."""
    rows = [("row", "here", "here / base", "quartiles", "")]
    for row, (ratio, cost) in sorted(found.items(), key=lambda each: -each[1][0].median):
        spread = f"{times(ratio.low)} .. {times(ratio.high)}"
        rows.append((row, milliseconds(cost), f"{ratio.median:.3f}x", spread, "SLOWER" if ratio.median > limit else ""))
    return aligned(rows)


if __name__ == "__main__":
    sys.exit(main())
