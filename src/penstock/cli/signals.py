"""signals: SIGINT and SIGTERM stop a run, a second one of either cancels it.

To cancel is to ask: a function of the pipeline that does not return holds the run up. So some seconds later, or with a
third signal, the command ends all the same. Spark's processes end with it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from penstock.run import Run

_WATCHED = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 10.0  # seconds for a run that was cancelled


class Signals:
    """The handler of SIGINT and SIGTERM while a command runs: the first stops, the second cancels.

    A third ends the command, and so does a run that takes too long to be cancelled. One that comes before there is a
    run counts once the run has begun; two of them end the command, and so does one that comes after the run.
    """

    def __init__(self) -> None:
        self._run: Run[Any] | None = None
        self._before: dict[signal.Signals, Any] = {}
        self._first: int | None = None
        self._late: threading.Timer | None = None
        self.count = 0

    def __enter__(self) -> Self:
        self._before = {each: signal.getsignal(each) for each in _WATCHED}
        self.watch()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._late is not None:
            self._late.cancel()
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def watch(self) -> None:
        """Take the signals, again if another library has taken them since."""
        for each in _WATCHED:
            signal.signal(each, self._signalled)

    @property
    def status(self) -> int:
        """Return the exit status of a program that the first signal has ended: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + (signal.SIGINT if self._first is None else self._first)

    def control(self, run: Run[Any]) -> None:
        """Let signals act on a run, those that have come already included."""
        self._run = run
        if self.count:
            self._act(run)

    def _signalled(self, number: int, _: object) -> None:
        if self._run is not None and self._run.done:
            raise KeyboardInterrupt  # nothing is left to stop: the command waits for the user, who looks at a page
        self.count += 1
        if self.count == 1:
            self._first = number
            print("penstock run: stopping; once more to cancel", file=sys.stderr, flush=True)
        if self._run is not None:
            self._act(self._run)
        elif self.count > 1:
            raise KeyboardInterrupt

    def _act(self, run: Run[Any]) -> None:
        if self.count == 1:
            run.stop()
        elif self.count == 2:
            self._late = threading.Timer(_PATIENCE, self._leave)
            self._late.daemon = True
            self._late.start()
            run.cancel()
        else:
            self._leave()

    def _leave(self) -> None:
        """End the process though the run goes on."""
        print("penstock run: cancelled, while a function of the pipeline had not returned", file=sys.stderr, flush=True)
        os._exit(self.status)


__all__ = ["Signals"]
