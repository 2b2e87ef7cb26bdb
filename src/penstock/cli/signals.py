"""signals: SIGINT and SIGTERM stop a run, a second one of either cancels it.

To cancel is to ask: a function of the pipeline that does not return holds the run up. So some seconds later, or with a
third signal, the command ends all the same. Spark's processes end with it.

Python calls a handler in the middle of whatever the main thread does, which may hold a lock that `stop` and `cancel`
take as well. So the handler counts alone, and another thread acts.
"""

from __future__ import annotations

import os
import signal
import sys
from queue import Empty, SimpleQueue
from threading import Thread
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
        self._news: SimpleQueue[bool] = SimpleQueue()  # may be put to by a handler, also in the middle of a put
        """True for a signal or a run that has come, False at the end of the command."""
        self.count = 0

    def __enter__(self) -> Self:
        Thread(target=self._serve, name="penstock-signals", daemon=True).start()
        self._before = {each: signal.getsignal(each) for each in _WATCHED}
        self.watch()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
        self._news.put(False)

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
        self._news.put(True)

    def _signalled(self, number: int, _: object) -> None:
        run = self._run
        if run is not None and run.done:
            raise KeyboardInterrupt  # nothing is left to stop: the command waits for the user, who looks at a page
        self.count += 1
        if self.count == 1:
            self._first = number
        elif run is None:
            raise KeyboardInterrupt
        self._news.put(True)

    def _serve(self) -> None:
        """Do what signals ask for, until the command has ended."""
        told, acted = False, 0
        while True:
            try:
                if not self._news.get(timeout=_PATIENCE if acted == 2 else None):
                    return
            except Empty:
                self._leave()
            if self.count and not told:
                told = True
                print("penstock run: stopping; once more to cancel", file=sys.stderr, flush=True)
            while (run := self._run) is not None and acted < self.count:
                acted += 1
                if acted > 2:
                    self._leave()
                # A source that does not let itself be closed must not hold up what comes next.
                Thread(target=run.stop if acted == 1 else run.cancel, name="penstock-signal", daemon=True).start()

    def _leave(self) -> None:
        """End the process though the run goes on."""
        print("penstock run: cancelled, while a function of the pipeline had not returned", file=sys.stderr, flush=True)
        os._exit(self.status)


__all__ = ["Signals"]
