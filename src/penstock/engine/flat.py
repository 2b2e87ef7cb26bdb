"""flat: keep the call stack flat where a call would nest inside another of its kind.

Subscribing, cancelling and inline work may run through a thousand joints. Each kind has a queue per thread: a call made
inside another of its kind waits there until that one has returned. A thread that is about to wait for a result puts its
queues aside, since what it waits for must not wait for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Call = Callable[[], object]

HIGHEST = 24
"""How many joints may pass a signal on in one call before a boundary cuts them."""


class _Here(threading.local):
    """Hold what this thread is in the middle of."""

    def __init__(self) -> None:
        self.opening: deque[Call] | None = None
        self.cancelling: deque[Call] | None = None
        self.working: deque[Call] | None = None
        self.connects = 0
        self.deferred: deque[Call] = deque()


here = _Here()


def opening(call: Call) -> None:
    """Let a subscription take its way downstream."""
    if here.opening is not None:
        here.opening.append(call)
        return
    here.opening = deque((call,))
    try:
        run_all(here.opening)
    finally:
        here.opening = None


def cancelling(call: Call) -> None:
    """Let a cancel take its way upstream."""
    if here.cancelling is not None:
        here.cancelling.append(call)
        return
    here.cancelling = deque((call,))
    try:
        run_all(here.cancelling)
    finally:
        here.cancelling = None


def working(call: Call) -> None:
    """Run inline work."""
    if here.working is not None:
        here.working.append(call)
        return
    here.working = deque((call,))
    try:
        run_all(here.working)
    finally:
        here.working = None


def run_all(calls: deque[Call]) -> None:
    """Run calls until none is left; when one is interrupted the others still run, then the interruption passes."""
    try:
        while calls:
            calls.popleft()()
    finally:
        if calls:
            run_all(calls)


def busy() -> bool:
    """Tell whether this thread is in the middle of something that would have to be put aside."""
    return bool(here.connects or here.working is not None or here.opening is not None or here.cancelling is not None)


class aside:  # noqa: N801  reads as a word: `with aside():`
    """Begin with empty queues, and take up the old ones afterwards."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = dict(vars(here))
        here.__init__()  # type: ignore[misc]

    def __exit__(self, *exc: object) -> None:
        vars(here).update(self._before)
