"""report: the part of docs/performance.md about single operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.machine import Machine
from benchmarks.measure import Measurement
from benchmarks.operators.observed import AT_MOST
from benchmarks.operators.synchronous import LEFT_OUT
from benchmarks.report import Result, markdown_table, milliseconds, verdict_table
from benchmarks.verdict import Verdict, times
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX

PEERS = (REACTIVEX, AIOSTREAM)
FED = (
    "Elements are handed to subjects one by one: faster than reactivex is asked for. `take` behind a boundary has to "
    "cost what `take_while` costs."
)


def nanoseconds(measurement: Measurement, contender: str) -> str:
    """Say what an element costs."""
    return f"{measurement.median(contender) / measurement.size * 1e9:.0f} ns"


def line(result: Result) -> str:
    """Say in one line what an operator costs, for a terminal."""
    measurement = result.measurement
    ratio = measurement.ratio(PENSTOCK, HAND)
    spread = f"{times(ratio.low)} .. {times(ratio.high)}"
    costs = f"{nanoseconds(measurement, HAND):>8} {nanoseconds(measurement, PENSTOCK):>8}"
    word = "pass" if all(each.passed for each in result.verdicts) else "MISS"
    return f"  {word}  {measurement.workload.name:18} {costs} {times(ratio.median):>7}  {spread}"


def markdown(
    synchronous: Sequence[Result],
    joints: Sequence[Result],
    signals: Sequence[Result],
    observed: Sequence[Result],
    memory: Verdict,
    machine: Machine,
    rounds: int,
) -> str:
    """Write the part of the page that is measured operator by operator."""
    left_out = "; ".join(f"`{name}` {why}" for name, why in LEFT_OUT.items())
    measured = f"Measured on {machine.sentence()}. {rounds} rounds; each ratio is the median of the paired ratios"
    costs = (
        "Nanoseconds per element of upstream, of one operator alone, most of them over a range; over a list each loop "
        "looks for None as well, which takes a few more"
    )
    parts = [
        f"{measured}, with the quartiles in brackets.",
        "### Against a generator",
        f"{costs}. At most 1.5x is asked for. The list is made from the package. Not in it: {left_out}.",
        cost_table(synchronous),
        "### Joints against peers",
        "Of `merge`, `zip` and `flat_map` five times the speed is asked for, of the others more than the same.",
        joint_table(joints),
        "### Fed by signals",
        FED,
        verdict_table(signals),
        "### In flat memory",
        f"{memory.asked}: {memory.seen}, {'reached' if memory.passed else '**missed**'}.",
        "### What a listener costs",
        f"At most {AT_MOST:g}x is asked for.",
        verdict_table(observed),
    ]
    return "\n\n".join(parts)


def cost_table(results: Iterable[Result]) -> str:
    """Give one row to each operator."""
    rows: list[tuple[str, ...]] = [("operator", "by hand", PENSTOCK, "ratio")]
    for result in results:
        measurement = result.measurement
        ratio = measurement.ratio(PENSTOCK, HAND)
        missed = "" if all(each.passed for each in result.verdicts) else " **missed**"
        rows.append(
            (
                f"`{measurement.workload.name}`",
                nanoseconds(measurement, HAND),
                nanoseconds(measurement, PENSTOCK),
                f"{times(ratio.median)} ({times(ratio.low)} .. {times(ratio.high)}){missed}",
            )
        )
    return markdown_table(rows, numeric_from=1)


def joint_table(results: Iterable[Result]) -> str:
    """Give one row to each joint, with how many times as long each peer takes."""
    rows: list[tuple[str, ...]] = [("joint", "what it does", PENSTOCK, *PEERS)]
    for result in results:
        measurement = result.measurement
        workload = measurement.workload
        cells = [joint_cell(result, peer) for peer in PEERS]
        rows.append((f"`{workload.name}`", workload.title, milliseconds(measurement.median(PENSTOCK)), *cells))
    return markdown_table(rows, numeric_from=2)


def joint_cell(result: Result, peer: str) -> str:
    """Say how many times as long a peer takes, or that it does not offer the work."""
    measurement = result.measurement
    if peer not in measurement.samples:
        return "not offered"
    ratio = measurement.ratio(peer, PENSTOCK)
    missed = any(not each.passed and each.asked.endswith(peer) for each in result.verdicts)
    return f"{times(ratio.median)} ({times(ratio.low)} .. {times(ratio.high)}){' **missed**' if missed else ''}"
