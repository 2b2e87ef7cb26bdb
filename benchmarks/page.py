"""page: docs/performance.md, whose measured part lies between two markers, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


@dataclass(frozen=True, slots=True)
class Part:
    """Name the lines between which a measured part of the page stands."""

    begin: str
    end: str


BEGIN = "<!-- measured: begin; written by python -m benchmarks --write -->"
END = "<!-- measured: end -->"
IN_PROCESS = Part(BEGIN, END)
ON_SPARK = Part(
    "<!-- measured on Spark: begin; written by python -m benchmarks.spark --write -->",
    "<!-- measured on Spark: end -->",
)
OPERATORS = Part(
    "<!-- measured per operator: begin; written by python -m benchmarks.operators --write -->",
    "<!-- measured per operator: end -->",
)
SOAK = Part(
    "<!-- soaked: begin; written by python -m benchmarks.soak --write -->",
    "<!-- soaked: end -->",
)


def replaced(page: str, measured: str, part: Part = IN_PROCESS) -> str:
    """Put the measured part between its markers on a page."""
    before, begin, rest = page.partition(part.begin)
    _, end, after = rest.partition(part.end)
    if not begin or not end:
        message = f"page: text must have the lines {part.begin!r} and {part.end!r}, got {page[:40]!r}"
        raise ValueError(message)
    return f"{before}{part.begin}\n\n{measured}\n\n{part.end}{after}"


def write(measured: str, ratios: str, targets: str, docs: Path = DOCS) -> None:
    """Rewrite the measured part of the page and both pictures."""
    write_part(IN_PROCESS, measured, {"performance.svg": ratios, "performance-targets.svg": targets}, docs)


def write_part(part: Part, measured: str, pictures: Mapping[str, str], docs: Path = DOCS) -> None:
    """Rewrite one measured part of the page and the pictures it shows."""
    page = docs / "performance.md"
    page.write_text(replaced(page.read_text(encoding="utf-8"), measured, part), encoding="utf-8")
    images = docs / "images"
    images.mkdir(exist_ok=True)
    for name, drawn in pictures.items():
        (images / name).write_text(drawn, encoding="utf-8")
