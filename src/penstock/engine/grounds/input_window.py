"""input_window: the subscriber of one of several inputs, which is kept filled with a window of elements."""

from __future__ import annotations

from typing import Protocol

from penstock.engine.grounds.upstream import Upstream


class Whole(Protocol):
    """The joint that the inputs are part of."""

    height: int
    window: int
    asked: bool
    """Whether the subscriber has asked for anything."""


class Filled(Upstream):
    """An input that asks for a window of elements at the subscriber's first request, then for half windows."""

    __slots__ = ("_whole", "done")

    def __init__(self, whole: Whole) -> None:
        super().__init__(whole.height, whole.window)
        self._whole = whole
        self.done = False
        """Whether it has ended, and the joint knows."""

    def subscribed(self) -> None:
        """Fill the window if the subscriber has asked."""
        if self._whole.asked:
            self.begin()
