"""threads: start one, and go on where none can be started."""

from __future__ import annotations

import threading
from collections.abc import Callable

Work = Callable[[], None]


def started(work: Work, name: str) -> threading.Thread:
    """Run work on a thread that the program does not wait for."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def hand_over(work: Work, start: Callable[[Work], object]) -> None:
    """Let work go on elsewhere, or here where nothing can be started: it must not be left."""
    try:
        start(work)
    except Exception:  # noqa: BLE001  "can't start new thread", and this one is still there
        work()
