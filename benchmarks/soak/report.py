"""report: what a soak has shown, as a table, as a picture and as a part of docs/performance.md."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.machine import Machine
from benchmarks.picture import FAINT, INK, MUTED, WIDTH, line, svg, text
from benchmarks.report import markdown_table
from benchmarks.soak.samples import Sample

PICTURE = "soak.svg"
ENOUGH = 20
"""Samples without which nothing is said about growth."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One quantity of the samples, and by how much its last quarter may lie above its second, where that is judged."""

    field: str
    title: str
    unit: str
    share: float | None
    extra: float = 0.0
    factor: float = 1.0

    def values(self, samples: Sequence[Sample]) -> list[float]:
        """Return its values."""
        return [float(getattr(sample, self.field)) * self.factor for sample in samples]

    def written(self, value: float) -> str:
        """Write a value with its unit."""
        return f"{value:,.0f} {self.unit}".strip()

    def quarters(self, samples: Sequence[Sample]) -> tuple[float, float]:
        """Return its medians in the second and in the last quarter; the first is for warming up."""
        values, quarter = self.values(samples), len(samples) // 4
        return statistics.median(values[quarter : 2 * quarter]), statistics.median(values[3 * quarter :])

    def grows(self, samples: Sequence[Sample]) -> bool:
        """Say whether the last quarter lies above what the second allows."""
        before, after = self.quarters(samples)
        return self.share is not None and after > before * (1 + self.share) + self.extra


CURVES = (
    Curve("batch_seconds", "time of a micro-batch", "ms", 0.25, factor=1000),  # other work may be on the machine
    Curve("python_rss", "memory of the driver's Python", "MB", 0.02, 2),
    Curve("workers_rss", "memory of Spark's Python processes", "MB", 0.02, 2),
    Curve("jvm_heap", "heap of the JVM after a collection", "MB", 0.05, 2),
    Curve("jvm_non_heap", "classes and code in the JVM", "MB", 0.05, 2),
    Curve("jvm_rss", "memory of the JVM", "MB", None),  # garbage included, as far as its heap may grow
    Curve("python_threads", "threads of the driver's Python", "", 0.0),
    Curve("jvm_threads", "threads of the JVM", "", 0.0, 3),  # pools let go of idle ones, and take others
    Curve("python_files", "open files of the driver's Python", "", 0.0),
    Curve("jvm_files", "open files of the JVM", "", 0.0, 3),
    Curve("workers", "Python processes of Spark", "", 0.0),
    Curve("checkpoint_files", "files in the checkpoint", "", 0.05, 3),
)


@dataclass(frozen=True, slots=True)
class Panel:
    """Some curves that share a scale."""

    title: str
    curves: tuple[tuple[str, str, str], ...]
    """Of each: its field, its name and its colour."""


BLUE, ORANGE, VIOLET = "#0b6fb8", "#d9822b", "#8e5ea2"
PANELS = (
    Panel("time of a micro-batch, ms", (("batch_seconds", "median", BLUE),)),
    Panel(
        "memory of Python, MB", (("python_rss", "driver", BLUE), ("workers_rss", "Spark's Python processes", ORANGE))
    ),
    Panel(
        "memory of the JVM, MB",
        (
            ("jvm_rss", "process", VIOLET),
            ("jvm_non_heap", "classes and code", ORANGE),
            ("jvm_heap", "heap after a collection", BLUE),
        ),
    ),
    Panel("threads", (("python_threads", "driver's Python", BLUE), ("jvm_threads", "JVM", ORANGE))),
    Panel("open files and sockets", (("python_files", "driver's Python", BLUE), ("jvm_files", "JVM", ORANGE))),
    Panel("files in the checkpoint", (("checkpoint_files", "files", BLUE),)),
)
COLUMNS, LEFT, ACROSS, HIGH, TOP, DOWN = 2, 64, 370, 130, 112, 196
"""Panels in a row; where the first begins; how wide and how high one is; where they begin; from one to the next."""
STRIDE = (WIDTH - LEFT - ACROSS - 20) // (COLUMNS - 1)


