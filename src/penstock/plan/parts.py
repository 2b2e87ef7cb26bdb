"""parts: Plan, the parts of a chain or of a pipeline in their order, as text, as a mermaid drawing and as SVG."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A part of a pipeline: where it runs, what it does, and what bounds it."""

    where: str
    what: str
    bound: str = ""
    after: tuple[int, ...] | None = None
    """The places of the parts that it takes from; None for the one before it."""


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """The parts of a pipeline in their order; `str` reads it, `mermaid` and `svg` draw it, a notebook shows it."""

    places: tuple[PlannedPart, ...]
    title: str = ""

    def __repr__(self) -> str:
        return str(self)

    def inputs(self, number: int) -> tuple[int, ...]:
        """Return the places of the parts that one takes from.

        Args:
            number: The place of that one.
        """
        said = self.places[number].after
        return said if said is not None else (number - 1,) if number else ()

    def __str__(self) -> str:
        """Return the plan as text: a line per part, and between two of them what bounds the way.

        In a line each part takes from the one above it. In a graph parts have numbers, and those that do not say
        which they take from.
        """
        wide = max((len(place.where) for place in self.places), default=0)
        line = all(self.inputs(number) == ((number - 1,) if number else ()) for number in range(len(self.places)))
        lines = [self.title] if self.title else []
        for number, place in enumerate(self.places):
            follows = self.inputs(number) == (number - 1,)
            if number:
                lines.append(f"  {'':{wide}} │" if follows else "")
            name = "" if line else f"{number + 1}. "
            taken = "" if follows or not self.inputs(number) else f", of {_listed(self.inputs(number))}"
            lines.append(f"  {place.where:>{wide}} ├─ {name}{place.what}{taken}")
            lines.extend(f"  {'':{wide}} │    {clause}" for clause in place.bound.split("; ") if clause)
        return "\n".join(lines)

    def mermaid(self) -> str:
        """Return the plan as a mermaid drawing, a box per place of work and an arrow per way."""
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
        if group:
            lines.append("  end")
        ways = ((start, number) for number in range(len(self.places)) for start in self.inputs(number))
        lines.extend(f"  p{start} --> p{number}" for start, number in ways)
        return "\n".join(lines)

    def svg(self) -> str:
        """Return the plan as an SVG drawing from the sources at the top to the ends at the bottom.

        It brings its colours for light and for dark pages along, and needs no other file.
        """
        from penstock.plan.svg import drawn  # noqa: PLC0415  most programs draw nothing

        return drawn(self)

    def _repr_html_(self) -> str:
        return self.svg()


def _listed(places: tuple[int, ...]) -> str:
    *most, last = (str(place + 1) for place in places)
    return f"{', '.join(most)} and {last}" if most else last


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;").replace("\n", "<br/>")
