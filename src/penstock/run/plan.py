"""plan: what runs where in a pipeline and what bounds what, to be read and drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A part of a pipeline: where it runs, what it does, and what bounds it."""

    where: str
    what: str
    bound: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """The parts of a pipeline in their order; `str` reads it, `mermaid` draws it."""

    places: tuple[PlannedPart, ...]
    title: str = ""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """Return the plan as text: a line per part, and between two of them what bounds the way."""
        wide = max(len(place.where) for place in self.places)
        lines = [self.title] if self.title else []
        for number, place in enumerate(self.places):
            if number:
                lines.append(f"  {'':{wide}} │")
            lines.append(f"  {place.where:>{wide}} ├─ {place.what}")
            lines.extend(f"  {'':{wide}} │    {clause}" for clause in place.bound.split("; ") if clause)
        return "\n".join(lines)

    def mermaid(self) -> str:
        """Return the plan as a mermaid drawing, a box per place of work."""
        lines = ["flowchart LR"]
        group = ""
        for number, place in enumerate(self.places):
            if place.where != group:
                if group:
                    lines.append("  end")
                lines.append(f'  subgraph w{number}["{place.where}"]')
                group = place.where
            text = place.what + (f"\n{place.bound}" if place.bound else "")
            lines.append(f'    p{number}["{_quoted(text)}"]')
        lines.append("  end")
        lines.extend(f"  p{number} --> p{number + 1}" for number in range(len(self.places) - 1))
        return "\n".join(lines)


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;").replace("\n", "<br/>")
