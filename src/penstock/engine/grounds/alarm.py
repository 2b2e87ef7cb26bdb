"""alarm: one timer of a run, set again and called off from any thread; a clock that raises fails the run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, nan
from threading import Lock
from typing import Any

from penstock.engine.grounds.cold_paths import interrupts_told
from penstock.engine.places.clocks import Cancel, Clock
from penstock.engine.words.dropped import attempt


class Alarm:
    """A timer that calls `ring` with what it was set for, at the time set last; once closed, never again.

    A time later than the one the clock was asked for is only noted: when the clock calls, it is asked for the rest. So
    a deadline that every element moves costs no timer. What the clock raises goes to `fail`, and closes the alarm.
    """

    __slots__ = ("_asked", "_call_later", "_cancel", "_due", "_fail", "_lock", "_now", "_number", "_ring", "_what")

    def __init__(self, clock: Clock, ring: Callable[[Any], object], fail: Callable[[Exception], object]) -> None:
        self._now, self._call_later = clock.now, clock.call_later
        self._ring: Callable[[Any], object] | None = ring
        self._fail: Callable[[Exception], object] | None = fail
        self._lock = Lock()
        self._due: float | None = None
        self._what: Any = None
        self._asked = inf
        """The time that the clock was asked for."""
        self._number = 0
        self._cancel: Cancel | None = None

    def now(self) -> float:
        """Return the clock's time; if it raises, fail and return nan, which is neither earlier nor later."""
        try:
            return self._now()
        except Exception as error:  # noqa: BLE001  a clock of the user's
            self._failed(error)
            return nan

    def set(self, seconds: float, what: object = None) -> None:
        """Ring after `seconds`, for `what`, and not at the time set before."""
        try:
            due = self._now() + seconds
        except Exception as error:  # noqa: BLE001  a clock of the user's
            self._failed(error)
            return
        with self._lock:
            moved = self._asked <= due  # most elements only move the time, so this path calls nothing more
            if moved:
                self._due, self._what = due, what
        if not moved:
            self._move(due, what, seconds)

    def at(self, due: float) -> None:
        """Ring when the time is `due`, for that time, and not at the time set before."""
        self._move(due, due)

    def call_off(self) -> None:
        """Do not ring, unless it is set again."""
        with self._lock:
            self._due = self._what = None

    def close(self) -> None:
        """Do not ring any more, and forget whom to call (rule 3.13)."""
        with self._lock:
            self._ring = self._fail = self._due = self._what = None
            before = self._free()
        _call_off(before)

    def _free(self) -> Cancel | None:
        """Forget the timer that was set, and return what calls it off. To be called under the lock."""
        before, self._cancel = self._cancel, None
        self._asked = inf
        self._number += 1
        return before

    def _move(self, due: float, what: object, seconds: float | None = None) -> None:
        with self._lock:
            if self._ring is None:
                return
            self._due, self._what = due, what
            if self._asked <= due:
                return
            before = self._free()
            self._asked, number = due, self._number
        _call_off(before)
        try:
            left = due - self._now() if seconds is None else seconds
            cancel = self._call_later(max(left, 0.0), partial(self._called, number))
        except Exception as error:  # noqa: BLE001  a clock of the user's
            self._failed(error)
            return
        with self._lock:
            stays = number == self._number
            if stays:
                self._cancel = cancel
        if not stays:  # called, set again or closed meanwhile, by another thread
            _call_off(cancel)

    def _called(self, number: int) -> None:
        with self._lock:
            if number != self._number:
                return
            due, what, asked = self._due, self._what, self._asked
            self._free()
        if due is None:
            return
        now = self.now()  # also where nothing is left: a clock that has ended calls, and raises here
        left = due - now if due > asked else 0.0
        with self._lock:
            ring = self._ring
            if ring is None or self._due is None or self._asked < inf:
                return  # meanwhile, by another thread
            if left <= 0:
                self._due = self._what = None
        if left > 0:
            self._move(due, what, left)
            return
        with interrupts_told(self._failed):
            ring(what)

    def _failed(self, error: Exception) -> None:
        with self._lock:
            fail = self._fail
        self.close()
        if fail is not None:
            fail(error)


def _call_off(cancel: Cancel | None) -> None:
    if cancel is not None:
        attempt("a clock raised when a task was called off", cancel)
