"""habits: what the stages of a segment do to demand and to the number of elements, for runs that are fed by signals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.stage import Stage


class Habits:
    """What at least one of the stages does that ask upstream for so many elements when one is wanted."""

    __slots__ = ("calls", "capped", "ends", "expands", "gathers", "headed", "tailed", "uncounted")

    def __init__(self, stages: Sequence[Stage[Any, Any]], wanted_for_one: int) -> None:
        bodies = [stage.body for stage in stages]
        capped = [stage.body for stage in stages if stage.cap is not None]
        self.expands = any(body.each is not None for body in bodies)
        """Whether one element may become several, so that the loop may rest inside an inner loop."""
        self.headed = any(body.head is not None for body in bodies)
        """Whether a stage adds elements before those of upstream."""
        self.tailed = any(body.tail is not None for body in bodies)
        """Whether a stage adds elements after those of upstream."""
        self.ends = any(body.ends is not None for body in bodies)
        """Whether a stage may have enough before upstream has ended."""
        self.calls = any(body.calls_first for body in bodies)
        """Whether a user's function is called when a run begins."""
        self.capped = bool(capped)
        """Whether a stage will only ever take so many elements."""
        self.uncounted = any(body.room is None for body in capped)
        """Whether such a stage does not say how many it has taken."""
        self.gathers = wanted_for_one > 1
        """Whether several elements of upstream may be needed for one."""
