"""queued: look at what is in a queue that other threads change meanwhile, or take it.

A deque raises RuntimeError when it is changed while something goes through it. With the GIL a single call such as
`list(queue)` is never interrupted; on a free-threaded build it is.
"""

from __future__ import annotations

from collections import deque
from typing import TypeVar

T = TypeVar("T")


def look(queue: deque[T]) -> list[T]:
    """Return what is in a queue, as it was at one moment."""
    while True:
        try:
            return list(queue)
        except RuntimeError:  # another thread has changed it: look again
            pass


def take_all(queue: deque[T]) -> list[T]:
    """Take everything out of a queue, so that what another thread adds meanwhile is taken as well or stays."""
    taken: list[T] = []
    try:
        while True:
            taken.append(queue.popleft())
    except IndexError:
        return taken
