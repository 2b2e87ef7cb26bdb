"""habits: what the stages of a segment do to demand and to the number of elements, for runs that are fed by signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.engine.weaving.weave_push import lets_nothing_pass
from penstock.stage import Stage


@dataclass(frozen=True, slots=True)
class Habits:
    """What at least one stage of a segment does."""

    expands: bool
    """Whether one element may become several, so that the loop may rest inside an inner loop."""
    headed: bool
    """Whether a stage adds elements before those of upstream."""
    tailed: bool
    """Whether a stage adds elements after those of upstream."""
    ends: bool
    """Whether a stage may have enough before upstream has ended."""
    folds: bool
    """Whether a stage makes nothing of an element before the end."""
    calls: bool
    """Whether a user's function is called when a run begins."""
    capped: bool
    """Whether a stage will only ever take so many elements."""
    uncounted: bool
    """Whether such a stage does not say how many it has taken."""
    gathers: bool
    """Whether several elements of upstream may be needed for one."""


def habits_of(stages: Sequence[Stage[Any, Any]], wanted_for_one: int) -> Habits:
    """Say what stages do that ask upstream for so many elements when one is wanted."""
    bodies = [stage.body for stage in stages]
    capped = [stage.body for stage in stages if stage.cap is not None]
    return Habits(
        expands=any(body.each is not None for body in bodies),
        headed=any(body.head is not None for body in bodies),
        tailed=any(body.tail is not None for body in bodies),
        ends=any(body.ends is not None for body in bodies),
        folds=any(map(lets_nothing_pass, bodies)),
        calls=any(body.calls_first for body in bodies),
        capped=bool(capped),
        uncounted=any(body.room is None for body in capped),
        gathers=wanted_for_one > 1,
    )
