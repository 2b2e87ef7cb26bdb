"""again: what another run of a chain gives, by what its sources and its steps say about themselves."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from typing import Any

from penstock.engine.runs.chain import Chain, from_the_inside, inner_chains
from penstock.engine.weaving.blame import describe, operator_name
from penstock.stage import Again

Said = tuple[Again, str]
"""What another run gives, and the step or source that is the reason if it is not the same."""


def again_of(chain: Chain) -> Said:
    """Say what another run of a chain gives.

    It gives the same if its source does and all its steps are steady, and what comes from then on if its source does.
    """
    known: dict[int, Said] = {}
    for each in from_the_inside(chain, inner_chains):
        known[id(each)] = _said(each, [known[id(inner)] for inner in inner_chains(each.source)])
    return known[id(chain)]


def _said(chain: Chain, inner: list[Said]) -> Said:
    source = chain.source
    name = operator_name(source)
    if not inner:
        found = source.again
    elif all(again is Again.LATER for again, _ in inner):
        found = Again.LATER
    else:
        differing = [reason for again, reason in inner if again is not Again.SAME]
        found = Again.SAME if source.follows and not differing else Again.UNSAID
        name = differing[0] if differing else name
    if found is not Again.SAME:
        return found, name
    moved = next((step for step in chain.steps if not step.steady), None)
    return (Again.SAME, "") if moved is None else (Again.UNSAID, describe(moved))


def again_of_given(given: object) -> Again:
    """Say what another run of a stream, another publisher or an iterable gives."""
    chain = getattr(given, "_chain", None)
    if isinstance(chain, Chain):
        return again_of(chain)[0]
    foreign = callable(getattr(given, "subscribe", None)) or isinstance(given, AsyncIterable)
    return Again.UNSAID if foreign or not isinstance(given, Iterable) else again_of_items(given)


def again_of_items(items: Iterable[Any]) -> Again:
    """Say whether a collection has the same items in the same order again; the order of a set is another elsewhere."""
    return Again.UNSAID if isinstance(items, Iterator | set | frozenset) else Again.SAME


__all__ = ["again_of", "again_of_given", "again_of_items"]
