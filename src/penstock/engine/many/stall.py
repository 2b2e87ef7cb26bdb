"""stall: the wait of a run that is stuck for a subscriber that may be on its way.

If all elements that a run has room for wait in branches without a subscriber while another branch is hungry, nothing
can move any more: no subscriber takes them, and there is no room for others. A subscriber may be on its way from
another thread or task, so the run waits for `patience` seconds, and then fails with the cure in the message.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.many.branch import Branch
from penstock.engine.places.clocks import Clock
from penstock.errors import OverflowedError


class Stall:
    """The watch over a run that may be stuck; it `gives_up` when nothing has moved for `patience` seconds.

    `stuck_by` returns a branch that waits for a subscriber, or None if something can move; under the run's lock.
    """

    __slots__ = ("_alarm", "_gives_up", "_lock", "_patience", "_stuck_by", "_watched", "since")

    def __init__(
        self,
        lock: Lock,
        clock: Clock,
        patience: float,
        stuck_by: Callable[[], Branch | None],
        gives_up: Callable[[Branch], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._lock = lock
        self._patience = patience
        self._stuck_by = stuck_by
        self._gives_up = gives_up
        self.since: float | None = None
        """When the wait began; the run sets it to None, under the lock, when something can move."""
        self._watched = False
        self._alarm = Alarm(clock, self._look, fail)

    def begin(self) -> None:
        """Begin to wait, unless that has begun."""
        now = self._alarm.now()
        with self._lock:
            if self.since is None:
                self.since = now
            watched, self._watched = self._watched, True
        if not watched:
            self._alarm.set(self._patience)

    def _look(self, _: object) -> None:
        """Give up if nothing has moved all the time."""
        now = self._alarm.now()
        with self._lock:
            since = self.since
            orphan = None if since is None else self._stuck_by()
            self._watched = orphan is not None
        if since is None or orphan is None:
            return
        left = since + self._patience - now
        if left > 0:
            self._alarm.set(left)
        else:
            self._gives_up(orphan)

    def close(self) -> None:
        """Wait no longer."""
        self._alarm.close()


def stalled(operator: str, size: int, name: str) -> OverflowedError:
    """Return the error that says what is wrong and how to cure it."""
    return OverflowedError(
        f"{operator}: {size} elements wait in streams without a subscriber, {name} among them, and others wait for "
        f"elements; subscribe to each as it comes: flat_map(fn, concurrency=n) with n >= the number open at a time, or "
        f"say {operator}(..., size=n) with n > {size}"
    )
