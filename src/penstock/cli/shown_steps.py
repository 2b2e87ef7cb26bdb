"""shown_steps: show which step of a long command is being done: a live line on a terminal, else lines."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

_TICK = 1.0
_CLEAR = "\r\x1b[K"


class ShownSteps:
    """The steps of a command, shown on stderr; on a terminal the seconds of the one at work are counted."""

    def __init__(self, command: str, out: TextIO | None = None) -> None:
        self._command = command
        self._out = out or sys.stderr
        self._live = self._out.isatty()
        self._began = self._since = time.monotonic()
        self._step = ""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._ticking: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._ticking = threading.Thread(target=self._tick, name="penstock-steps", daemon=True)
            self._ticking.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._over.set()
        if self._ticking is not None:
            self._ticking.join()
        with self._lock:
            self._end(well=kind is None)

    def begin(self, step: str) -> None:
        """Say that a step begins, and that the one before has ended."""
        with self._lock:
            self._end(well=True)
            self._step, self._since = step, time.monotonic()
            self._print(f"{self._command}: {step} ..." if self._live else f"{self._command}: {step}")

    def _end(self, *, well: bool) -> None:
        if self._step and self._live:
            mark = "" if well else ", broken off"
            print(f"{_CLEAR}{self._command}: {self._step}, {self._seconds()} s{mark}", file=self._out, flush=True)
        self._step = ""

    def _tick(self) -> None:
        while not self._over.wait(_TICK):
            with self._lock:
                if self._step:
                    self._print(f"{_CLEAR}{self._command}: {self._step} ... {self._seconds()} s")

    def _print(self, text: str) -> None:
        print(text, end="" if self._live else "\n", file=self._out, flush=True)

    def _seconds(self) -> int:
        return round(time.monotonic() - self._since)

    @property
    def seconds(self) -> int:
        """Return how long all steps have taken."""
        return round(time.monotonic() - self._began)


__all__ = ["ShownSteps"]
