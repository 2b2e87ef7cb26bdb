"""at_work: what works for a run in Spark or on a thread here, so that the end of all of it can be waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError


class StoppedElsewhereError(PenstockError):
    """The error that a query has ended before its streams, and not because its run has stopped it."""

    def __init__(self) -> None:
        super().__init__(
            "run: the query was stopped before its streams had ended, and not by this run; Spark does that when another"
            " run is started from the same checkpoint"
        )


class AtWork:
    """A count of what works for a run."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self.stopping = False
        """Whether the run was told to stop, so that what is interrupted by it has not failed."""
        self.whole: Callable[[], bool] = lambda: True
        """Tell whether a query that has ended well was to end."""

    def begin(self) -> None:
        """Count one more."""
        with self._changed:
            self._count += 1

    def end(self) -> None:
        """Count one less."""
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def start(self, name: str, call: Callable[..., object], *given: Any) -> threading.Thread:
        """Call something on a thread, which counts until it returns."""

        def work() -> None:
            try:
                call(*given)
            finally:
                self.end()

        thread = threading.Thread(target=work, name=name, daemon=True)
        self.begin()
        try:
            thread.start()
        except Exception:
            self.end()
            raise
        return thread

    def wait(self, seconds: float) -> bool:
        """Wait until nothing works any more, for so long at most; tell whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, max(0.0, seconds))


__all__ = ["AtWork", "StoppedElsewhereError"]
