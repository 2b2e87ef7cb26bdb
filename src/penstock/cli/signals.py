"""signals: SIGINT and SIGTERM stop a run, a second one of either cancels it.

To cancel is to ask: a function of the pipeline that does not return holds the run up. So some seconds later, or with a
third signal, the command ends all the same. Spark's processes end with it.

Python calls a handler in the middle of whatever the main thread does, which may hold a lock that `stop` and `cancel`
take as well; and it calls none while the main thread waits without a limit, if the signal came just before it began to
wait. So signals are heard by another thread, by way of the file descriptor that Python's C code writes each of them to,
and that thread acts. Where the command itself is to end, it sends the main thread a signal until the handler has run.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from penstock.run import Run

_WATCHED = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 10.0  # seconds for a run that was cancelled
_AGAIN = 0.2  # seconds until the main thread is sent another signal
_NEWS = b"\0"  # no signal has this number
_END = b"\xff"


class Signals:
    """The handler of SIGINT and SIGTERM while a command runs: the first stops, the second cancels.

    A third ends the command, and so does a run that takes too long to be cancelled. One that comes before there is a
    run counts once the run has begun; two of them end the command, and so does one that comes after the run.
    """

    def __init__(self) -> None:
        self._run: Run[Any] | None = None
        self._before: dict[signal.Signals, Any] = {}
        self._fd_before = -1
        self._first: int | None = None
        self._leaving = False
        """Whether the main thread is to be interrupted."""
        self._sent = 0
        """How many signals the main thread was sent from here, and were not heard yet."""
        self._told = False
        self._acted = 0
        self.count = 0

    def __enter__(self) -> Self:
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)
        self._main = threading.get_ident()
        self._before = {each: signal.getsignal(each) for each in _WATCHED}
        self._fd_before = signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        self.watch()
        self._thread = threading.Thread(target=self._serve, name="penstock-signals", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._leaving = False
        signal.set_wakeup_fd(self._fd_before)
        for each, handler in self._before.items():
            signal.signal(each, handler)
        self._mouth.send(_END)
        self._thread.join()
        self._ear.close()
        self._mouth.close()

    def watch(self) -> None:
        """Take the signals, again if another library has taken them since."""
        signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        for each in _WATCHED:
            signal.signal(each, self._signalled)

    @property
    def status(self) -> int:
        """Return the exit status of a program that the first signal has ended: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + (signal.SIGINT if self._first is None else self._first)

    def control(self, run: Run[Any]) -> None:
        """Let signals act on a run, those that have come already included."""
        self._run = run
        self._mouth.send(_NEWS)

    def _signalled(self, *_: object) -> None:
        """Interrupt the main thread, if that was decided; the other thread has heard of the signal by itself."""
        if self._leaving:
            self._leaving = False
            raise KeyboardInterrupt

    def _serve(self) -> None:
        """Do what signals ask for, until the command has ended."""
        while True:
            leaving = self._leaving  # which the main thread takes back when it hears of it
            self._ear.settimeout(_AGAIN if leaving else _PATIENCE if self._acted == 2 else None)
            try:
                heard = self._ear.recv(1)
            except TimeoutError:
                if not leaving:
                    self._leave()
                self._interrupt()
                continue
            if heard == _END:
                return
            if heard != _NEWS:
                self._hear(heard[0])
            self._act()

    def _hear(self, number: int) -> None:
        """Count a signal, unless it was sent from here."""
        if number not in _WATCHED:
            return
        if self._sent:
            self._sent -= 1
            return
        run = self._run
        self.count += 1
        if self.count == 1:
            self._first = number
        if (run is None and self.count > 1) or (run is not None and run.done):
            self._leaving = True  # nothing is left to stop: the command waits for the user, who looks at a page
            self._interrupt()
        elif not self._told:
            self._told = True
            print("penstock run: stopping; once more to cancel", file=sys.stderr, flush=True)

    def _interrupt(self) -> None:
        """Have the handler called, on the main thread."""
        if self._leaving:
            self._sent += 1
            signal.pthread_kill(self._main, self._first or signal.SIGINT)

    def _act(self) -> None:
        """Ask the run for what so many signals mean."""
        while (run := self._run) is not None and self._acted < self.count and not run.done:
            self._acted += 1
            if self._acted > 2:
                self._leave()
            # A source that does not let itself be closed must not hold up what comes next.
            threading.Thread(
                target=run.stop if self._acted == 1 else run.cancel, name="penstock-signal", daemon=True
            ).start()

    def _leave(self) -> None:
        """End the process though the run goes on."""
        print(
            "penstock run: cancelled, before a function of the pipeline, or Spark, had returned",
            file=sys.stderr,
            flush=True,
        )
        os._exit(self.status)


__all__ = ["Signals"]
