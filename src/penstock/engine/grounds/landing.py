"""landing: where signals, demand and cancels take a fresh stack, so that a row of joints may be of any length.

A landing is a boundary on the current thread that reads nothing ahead: upstream is asked for what is asked for below
and no more, in pieces of `WINDOW` where that is everything. What arrives is passed on by a call of the outermost
landing that is at work on this thread.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.engine.grounds.boundary import Boundary
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.places.executors import inline
from penstock.engine.words.credit import Credit
from penstock.engine.words.trampoline import asking
from penstock.spec.interfaces import Subscriber

WINDOW = 32
"""How many elements may be on their way between two stacks where everything is asked for."""


class Landing(Boundary):
    """A subscriber in front of another one whose signals begin a fresh stack."""

    __slots__ = ("_credit",)

    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, inline().worker(), WINDOW)
        self._credit = Credit(WINDOW)
        self.on_next = self._take  # type: ignore[method-assign]

    def _take(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        self.on_chunk([element])

    def on_chunk(self, elements: list[Any], /) -> None:
        """Take several elements that were asked for."""
        with self.lock:
            self._credit.arrived(len(elements))
        super().on_chunk(elements)

    def taken(self, count: int, /) -> None:
        with self.lock:
            self._credit.held -= count
        self.requested(0)

    def requested(self, _: int, /) -> None:
        with self.lock:
            more = self._credit.ask(self.outlet.demand)
        if more:
            asking(partial(self.request, more))
