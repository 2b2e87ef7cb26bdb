"""home_loop: the event loop on which a run was begun, and whose thread must not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from penstock.engine.places.event_loops import AnyLoop
    from penstock.engine.places.noting import Tasks


class HomeLoop:
    """The loop on which a run was begun, for its asynchronous parts on whatever thread they are subscribed.

    A thread that is going to wait for the run on this loop's own thread says so first: then the run does not use the
    loop, or, if it does already, the thread must not wait.
    """

    __slots__ = ("_lock", "forgone", "loop", "tasks", "used")
    ours: ClassVar[bool] = False
    """Whether it is a loop of penstock, and not of the program."""

    def __init__(self, loop: AnyLoop, tasks: Tasks) -> None:
        self.loop = loop
        self.tasks = tasks
        """The tasks of the run on this loop."""
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


class OwnHome(HomeLoop):
    """A loop of penstock on which a run was begun; it is used once it has turned, so that its thread does not wait.

    The functions that are called there need not know of the loop. So the run does not wait for a turn in order to
    begin, only in order to use the loop.
    """

    __slots__ = ("_decided", "_leave", "_share")
    ours: ClassVar[bool] = True

    def __init__(self, loop: AnyLoop, share: Callable[[], AnyLoop], leave: Callable[[], None]) -> None:
        super().__init__(loop, {})  # a loop of ours comes to its end with its tasks, so none is noted
        self._share = share
        self._leave = leave
        self._decided = threading.Event()

    def lease(self) -> AnyLoop | None:
        """Lease the loop when it turns; not if its thread waits."""
        if self.loop.here:
            return None
        lease = self._share()  # counted, so that the loop does not end before it turns
        lease.call(self._decided.set)
        self._decided.wait()
        with self._lock:
            self.used = not self.forgone
        if self.used:
            return lease
        lease.release()
        return None

    def forgo(self) -> bool:
        """Leave the loop to its thread, which is going to wait, and let others share another one."""
        self._leave()
        try:
            return super().forgo()
        finally:
            self._decided.set()


HOME: ContextVar[HomeLoop | None] = ContextVar("penstock_home", default=None)
"""The home of the run that is carried out here."""

__all__ = ["HOME", "HomeLoop", "OwnHome"]
