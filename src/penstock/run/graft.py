"""graft: put another source in the place of one, wherever it stands in a chain."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from penstock.engine.runs.chain import Chain, inner_chains, with_other_chains
from penstock.stage import Source


def graft(chain: Chain, onto: Callable[[Source[Any]], Chain | None]) -> Chain:
    """Replace sources, those inside other sources included; `onto` returns the new start, or None to keep one."""
    grafted: dict[int, Chain] = {}
    states: dict[int, object] = {}
    waiting = [chain]
    while waiting:  # from the inside out, in a loop: a thousand sources may be nested
        at = waiting[-1]
        found = onto(at.source)
        if found is not None:
            grafted[id(at)] = Chain(found.source, (*found.steps, *at.steps), _places(found, at))
            waiting.pop()
            continue
        inner = [each for each in inner_chains(at.source) if id(each) not in grafted]
        if inner:
            waiting.extend(inner)
        else:
            grafted[id(at)] = _rebuilt(at, grafted, states)
            waiting.pop()
    return grafted[id(chain)]


def _places(found: Chain, at: Chain) -> tuple[str, ...]:
    """Return where the steps of two chains were written, the second of which has lost its source."""
    if not found.places and not at.places:
        return ()
    unknown = ("",) * (1 + len(found.steps) - len(found.places))
    return (*found.places, *unknown, *at.places[1:])


def _rebuilt(chain: Chain, grafted: dict[int, Chain], states: dict[int, object]) -> Chain:
    """Return the chain with what was grafted inside its source, and a fresh state where it holds any.

    Sources that had one state in common, two branches of a shared stream say, have one in common again.
    """
    if all(grafted[id(each)] is each for each in inner_chains(chain.source)):
        return chain
    fresh: dict[str, object] = {}
    for field in dataclasses.fields(chain.source):  # type: ignore[arg-type]
        if field.default_factory is not dataclasses.MISSING:
            state = id(getattr(chain.source, field.name))
            if state not in states:
                states[state] = field.default_factory()  # a hub of other streams must not be joined
            fresh[field.name] = states[state]
    return Chain(with_other_chains(chain.source, lambda each: grafted[id(each)], **fresh), chain.steps, chain.places)
