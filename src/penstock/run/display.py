"""display: show how far a run is: a live panel on a terminal, a line every ten seconds elsewhere.

The panel needs `rich` (`pip install penstock[ui]`); a terminal without it gets a line per second.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO

from penstock.run.handle import Run
from penstock.run.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.panel import Panel

PANELS, LINES, LOG = 0.5, 1.0, 10.0
"""Seconds from one report to the next: of a panel, of lines on a terminal, and of lines that are kept elsewhere."""
WINDOW = 10.0
"""Seconds over which the panel's rows/s are averaged: rows come in bursts, one for each micro-batch."""
SPARKS = " ▁▂▃▄▅▆▇█"
WIDE = 24
"""Characters of half a line."""


def display(run: Run[Any], file: TextIO | None = None, *, every: float | None = None) -> None:
    """Show progress on stderr, or on another file, until the run has ended; a KeyboardInterrupt cancels the run."""
    if not isinstance(run, Run):
        cure = "; pipeline.run() begins one" if callable(getattr(run, "run", None)) else ""
        raise TypeError(f"display: run must be a Run, got {run!r}{cure}")
    out = file or sys.stderr
    console = _console(out)
    reports = run.progress_every(every or (PANELS if console is not None else LINES if out.isatty() else LOG))
    try:
        if console is not None:
            _panels(reports, console)
        else:
            for report in reports:
                print(line(report), file=out, flush=True)
    except KeyboardInterrupt:
        run.cancel()
        raise


# As text.


def line(report: Progress) -> str:
    """Return a report as one line."""
    return "  ".join(f"{name} {value}" for name, value in cells(report).items())


def cells(report: Progress) -> dict[str, str]:
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
    return {name: text(value) for name, value, text in known if value is not None}


def _count(value: float) -> str:
    return "all" if value >= 2**62 else f"{value:,.0f}"


# As a panel.


class Recent:
    """The latest reports: how fast rows came, on average and from one to the next."""

    def __init__(self) -> None:
        self._moments: deque[tuple[float, int]] = deque([(0.0, 0)])
        self._rates: deque[float] = deque(maxlen=WIDE)

    def add(self, report: Progress) -> None:
        """Take a report in."""
        self._rates.append(report.rows_per_second)
        self._moments.append((report.elapsed, report.rows_in))
        while len(self._moments) > 2 and self._moments[1][0] <= report.elapsed - WINDOW:
            self._moments.popleft()

    @property
    def rate(self) -> float:
        """Return rows per second over the last seconds."""
        (since, before), (now, rows) = self._moments[0], self._moments[-1]
        return (rows - before) / (now - since) if now > since else 0.0

    @property
    def sparks(self) -> str:
        """Draw the rates from one report to the next, the highest as a whole block."""
        most = max(self._rates, default=0.0)
        heights = (1 + round(rate / most * (len(SPARKS) - 2)) if rate > 0 else 0 for rate in self._rates)
        return "".join(SPARKS[height] for height in heights)


def panel(report: Progress, recent: Recent) -> Panel:
    """Return a report as a panel, whose width does not change from one to the next."""
    from rich.panel import Panel  # noqa: PLC0415  an optional dependency
    from rich.text import Text  # noqa: PLC0415

    found = cells(report)
    batches = None if report.batches is None else _count(report.batches)
    rate = found["rows/s"] if report.done else _count(recent.rate)
    lines = [
        (_cell("rows in", found.get("in")), _cell("rows out", found.get("out"))),
        (_cell("rows/s", rate), [(f"{recent.sparks:>{WIDE}}", "")]),
        (_cell("demand", found.get("demand")), _cell("lag", found.get("lag"))),
        (_cell("batch time", found.get("batch")), _cell("batches", batches)),
    ]
    shown = [Text.assemble(*left, "   ", *right) for left, right in lines if left or right]
    state = "ended after" if report.done else "running for"
    return Panel.fit(Text("\n").join(shown), title="penstock", title_align="left", subtitle=f"{state} {found['time']}")


def _cell(name: str, value: str | None) -> list[tuple[str, str]]:
    """Return a name and its value, each with its style, as half a line; nothing if it is not known."""
    return [] if value is None else [(f"{name:<11}", "dim"), (f"{value:>{WIDE - 11}}", "bold")]


def _console(out: TextIO) -> Console | None:
    """Return a console that can show a panel; None without a terminal or without rich."""
    if not out.isatty():
        return None
    try:
        from rich.console import Console  # noqa: PLC0415  an optional dependency
    except ModuleNotFoundError:
        return None
    console = Console(file=out)
    return console if console.is_terminal and not console.is_dumb_terminal else None


def _panels(reports: Iterable[Progress], console: Console) -> None:
    from rich.live import Live  # noqa: PLC0415

    recent = Recent()
    # What the pipeline prints must go where it is meant to; where that is a terminal too, it goes above the panel.
    shared = sys.stdout.isatty()
    with Live(console=console, auto_refresh=False, redirect_stdout=shared, redirect_stderr=True) as live:
        for report in reports:
            recent.add(report)
            live.update(panel(report, recent), refresh=True)
