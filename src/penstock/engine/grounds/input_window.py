"""input_window: the subscriber of one of several inputs, which is kept filled with a window of elements."""

from __future__ import annotations

from threading import Lock
from typing import Protocol

from penstock.engine.grounds.outlet import accepts
from penstock.engine.words.part import Part
from penstock.spec.interfaces import Subscription


class Whole(Protocol):
    """The joint that the inputs are part of."""

    height: int
    window: int
    lock: Lock
    asked: bool
    """Whether the subscriber has asked for anything."""


class Filled(Part):
    """An input that asks for a window of elements at the subscriber's first request, then for half windows."""

    __slots__ = ("_begun", "_half", "_taken", "_whole", "cancelled", "done", "height", "subscription")

    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        self.height = whole.height
        self._half = (whole.window + 1) // 2
        self._taken = 0
        self._begun = False
        self.cancelled = False
        self.done = False
        """Whether it has ended."""
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, and fill the window if the subscriber has asked."""
        if not accepts(subscription, self.subscription, closed=self.cancelled):
            return
        self.subscription = subscription
        if self.cancelled:
            subscription.cancel()
        elif self._whole.asked:
            self.begin()

    def begin(self) -> None:
        """Fill the window, once."""
        with self._whole.lock:
            begins = self.subscription is not None and not self._begun
            self._begun = self._begun or begins
        if begins and self.subscription is not None:
            self.subscription.request(self._whole.window)

    def credit(self, count: int) -> None:
        """Ask for more once half the window was taken."""
        self._taken += count
        if self._taken >= self._half and not self.done:
            taken, self._taken = self._taken, 0
            if self.subscription is not None and not self.cancelled:
                self.subscription.request(taken)

    def cancel(self) -> None:
        """Ask for nothing more."""
        self.cancelled = True
        if self.subscription is not None and not self.done:
            self.subscription.cancel()
