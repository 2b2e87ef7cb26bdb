"""page: docs/performance.md, whose measured part lies between two markers, and its pictures."""

from __future__ import annotations

from pathlib import Path

BEGIN = "<!-- measured: begin; written by python -m benchmarks --write -->"
END = "<!-- measured: end -->"
DOCS = Path(__file__).resolve().parent.parent / "docs"


def replaced(page: str, measured: str) -> str:
    """Put the measured part between the markers of a page."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        message = f"page: text must have the lines {BEGIN!r} and {END!r}, got {page[:40]!r}"
        raise ValueError(message)
    return f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}"


def write(measured: str, ratios: str, targets: str, docs: Path = DOCS) -> None:
    """Rewrite the measured part of the page and both pictures."""
    page = docs / "performance.md"
    page.write_text(replaced(page.read_text(encoding="utf-8"), measured), encoding="utf-8")
    images = docs / "images"
    images.mkdir(exist_ok=True)
    (images / "performance.svg").write_text(ratios, encoding="utf-8")
    (images / "performance-targets.svg").write_text(targets, encoding="utf-8")
