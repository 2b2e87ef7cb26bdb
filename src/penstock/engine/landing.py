"""landing: where signals, demand and cancels take a fresh stack, so that a row of joints may be as long as one likes.

A landing reads nothing ahead: upstream is asked for what is asked for below and no more, in pieces of `WINDOW` where
that is everything. What arrives is passed on by a call of the outermost landing that is at work on this thread.
"""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import Any

from penstock.engine.credit import Credit
from penstock.engine.flat import asking, cancelling, opening, working
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part
from penstock.spec.interfaces import Subscriber, Subscription

WINDOW = 32
"""How many elements may be on their way between two stacks where everything is asked for."""


class Landing(Part):
    """A subscriber in front of another one whose signals begin a fresh stack."""

    __slots__ = ("_credit", "_lock", "_outlet", "_upstream")

    def __init__(self, downstream: Subscriber[Any]) -> None:
        self._lock = Lock()
        self._credit = Credit(WINDOW)
        self._upstream: Subscription | None = None
        outlet = self._outlet = Outlet(downstream, working)
        outlet.on_request = self._ask
        outlet.on_taken = self._taken
        outlet.on_cancel = self._cancel

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription."""
        if accepts(subscription, self._upstream):
            self._upstream = subscription
            opening(self._outlet.open)

    def on_next(self, element: Any, /) -> None:
        """Take an element that was asked for."""
        if element is None:
            element_or_raise(element, "on_next")
        self.on_chunk([element])

    def on_chunk(self, elements: list[Any], /) -> None:
        """Take several elements that were asked for."""
        with self._lock:
            self._credit.arrived(len(elements))
        self._outlet.queue.extend(elements)
        if self._outlet.idle:
            self._outlet.wake()

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on, after what came before it."""
        element_or_raise(error, "on_error")
        self._outlet.complete(error)

    def on_complete(self) -> None:
        """Pass the end on, after what came before it."""
        self._outlet.complete()

    def _taken(self, count: int) -> None:
        with self._lock:
            self._credit.held -= count
        self._ask(0)

    def _ask(self, _: int) -> None:
        with self._lock:
            more = self._credit.ask(self._outlet.demand)
        if more and self._upstream is not None:
            asking(partial(self._upstream.request, more))

    def _cancel(self) -> None:
        if self._upstream is not None:
            cancelling(self._upstream.cancel)
