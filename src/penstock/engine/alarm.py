"""alarm: one timer of a run, set again and called off from any thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from penstock.engine.clocks import Cancel, Clock


class Alarm:
    """Call `ring` when the time set last has come; once closed, never again."""

    __slots__ = ("_cancel", "_clock", "_closed", "_lock", "_number", "_ring")

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring: Callable[[], None] | None = ring
        self._lock = Lock()
        self._number = 0
        self._closed = False
        self._cancel: Cancel | None = None

    def set(self, seconds: float) -> None:
        """Ring after `seconds` and not at the time set before."""
        with self._lock:
            if self._closed:
                return
            before, self._cancel = self._cancel, None
            self._number += 1
            number = self._number
        if before is not None:
            before()
        cancel = self._clock.call_later(max(seconds, 0.0), lambda: self._due(number))
        with self._lock:
            stays = number == self._number and not self._closed
            if stays:
                self._cancel = cancel
        if not stays:  # set again or closed meanwhile, by another thread
            cancel()

    def call_off(self) -> None:
        """Do not ring, unless it is set again."""
        with self._lock:
            before, self._cancel = self._cancel, None
            self._number += 1
        if before is not None:
            before()

    def close(self) -> None:
        """Do not ring any more, and forget whom to call (rule 3.13)."""
        with self._lock:
            self._closed = True
        self.call_off()
        self._ring = None

    def _due(self, number: int) -> None:
        with self._lock:
            ring = self._ring if number == self._number and not self._closed else None
            if ring is not None:
                self._cancel = None
        if ring is not None:
            ring()
