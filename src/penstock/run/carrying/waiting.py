"""waiting: a warning where a source has waited for room for long, and nothing of it has been done meanwhile.

Where steps wait for nothing but elements of one source, it is known when no other can come, and the run is refused.
Where something else may let them go (another source, time, the end of a group), it is not: the run waits, and says so.
"""

from __future__ import annotations

import logging
from threading import Lock
from typing import Any, Protocol

from penstock.engine.places.clocks import SYSTEM_CLOCK, Cancel

LONG = 30.0
"""Seconds after which a source that waits, of which nothing is done, is worth a word."""

_log = logging.getLogger("penstock")


class Waits(Protocol):
    """What waits, and how far it is."""

    @property
    def waits(self) -> bool:
        """Tell whether it waits."""
        ...

    @property
    def window(self) -> int | None:
        """Return how many elements may not be done."""
        ...

    @property
    def keeper(self) -> str:
        """Return a step that keeps elements, if one does."""
        ...

    def standing(self) -> Any:
        """Return something that is another when anything has been done."""
        ...


class WaitingWatch:
    """What looks at a source that waits, every now and then until it is closed."""

    def __init__(self, name: str, marks: Waits) -> None:
        self._name = name
        self._marks = marks
        self._lock = Lock()
        self._call_off: Cancel | None = None
        self._closed = False
        self._before: Any = None
        self._begun = False

    def begin(self) -> None:
        """Look from now on; to begin again does nothing."""
        with self._lock:
            begun, self._begun = self._begun, True
        if not begun:
            self._before = self._marks.standing()
            self._again()

    def _again(self) -> None:
        with self._lock:
            if not self._closed:
                self._call_off = SYSTEM_CLOCK.call_later(LONG, self._look)

    def _look(self) -> None:
        marks = self._marks
        before, self._before = self._before, marks.standing() if marks.waits else None
        if before is not None and before == self._before:
            kept = f"{marks.keeper} keeps elements until others come" if marks.keeper else "a step or the sink is slow"
            _log.warning(
                "%s: the source waits, since %s elements are uncommitted and no more may be, and none of them has been "
                "done for %g seconds: %s; if it cannot go on, say window=n with a greater n where the source is made, "
                "or let the step give by time as well, as buffer_timeout does",
                self._name,
                marks.window,
                LONG,
                kept,
            )
            self._before = None  # once, and again when it has gone on
        self._again()

    def close(self) -> None:
        """Look no more."""
        with self._lock:
            self._closed = True
            call_off, self._call_off = self._call_off, None
        if call_off is not None:
            call_off()


__all__ = ["LONG", "WaitingWatch"]
