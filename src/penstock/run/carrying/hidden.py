"""hidden: sources that are not in the chain of a run before it begins.

A stream that is made when it is subscribed, and begins the chain, is made first, so that its source is seen. One that a
function makes while the run goes on is not seen; if it wants to be told what is done, it is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.engine.places.telling import refuse_hidden
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import chain_of
from penstock.engine.weaving.blame import operator_name
from penstock.operators.defer import Defer
from penstock.run.branches import Branches
from penstock.run.carrying.functions import Called
from penstock.run.carrying.lifting import NotCarriedError
from penstock.run.valves.valve import Valved


def made_first(chain: Chain) -> Chain:
    """Return a chain in the place of one that begins with `defer`, whose function has been called."""
    source = chain.source
    if isinstance(source, Branches | Valved):
        inner = made_first(source.stream)
        if inner is source.stream:
            return chain
        return Chain(replace(source, stream=inner), chain.steps, chain.places)
    while isinstance(source, Defer):  # one may give another, a thousand times
        try:
            given = source.make()
        except Exception as error:  # noqa: BLE001  it is raised again where the stream would have been made
            return Chain(replace(source, make=Called(source.make, None, error)), chain.steps, chain.places)
        made = chain_of(given)
        if made is None:
            return Chain(replace(source, make=Called(source.make, given)), chain.steps, chain.places)
        source, chain = made.source, Chain(made.source, (*made.steps, *chain.steps))
    return chain


def refuse_what_is_hidden() -> None:
    """Refuse, in this context, a source that wants to be told what is done and that the run does not see."""
    refuse_hidden(_refused)


def _refused(source: Any) -> NotCarriedError:
    return NotCarriedError(
        f"{operator_name(source)}: this source wants to be told what is done, and the run does not see it, since a "
        "function made it or a step before it does not say what is done; begin the pipeline with it, or run another "
        "pipeline over it in the function; one that is to be told nothing is made without commit, or without a group"
    )


__all__ = ["made_first", "refuse_what_is_hidden"]
