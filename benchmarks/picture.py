"""picture: the ratios and the targets as SVG, drawn without any library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.report import Result
from benchmarks.verdict import Verdict, times
from benchmarks.workload import AIOSTREAM, PENSTOCK, REACTIVEX, STREAMABLE, Measure, Target

WIDTH = 900
LEFT = 250  # where the names end and the bars begin
RIGHT = 840  # leaves room for the figure beyond the longest bar
ROW = 18
GAP = 14
FIGURE = 50  # what a figure beside a bar is wide
INK = "#1f2933"
FAINT = "#d5dbe1"
MUTED = "#5b6773"
GOOD = "#1a7f5a"
BAD = "#c0392b"
COLOURS = {PENSTOCK: "#0b6fb8", STREAMABLE: "#d9822b", REACTIVEX: "#8e5ea2", AIOSTREAM: "#7a8794"}


@dataclass(frozen=True, slots=True)
class Scale:
    """Map ratios to places along a logarithmic axis."""

    low: float
    high: float

    def at(self, ratio: float) -> float:
        """Give the place of a ratio."""
        share = (math.log10(ratio) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return LEFT + share * (RIGHT - LEFT)

    def ticks(self) -> list[float]:
        """Give the powers of ten on the axis."""
        return [10.0**power for power in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]


def scale_of(ratios: Iterable[float]) -> Scale:
    """Span the whole decades that hold every ratio and 1."""
    logs = [0.0, *(math.log10(ratio) for ratio in ratios)]
    return Scale(10.0 ** min(math.floor(min(logs)), -1), 10.0 ** max(math.ceil(max(logs)), 1))


def ratios_picture(results: Sequence[Result]) -> str:
    """Draw what each contender costs against the baseline of its workload, to the left of 1 when it is faster."""
    scale = scale_of(
        result.measurement.ratio(name, result.measurement.workload.baseline).median
        for result in results
        for name in shown(result)
    )
    top = 92
    height = top + sum(ROW * len(shown(result)) + ROW + GAP for result in results) + 16
    marks = [
        text(20, 30, "Cost against hand-written code", size=17, weight="bold"),
        text(
            20,
            50,
            "median of paired ratios, logarithmic; left of 1x is faster than by hand; hollow: keeps no bound",
            fill=MUTED,
        ),
    ]
    for tick in scale.ticks():
        x = scale.at(tick)
        strong = tick == 1.0
        marks.append(line(x, top - 8, x, height - 16, INK if strong else FAINT, 1.5 if strong else 1))
        marks.append(text(x, top - 14, f"{tick:g}x", anchor="middle", fill=INK if strong else MUTED))
    y = top + 4
    for result in results:
        workload = result.measurement.workload
        limit = next((target.at_most for target in workload.targets if on_axis(result, target)), None)
        marks.append(text(20, y + 12, workload.title, weight="bold"))
        y += ROW
        for name in shown(result):
            ratio = result.measurement.ratio(name, workload.baseline).median
            marks.append(text(LEFT - 10, y + 12, name, anchor="end", fill=INK if name == PENSTOCK else MUTED))
            mark = limit if name == PENSTOCK else None
            marks.extend(bar(scale, y, ratio, COLOURS[name], mark, hollow=not workload.contender(name).bound.kept))
            y += ROW
        y += GAP
    marks.append(line(LEFT - 222, 68, LEFT - 222, 80, BAD, 2))
    marks.append(text(LEFT - 214, 79, "target", fill=MUTED))
    return svg(height, "Cost of each contender against hand-written code", marks)


def shown(result: Result) -> list[str]:
    """Name the contenders that get a bar."""
    return [contender.name for contender in result.measurement.workload.contenders if contender.name in COLOURS]


def on_axis(result: Result, target: Target) -> bool:
    """Say whether a target limits what the axis shows: wall time against the baseline."""
    return target.against == result.measurement.workload.baseline and target.measure is Measure.WALL


def bar(scale: Scale, y: float, ratio: float, colour: str, limit: float | None, *, hollow: bool) -> list[str]:
    """Draw a bar from 1 to a ratio, a mark at its limit, and the figure clear of both."""
    one, end = scale.at(1.0), scale.at(ratio)
    left, width = min(one, end), max(abs(end - one), 1.5)
    paint = f'fill="#ffffff" stroke="{colour}" stroke-width="1.5"' if hollow else f'fill="{colour}"'
    drawn = [f'<rect x="{left:.1f}" y="{y + 2:.1f}" width="{width:.1f}" height="{ROW - 6}" rx="2" {paint}/>']
    figure_x, anchor = (end + 6, "start") if ratio >= 1 else (end - 6, "end")
    if limit is not None:
        x = scale.at(limit)
        drawn.append(line(x, y, x, y + ROW - 2, BAD, 2, title=f"target: at most {limit:g}x"))
        if anchor == "start" and 0 <= x - end < FIGURE:
            figure_x = x + 6
        elif anchor == "end" and 0 <= end - x < FIGURE:
            figure_x = x - 6
    return [*drawn, text(figure_x, y + 12, times(ratio), anchor=anchor, halo=True)]


def targets_picture(verdicts: Sequence[Verdict]) -> str:
    """Draw how much of each limit is used; what reaches beyond the line at 100 % has missed."""
    asked = [(verdict, verdict.ratio / verdict.limit) for verdict in verdicts if verdict.ratio and verdict.limit]
    top, most, left = 84, 1.5, 400
    height = top + ROW * len(asked) + 20
    wide = RIGHT - left - 30
    marks = [
        text(20, 30, "Targets", size=17, weight="bold"),
        text(20, 50, "how much of each limit is used; beyond 100 % it is missed", fill=MUTED),
    ]
    for share in (0.0, 0.5, 1.0, 1.5):
        x = left + wide * share / most
        marks.append(line(x, top - 8, x, height - 16, INK if share == 1 else FAINT, 1.5 if share == 1 else 1))
        marks.append(text(x, top - 14, f"{share:.0%}", anchor="middle", fill=INK if share == 1 else MUTED))
    for row, (verdict, share) in enumerate(asked):
        y = top + ROW * row
        colour = GOOD if verdict.passed else BAD
        width = max(wide * min(share, most) / most, 1.5)
        marks.append(text(left - 10, y + 12, f"{verdict.workload}: {verdict.asked}", anchor="end"))
        marks.append(f'<rect x="{left}" y="{y + 2}" width="{width:.1f}" height="{ROW - 6}" rx="2" fill="{colour}"/>')
        word = verdict.seen if verdict.passed else f"{verdict.seen} missed"
        marks.append(text(left + width + 6, y + 12, word, fill=INK if verdict.passed else BAD, halo=True))
    return svg(height, "How much of each target is used", marks)


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 12,
    anchor: str = "start",
    weight: str = "normal",
    fill: str = INK,
    halo: bool = False,
) -> str:
    """Write words at a place, on a white edge where they may cross a line."""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}"'
    edge = f'<text {place} stroke="#ffffff" stroke-width="4" aria-hidden="true">{escape(words)}</text>' if halo else ""
    return f'{edge}<text {place} fill="{fill}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float, title: str = "") -> str:
    """Draw a straight line."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}">{inner}</line>'
    )


def svg(height: int, title: str, marks: Iterable[str]) -> str:
    """Put marks on a white page, so that it reads the same on a dark one."""
    body = "\n".join(marks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="system-ui, Helvetica, Arial, sans-serif">\n<title>{escape(title)}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>\n{body}\n</svg>\n'
    )
