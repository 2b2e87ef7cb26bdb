"""report: measurements as a table for the terminal, as markdown and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.machine import Machine
from benchmarks.measure import Measurement
from benchmarks.verdict import Verdict, times
from benchmarks.workload import HAND, PEERS, PENSTOCK, Measure

COLUMNS = (PENSTOCK, *PEERS)
AGAINST_ITSELF = (
    "In *italics*: keeps no bound there. `demand` is measured against penstock's own unbounded run, `observed` and "
    "`paged` against its own run without a listener and without a page."
)


@dataclass(frozen=True, slots=True)
class Result:
    """Hold a measurement and what was thought of it."""

    measurement: Measurement
    verdicts: tuple[Verdict, ...]


def terminal_table(result: Result) -> str:
    """Lay out one workload for a terminal."""
    measurement = result.measurement
    workload = measurement.workload
    lines = [f"{workload.name}: {workload.title} (size {measurement.size:,})"]
    rows = [("", "median", "CPU", f"/ {workload.baseline}", "quartiles", "bound")]
    for contender in workload.contenders:
        ratio = measurement.ratio(contender.name, workload.baseline)
        spread = f"{times(ratio.low)} .. {times(ratio.high)}"
        rows.append(
            (
                contender.name,
                milliseconds(measurement.median(contender.name)),
                milliseconds(measurement.median(contender.name, Measure.CPU)),
                times(ratio.median),
                spread,
                "kept" if contender.bound.kept else "not kept",
            )
        )
    lines.extend(f"  {line}" for line in aligned(rows))
    lines.extend(f"  {missing.name}: not offered, {missing.why}" for missing in workload.missing)
    lines.extend(f"  {'pass' if each.passed else 'MISS'}  {each.asked}: {each.seen}" for each in result.verdicts)
    return "\n".join(lines)


def summary(results: Iterable[Result]) -> str:
    """Count the verdicts and name those missed."""
    every = [verdict for result in results for verdict in result.verdicts]
    missed = [verdict for verdict in every if not verdict.passed]
    lines = [f"{len(every) - len(missed)} of {len(every)} reached"]
    lines.extend(f"  MISS  {each.workload}: {each.asked}: {each.seen}" for each in missed)
    return "\n".join(lines)


def markdown(results: Sequence[Result], machine: Machine, rounds: int) -> str:
    """Write the part of the page that is measured."""
    measured = f"Measured on {machine.sentence()}. {rounds} rounds"
    parts = [
        f"{measured}; each figure is the median of the paired ratios, with the quartiles in brackets.",
        "![What each contender costs against hand-written code](images/performance.svg)",
        "## Cost against hand-written code",
        ratio_table(results),
        AGAINST_ITSELF,
        "## What was asked, and what was reached",
        "![Each target and how much of it is used](images/performance-targets.svg)",
        verdict_table(results),
        "## Who keeps a bound",
        bound_table(results),
    ]
    return "\n\n".join(parts)


def ratio_table(results: Iterable[Result]) -> str:
    """Give one row to each workload and one column to each contender."""
    rows: list[tuple[str, ...]] = [("workload", "what it does", HAND, *COLUMNS)]
    for result in results:
        measurement = result.measurement
        workload = measurement.workload
        base = f"{milliseconds(measurement.median(workload.baseline))}"
        cells = tuple(ratio_cell(measurement, name) for name in COLUMNS)
        rows.append((f"`{workload.name}`", workload.title, base, *cells))
    return markdown_table(rows, numeric_from=2)


def ratio_cell(measurement: Measurement, name: str) -> str:
    """Write the ratio of a contender, or that there is none."""
    if name not in measurement.samples:
        return "not offered"
    ratio = measurement.ratio(name, measurement.workload.baseline)
    text = f"{times(ratio.median)} ({times(ratio.low)} .. {times(ratio.high)})"
    return text if measurement.workload.contender(name).bound.kept else f"*{text}*"


def verdict_table(results: Iterable[Result]) -> str:
    """Give one row to each verdict."""
    rows = [("workload", "asked", "seen", "")]
    for result in results:
        rows.extend(
            (f"`{each.workload}`", each.asked, each.seen, "reached" if each.passed else "**missed**")
            for each in result.verdicts
        )
    return markdown_table(rows, numeric_from=4)


def bound_table(results: Iterable[Result]) -> str:
    """Say of each contender of each workload whether it keeps a bound, and why."""
    rows = [("workload", "contender", "bound", "why")]
    for result in results:
        workload = result.measurement.workload
        for contender in workload.contenders:
            kept = "kept" if contender.bound.kept else "**not kept**"
            rows.append((f"`{workload.name}`", contender.name, kept, contender.bound.why))
        rows.extend((f"`{workload.name}`", each.name, "not offered", each.why) for each in workload.missing)
    return markdown_table(rows, numeric_from=4)


def as_data(results: Iterable[Result], machine: Machine, rounds: int) -> dict[str, object]:
    """Give everything that was measured in a form that json writes."""
    return {
        "machine": asdict(machine),
        "rounds": rounds,
        "workloads": [
            {
                "name": result.measurement.workload.name,
                "size": result.measurement.size,
                "baseline": result.measurement.workload.baseline,
                "samples": {
                    name: [asdict(sample) for sample in samples] for name, samples in result.measurement.samples.items()
                },
                "ratios": {
                    name: asdict(result.measurement.ratio(name, result.measurement.workload.baseline))
                    for name in result.measurement.samples
                },
                "verdicts": [asdict(verdict) for verdict in result.verdicts],
            }
            for result in results
        ],
    }


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Pad the cells so that columns line up: the first and the last to the left, the rest to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    return [
        "  ".join(
            cell.ljust(width) if index in {0, last} else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def markdown_table(rows: Sequence[tuple[str, ...]], numeric_from: int) -> str:
    """Write rows, the first of them the head, as a markdown table."""
    head, *body = rows
    rule = tuple("---:" if index >= numeric_from else "---" for index in range(len(head)))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))


def milliseconds(seconds: float) -> str:
    """Write a duration with a sensible number of figures."""
    value = seconds * 1_000
    return f"{value:.2f} ms" if value < 10 else f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms"