def grown(samples: Sequence[Sample]) -> list[str]:
    """Name what was larger in the last quarter than the second allows."""
    if len(samples) < ENOUGH:
        return []
    return [curve.title for curve in CURVES if curve.grows(samples)]


def _rows(samples: Sequence[Sample]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "second quarter", "last quarter", "most")]
    for curve in CURVES:
        figures = (*curve.quarters(samples), max(curve.values(samples)))
        rows.append((curve.title, *map(curve.written, figures)))
    return rows


def table(samples: Sequence[Sample]) -> str:
    """Write the medians of two quarters for a terminal."""
    if len(samples) < ENOUGH:
        return f"{len(samples)} samples are too few to tell"
    return "\n".join(
        "  ".join(f"{cell:<36}" if not at else f"{cell:>14}" for at, cell in enumerate(row)) for row in _rows(samples)
    )


def markdown(samples: Sequence[Sample], machine: Machine) -> str:
    """Write the soak's part of the page."""
    last = samples[-1]
    more = grown(samples)
    said = "Nothing has grown." if not more else f"Has grown: {', '.join(more)}."
    measured = f"{last.batches:,} micro-batches in {last.seconds / 60:.0f} minutes, looked at {len(samples)} times"
    parts = [
        f"Measured on {machine.sentence()}: {measured}. {said}",
        f"![What the processes hold over {last.batches:,} micro-batches](images/{PICTURE})",
        markdown_table(_rows(samples), numeric_from=1),
    ]
    return "\n\n".join(parts)


def picture(samples: Sequence[Sample]) -> str:
    """Draw every panel over the number of micro-batches, from zero on."""
    last = samples[-1].batches
    marks = [
        text(20, 30, f"{last:,} micro-batches of one live pipeline", size=17, weight="bold"),
        text(20, 50, "what its processes hold, over the number of micro-batches; all scales begin at zero", fill=MUTED),
    ]
    by_field = {curve.field: curve for curve in CURVES}
    for number, panel in enumerate(PANELS):
        x, y = LEFT + STRIDE * (number % COLUMNS), TOP + DOWN * (number // COLUMNS)
        marks.extend(_panel(panel, by_field, samples, x, y))
    height = TOP + DOWN * -(-len(PANELS) // COLUMNS) - 24
    return svg(height, f"What the processes of one pipeline hold over {last:,} micro-batches", marks)


def _panel(panel: Panel, by_field: dict[str, Curve], samples: Sequence[Sample], x: float, y: float) -> list[str]:
    most = max(max(by_field[field].values(samples)) for field, _, _ in panel.curves)
    step = _step(most)
    top = step * math.ceil(most / step)
    last = samples[-1].batches
    marks = [text(x, y - 26, panel.title, weight="bold")]
    for count in range(round(top / step) + 1):
        at = y + HIGH * (1 - count * step / top)
        marks.append(line(x, at, x + ACROSS, at, FAINT if count else INK, 1))
        marks.append(text(x - 8, at + 4, f"{count * step:,g}", anchor="end", fill=MUTED, size=11))
    for share in (0.0, 0.5, 1.0):
        at = x + ACROSS * share
        marks.append(text(at, y + HIGH + 16, f"{round(last * share):,}", anchor="middle", fill=MUTED, size=11))
    along = x
    for field, name, colour in panel.curves:
        values = by_field[field].values(samples)
        points = " ".join(
            f"{x + ACROSS * sample.batches / last:.1f},{y + HIGH * (1 - value / top):.1f}"
            for sample, value in zip(samples, values, strict=True)
        )
        marks.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        marks.append(line(along, y - 12, along + 14, y - 12, colour, 3))
        marks.append(text(along + 19, y - 8, name, size=11, fill=MUTED))
        along += 19 + 6.2 * len(name) + 18
    return marks


def _step(most: float) -> float:
    """Return a round distance between lines, of which about four fit."""
    raw = max(most, 1.0) / 4
    power: float = 10.0 ** math.floor(math.log10(raw))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)
