"""display: show how far a run is: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from penstock.run.handle import Run
from penstock.run.progress import Progress


def display(run: Run[Any], file: TextIO | None = None, *, every: float = 1.0) -> None:
    """Show progress until the run has ended; with `rich` on a terminal, else as lines of text on stderr."""
    out = file or sys.stderr
    reports = run.progress_every(every)
    if out.isatty() and _has_rich():
        _rich(reports, out)
        return
    for report in reports:
        print(line(report), file=out, flush=True)


def line(report: Progress) -> str:
    """Return a report as one line."""
    return "  ".join(f"{name} {value}" for name, value in cells(report))


def cells(report: Progress) -> list[tuple[str, str]]:
    """Return what is known, each by its name."""
    known: list[tuple[str, Any, Callable[[Any], str]]] = [
        ("in", report.rows_in, _count),
        ("out", report.rows_out, _count),
        ("rows/s", report.rows_per_second, _count),
        ("demand", report.demand, _count),
        ("lag", report.lag, _count),
        ("batch", report.batch_seconds, lambda seconds: f"{seconds:.2f} s"),
        ("time", report.elapsed, lambda seconds: f"{seconds:.0f} s"),
    ]
    return [(name, text(value)) for name, value, text in known if value is not None]


def _count(value: float) -> str:
    return "all" if value >= 2**62 else f"{value:,.0f}"


def _has_rich() -> bool:
    try:
        import rich  # noqa: F401, PLC0415  an optional dependency
    except ModuleNotFoundError:
        return False
    return True


def _rich(reports: Any, out: TextIO) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    def table(report: Progress) -> Any:
        made = Table(box=None, padding=(0, 3, 0, 0))
        found = cells(report)
        for name, _ in found:
            made.add_column(name, justify="right", style="bold" if name in {"in", "out"} else "")
        made.add_row(*(value for _, value in found))
        return made

    with Live(console=Console(file=out), refresh_per_second=4) as live:
        for report in reports:
            live.update(table(report))
