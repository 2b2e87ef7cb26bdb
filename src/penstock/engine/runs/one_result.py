"""one_result: whether a chain comes down to one result, which `await` and `get` can give without leaving any out."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.engine.runs.chain import Chain, inner_chains
from penstock.stage import Gives, Results, Step


def one_result(chain: Chain) -> bool:
    """Tell whether a chain has one element at most, by what its steps and sources say about themselves."""
    waiting = [chain]
    while waiting:  # in a loop: a thousand sources may be nested
        at = waiting.pop()
        said = said_by_steps(at.steps)
        if said is Results.AS_MANY:
            said = at.source.results
            if said is Results.AS_MANY:
                waiting.extend(inner_chains(at.source))
        if said is Results.ANY:
            return False
    return True


def refuse_several(call: str, chain: Chain) -> None:
    """Refuse to give one element of a chain that may have several."""
    if not one_result(chain):
        raise TypeError(
            f"{call}: {chain} may have several elements; say first() for the first, or to_list() for all of them"
        )


def said_by_steps(steps: Sequence[Step]) -> Results:
    """Return what the steps of a chain say, AS_MANY if it depends on what comes before them."""
    for step in reversed(steps):
        said = _said_by(step)
        if said is not Results.AS_MANY:
            return said
    return Results.AS_MANY


def _said_by(step: Step) -> Results:
    said: object = step.results
    if not isinstance(said, Results):
        return Results.ANY  # a step of a user may have something else by this name
    return Results.AS_MANY if said is Results.ANY and step.gives is Gives.ONE else said


__all__ = ["one_result", "refuse_several", "said_by_steps"]
