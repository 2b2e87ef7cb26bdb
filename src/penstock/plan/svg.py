"""svg: draw a plan as SVG that stands alone: colours for light and dark pages, and all of its text inside its boxes.

Text is set in a monospaced face, whose width is known without a font: no sign is wider than `_SIGN` of its size, and
signs of East Asia take two places. The drawing has no ids, so that several may stand in one page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from unicodedata import combining, east_asian_width

from penstock.plan.layout import Box, Layout, laid_out
from penstock.plan.parts import Plan, PlannedPart

_SIGN = 0.62
"""Width of a sign of a monospaced face, in parts of its size; that of common faces is 0.6."""
_MOST = 52
"""Places in a line of a box; a longer text is broken where it can be."""
_PAD, _MARGIN, _ACROSS, _DOWN, _HEADER = 12.0, 16.0, 28.0, 38.0, 30.0
_SIZES = {"where": 11.0, "what": 13.0, "bound": 11.0}
_HIGH = {"where": 17.0, "what": 19.0, "bound": 15.0}
_KINDS = {
    "source": "here",
    "this process": "here",
    "then": "here",
    "end": "here",
    "executors": "away",
    "Spark": "spark",
    "input": "open",
}
"""Which colour a place of work has."""
_FACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_STYLE = """
.penstock-plan .paper { fill: #fbfaf7 } .penstock-plan .title { fill: #1d2730; font-weight: 600 }
.penstock-plan .box { fill: #ffffff; stroke: #8a949e; stroke-width: 1.2 }
.penstock-plan .open .box { stroke-dasharray: 5 4 }
.penstock-plan .here .box { fill: #eef6f4; stroke: #2f7d74 } .penstock-plan .here .where { fill: #1f6a62 }
.penstock-plan .away .box { fill: #fdf3e7; stroke: #b4691f } .penstock-plan .away .where { fill: #8d4d0e }
.penstock-plan .spark .box { fill: #eef1fb; stroke: #4a5fb5 } .penstock-plan .spark .where { fill: #3a4da0 }
.penstock-plan .where { fill: #55606b } .penstock-plan .what { fill: #14202a } .penstock-plan .bound { fill: #4a5560 }
.penstock-plan .way { fill: none; stroke: #5d6a76; stroke-width: 1.5 } .penstock-plan .head { fill: #5d6a76 }
@media (prefers-color-scheme: dark) {
.penstock-plan .paper { fill: #14191e } .penstock-plan .title { fill: #eef2f5 }
.penstock-plan .box { fill: #1e252c; stroke: #7d8893 }
.penstock-plan .here .box { fill: #16302d; stroke: #4fb0a4 } .penstock-plan .here .where { fill: #7fd3c8 }
.penstock-plan .away .box { fill: #35271a; stroke: #d8924b } .penstock-plan .away .where { fill: #f0b880 }
.penstock-plan .spark .box { fill: #1f2540; stroke: #8395e8 } .penstock-plan .spark .where { fill: #aab8f7 }
.penstock-plan .where { fill: #b3bdc6 } .penstock-plan .what { fill: #f1f4f6 } .penstock-plan .bound { fill: #c2cad2 }
.penstock-plan .way { stroke: #a3aeb8 } .penstock-plan .head { fill: #a3aeb8 }
}"""
_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot carry."""


def drawn(plan: Plan) -> str:
    """Return a plan as SVG."""
    cards = [_Card.of(place) for place in plan.places]
    boxes = [Box(card.wide, card.high, plan.inputs(number)) for number, card in enumerate(cards)]
    layout = laid_out(boxes, across=_ACROSS, down=_DOWN) if boxes else Layout((), (), (), 0.0, 0.0)
    header = _HEADER if plan.title else 0.0
    title_wide = _wide(plan.title, 14.0)
    wide = max(layout.wide, title_wide) + 2 * _MARGIN
    high = layout.high + header + 2 * _MARGIN
    left, top = (wide - layout.wide) / 2, _MARGIN + header
    size = f'viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="penstock-plan" role="img" {size} font-family="{_FACE}"',
        f'  style="max-width:100%;height:auto" aria-label="{_text(_spoken(plan))}">',
        f"<style>{_STYLE}\n</style>",
        f'<rect class="paper" width="{wide:.0f}" height="{high:.0f}" rx="8"/>',
    ]
    if plan.title:
        out.append(
            f'<text class="title" x="{_MARGIN:.0f}" y="{_MARGIN + 13:.0f}" font-size="14">{_text(plan.title)}</text>'
        )
    out += [_way(points, left, top) for _, _, points in layout.ways]
    for card, middle, box_top in zip(cards, layout.middles, layout.tops, strict=True):
        out.append(card.drawn(left + middle - card.wide / 2, top + box_top))
    return "\n".join([*out, "</svg>"])


@dataclass(frozen=True, slots=True)
class _Card:
    """The box of one part: its lines, each with its kind, and its size."""

    kind: str
    lines: tuple[tuple[str, str], ...]
    wide: float
    high: float

    @staticmethod
    def of(place: PlannedPart) -> _Card:
        lines = [("where", place.where)]
        lines += [("what", line) for line in _broken(place.what, " | ", _MOST)]
        for clause in filter(None, place.bound.split("; ")):
            lines += [("bound", line) for line in _broken(clause, " ", _MOST + 8)]
        wide = max(_wide(text, _SIZES[kind]) for kind, text in lines) + 2 * _PAD
        high = sum(_HIGH[kind] for kind, _ in lines) + 2 * _PAD - 4
        return _Card(_KINDS.get(place.where, "other"), tuple(lines), wide, high)

    def drawn(self, left: float, top: float) -> str:
        out = [f'<g class="{self.kind}">']
        out.append(
            f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{self.wide:.1f}" height="{self.high:.1f}" rx="6"/>'
        )
        base = top + _PAD - 4
        for kind, text in self.lines:
            base += _HIGH[kind]
            out.append(
                f'<text class="{kind}" x="{left + _PAD:.1f}" y="{base - 3:.1f}" font-size="{_SIZES[kind]:.0f}"'
                f' xml:space="preserve">{_text(text)}</text>'
            )
        return "\n".join([*out, "</g>"])


def _way(points: tuple[tuple[float, float], ...], left: float, top: float) -> str:
    """Return a way with a head, straight where it passes ranks and bent between them."""
    (x, y), *rest = [(left + across, top + down) for across, down in points]
    line = [f"M{x:.1f},{y:.1f}"]
    end_x, end_y = rest[-1]
    rest[-1] = (end_x, end_y - 7)
    for next_x, next_y in rest:
        if next_x == x:
            line.append(f"L{next_x:.1f},{next_y:.1f}")
        else:
            bend = (next_y - y) / 2
            line.append(f"C{x:.1f},{y + bend:.1f} {next_x:.1f},{next_y - bend:.1f} {next_x:.1f},{next_y:.1f}")
        x, y = next_x, next_y
    head = f"{end_x:.1f},{end_y:.1f} {end_x - 4.5:.1f},{end_y - 9:.1f} {end_x + 4.5:.1f},{end_y - 9:.1f}"
    return f'<path class="way" d="{" ".join(line)}"/><polygon class="head" points="{head}"/>'


def _broken(text: str, at: str, most: int) -> list[str]:
    """Return a text as lines of at most so many places, broken at a separator, else at spaces, else anywhere."""
    lines: list[str] = []
    line = ""
    for piece in text.split(at):
        longer = f"{line}{at}{piece}" if line else piece
        if _places(longer) <= most or not line:
            line = longer
        else:
            lines.append(line + at.rstrip())
            line = piece
    lines.append(line)
    if at != " ":
        return [part for each in lines for part in (_broken(each, " ", most) if _places(each) > most + 2 else [each])]
    return [part for each in lines for part in _cut(each, most)]


def _cut(text: str, most: int) -> list[str]:
    """Return a text without a space in pieces of at most so many places."""
    pieces, piece = [], ""
    for sign in text:
        if _places(piece + sign) > most + 2:
            pieces.append(piece)
            piece = ""
        piece += sign
    return [*pieces, piece]


def _places(text: str) -> int:
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _wide(text: str, size: float) -> float:
    return _places(text) * size * _SIGN


def _spoken(plan: Plan) -> str:
    """Return the plan as one line, for those who hear it."""
    parts = [
        f"{number + 1}. {place.where}: {place.what}" + "".join(f", of {each + 1}" for each in plan.inputs(number))
        for number, place in enumerate(plan.places)
    ]
    return "; ".join([*([plan.title] if plan.title else []), *parts])


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text))


__all__ = ["drawn"]
