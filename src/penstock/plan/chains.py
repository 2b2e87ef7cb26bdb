"""chains: lay out the parts of a chain, where the engine divides it: a loop, or a step that sees signals.

A source and the stages behind it run as one loop, and so do stages one after the other. A step that sees signals (one
that waits, changes the thread or bounds what is held) begins a new part, and so does a source that takes other streams.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import describe, operator_name
from penstock.engine.words.several import Iterated
from penstock.plan.parts import Plan, PlannedPart
from penstock.stage import Joint, Source, Stage, Step

UNHURRIED = "asks for all there is, one after the other"
"""What bounds the end of a pipeline in this process: nothing but the sink itself."""

_AWAY = "Spark"
_BOUNDS = {
    "concurrency": "at most {:,} at once",
    "prefetch": "at most {:,} elements wait here",
    "size": "at most {:,} elements are held",
    "capacity": "at most {:,} elements are held",
}
"""The fields of steps that say a bound, and how it reads."""


_DEEPEST = 40
"""Streams inside of streams that are drawn apart; what is deeper is one part."""
_MOST = 200
"""Parts of a plan, after which streams inside of others are not drawn apart any more."""
_WIDEST = 24
"""Streams of one step that are drawn apart; the others are one part."""


def explained(chain: Chain) -> Plan:
    """Return the plan of a chain that runs in this process, or of the beginning of one that runs on Spark."""
    places: list[PlannedPart] = []
    add_chain(places, chain)
    away = any(place.where == _AWAY for place in places)
    return Plan(tuple(places), "on Spark, when a Sink ends it" if away else "in this process")


def add_chain(
    places: list[PlannedPart],
    chain: Chain,
    *,
    after: tuple[int, ...] = (),
    hole: type | None = None,
    end: bool = False,
    deep: int = 0,
) -> int:
    """Add the parts of a chain behind others, and return the place of the last, the end if it is said to be one.

    A source of the kind `hole` is the place of what stands before, and no part itself.
    """
    source = chain.source
    texts: list[str] = []
    bounds: tuple[str, ...] = ()
    where = "then" if after else "source"
    if hole is None or not isinstance(source, hole):
        inner = _taken(source) if deep < _DEEPEST and len(places) < _MOST else []
        if inner:
            where, texts = "then", [describe(source)]  # type: ignore[arg-type]  # sources are described as steps are
            after = _inputs(places, inner, after, hole, deep)
        else:
            where, texts, after = "source", [operator_name(source)], ()
        where = _AWAY if hasattr(source, "engine") else where
        bounds = _bounds_of(source) if inner else ()
    for step in chain.steps:
        if texts and (isinstance(step, Joint) or where == _AWAY):
            places.append(_part(where, texts, bounds, after))
            where, after, texts, bounds = "then", (len(places) - 1,), [], ()
        texts.append(describe(step))
        bounds = (*bounds, *_bounds_of(step))
    if not texts:
        return max(after)  # the one that stands before it
    if end and where == "then":
        where, bounds = "end", (*bounds, UNHURRIED)
    places.append(_part(where, texts, bounds, after))
    return len(places) - 1


def _inputs(
    places: list[PlannedPart], inner: Sequence[Chain], after: tuple[int, ...], hole: type | None, deep: int
) -> tuple[int, ...]:
    """Add the streams that a source takes from, and return their places."""
    shown = inner if len(inner) <= _WIDEST else inner[: _WIDEST - 1]
    found = [add_chain(places, each, after=after, hole=hole, deep=deep + 1) for each in shown]
    if len(shown) < len(inner):
        places.append(PlannedPart("source", f"{len(inner) - len(shown):,} more streams", after=()))
        found.append(len(places) - 1)
    return tuple(dict.fromkeys(found))


def _part(where: str, texts: Sequence[str], bounds: Sequence[str], after: tuple[int, ...]) -> PlannedPart:
    return PlannedPart(where, " | ".join(texts), "; ".join(dict.fromkeys(bounds)), after)


def _taken(source: Source[Any]) -> list[Chain]:
    """Return the chains that a source takes from, those of streams that it takes for publishers included."""
    if not dataclasses.is_dataclass(source):
        return []
    values = [getattr(source, field.name) for field in dataclasses.fields(source)]
    items = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    chains = [getattr(item, "_chain", None) if isinstance(item, Iterated) else item for item in items]
    return [chain for chain in chains if isinstance(chain, Chain)]


def _bounds_of(step: Step | Source[Any]) -> tuple[str, ...]:
    """Return what a step that sees signals holds at most, where a field of it says so."""
    if isinstance(step, Stage) or not dataclasses.is_dataclass(step):
        return ()
    said = {field.name: getattr(step, field.name) for field in dataclasses.fields(step)}
    return tuple(
        text.format(said[name])
        for name, text in _BOUNDS.items()
        if isinstance(said.get(name), int) and not isinstance(said[name], bool) and said[name] < 2**62
    )


__all__ = ["UNHURRIED", "add_chain", "explained"]
