"""explained: the plan of what was composed with `|`, in this process: part by part, and branch by branch."""

from __future__ import annotations

from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.plan import Plan, PlannedPart
from penstock.plan.chains import add_chain
from penstock.run.branches import Branches, Hole
from penstock.run.walking import Walk, walked
from penstock.stage import Joint, Stage

INPUT = PlannedPart("input", "a stream", after=())
"""The stream that a flow or a sink is put behind."""


def explained(before: tuple[PlannedPart, ...], parts: tuple[Any, ...], title: str, *, end: bool = True) -> Plan:
    """Return the plan of parts (streams, flows, steps, sinks) behind what stands before; the last may be an end."""
    places = list(before)
    walked(_add(places, parts, len(places) - 1 if places else None, end))
    return Plan(tuple(places), title)


def _add(places: list[PlannedPart], parts: tuple[Any, ...], after: int | None, end: bool) -> Walk[None]:
    """Add parts, and what they branch into, to those that are there, behind one of them."""
    for number, part in enumerate(parts, 1):
        chain = Chain(Hole(), (part,)) if isinstance(part, Stage | Joint) else part._chain
        behind = () if after is None else (after,)
        if isinstance(chain.source, Branches):
            if not isinstance(chain.source.stream.source, Hole):  # it is filled
                after = add_chain(places, chain.source.stream, after=behind, hole=Hole)
            for each in chain.source.ends:
                yield _add(places, each._parts or (each,), after, True)
            continue
        after = add_chain(places, chain, after=behind, hole=Hole, end=end and number == len(parts))


__all__ = ["INPUT", "explained"]
