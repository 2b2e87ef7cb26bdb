"""serial: do one thing at a time, whichever thread it comes from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any


class Serial:
    """A queue of functions that run one after the other; a caller does not wait while another function runs."""

    __slots__ = ("_busy", "_lock", "_queue")

    def __init__(self) -> None:
        self._lock = Lock()
        self._queue: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._busy = False

    def run(self, fn: Callable[..., object], *arguments: Any) -> None:
        """Run a function now, or after what runs now."""
        with self._lock:
            self._queue.append((fn, arguments))
            if self._busy:
                return
            self._busy = True
        raised: list[Exception] = []
        over = False
        try:
            while True:
                with self._lock:
                    over = not self._queue
                    if over:
                        self._busy = False
                        break
                    fn, arguments = self._queue.popleft()
                try:
                    fn(*arguments)
                except Exception as error:  # noqa: BLE001  the others are run all the same
                    raised.append(error)
        finally:
            if not over:
                self._busy = False  # an interrupt passes; what is left is for the next
        if raised:
            raise raised[0]
