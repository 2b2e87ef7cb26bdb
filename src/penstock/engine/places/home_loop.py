"""home_loop: the event loop on which a run was begun, and whose thread must not wait for it."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.engine.places.event_loops import AnyLoop


class HomeLoop:
    """The loop on which a run was begun, for its asynchronous parts on whatever thread they are subscribed.

    A thread that is going to wait for the run on this loop's own thread says so first: then the run does not use the
    loop, or, if it does already, the thread must not wait.
    """

    __slots__ = ("_lock", "forgone", "loop", "used")

    def __init__(self, loop: AnyLoop) -> None:
        self.loop = loop
        self._lock = threading.Lock()
        self.used = False
        self.forgone = False

    def lease(self) -> AnyLoop | None:
        """Lease the loop, unless the caller is on its thread and waits there."""
        with self._lock:
            if self.forgone or self.loop.here:
                return None
            self.used = True
        return self.loop.again()

    def forgo(self) -> bool:
        """Leave the loop to its thread, which is going to wait; tell whether that can be, since nothing runs there."""
        with self._lock:
            if not self.used:
                self.forgone = True
            return self.forgone


HOME: ContextVar[HomeLoop | None] = ContextVar("penstock_home", default=None)
"""The home of the run that is carried out here."""

__all__ = ["HOME", "HomeLoop"]
