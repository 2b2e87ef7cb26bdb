"""threads: start one, and do work there that goes on when the thread ends."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial

Work = Callable[[], None]

AT_ONCE = not getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether threads run at the same time: on a free-threaded build, unless its GIL is on."""


def started(work: Work, name: str) -> threading.Thread:
    """Run work on a thread that the program does not wait for."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def work_off(step: Callable[[], bool], start: Callable[[Work], object]) -> None:
    """Take one step after the other until one says that it was the last."""
    ended = False
    try:
        while step():
            pass
        ended = True
    finally:
        if not ended:  # a task raised SystemExit or its like, which ends this thread and no other task
            rest = partial(work_off, step, start)
            try:
                start(rest)
            except Exception:  # noqa: BLE001  "can't start new thread", and this one is still there
                rest()
