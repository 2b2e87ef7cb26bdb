"""input_window: the subscriber of one of several inputs, which is kept filled with a window of elements."""

from __future__ import annotations

from typing import Protocol

from penstock.engine.grounds.upstream import UpstreamWindow
from penstock.engine.words.part import Part
from penstock.spec.interfaces import Subscription


class Whole(Protocol):
    """The joint that the inputs are part of."""

    height: int
    window: int
    asked: bool
    """Whether the subscriber has asked for anything."""


class Filled(Part):
    """An input that asks for a window of elements at the subscriber's first request, then for half windows."""

    __slots__ = ("_whole", "credit", "done", "height", "upstream")

    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        self.height = whole.height
        self.upstream = UpstreamWindow(whole.window)
        self.credit = self.upstream.credit
        self.done = False
        """Whether it has ended."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, and fill the window if the subscriber has asked."""
        if self.upstream.take(subscription) and self._whole.asked:
            self.upstream.begin()
