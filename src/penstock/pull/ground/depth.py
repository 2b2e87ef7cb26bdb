"""depth: keep the stack flat, however many modules stand in a row.

A module calls the one above it, and is called back: each takes some frames of Python's stack, which is short. So there
are landings, where a call is not made but left to the first call of this thread, which makes it before it returns.
Modules of this package that read each other know how many there are: every so many of them there is a landing. Where a
hand-written module stands between, calls are counted as they are made.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

FLIGHT = 8
"""How many modules of this package stand between two landings."""
MOST = 12
"""How many calls of modules that are not of this package may be under way, one in the other."""


class Stack:
    """The calls that are under way on one thread."""

    __slots__ = ("calls", "depth")

    def __init__(self) -> None:
        self.depth = 0
        """How many calls are under way, one in the other."""
        self.calls: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        """What is left for the first of them to call."""


class _Here(threading.local):
    def __init__(self) -> None:
        self.stack = Stack()


here = _Here()
"""Has the stack of this thread."""


def descend(fn: Callable[..., object], *arguments: Any) -> None:
    """Call a function, unless too many calls are under way: then the first of them makes this one before it returns."""
    stack = here.stack
    depth = stack.depth
    if depth >= MOST:
        stack.calls.append((fn, arguments))
        return
    stack.depth = depth + 1
    try:
        fn(*arguments)
        if not depth:
            make_calls()
    finally:
        stack.depth = depth


def land(fn: Callable[..., object], *arguments: Any) -> None:
    """Leave a call to the first call of this thread, or be that."""
    if here.stack.depth:
        here.stack.calls.append((fn, arguments))
    else:
        descend(fn, *arguments)


def make_calls() -> None:
    """Make the calls that were left, and those that they leave."""
    calls = here.stack.calls
    while calls:
        fn, arguments = calls.popleft()
        fn(*arguments)


def whole(fn: Callable[..., object], *arguments: Any) -> None:
    """Call a function and all that this leaves to be called, whatever is under way: a pipeline in a pipeline."""
    stack = here.stack
    if not stack.depth:
        fn(*arguments)
        return
    here.stack = Stack()
    try:
        fn(*arguments)
    finally:
        here.stack = stack


def level_above(read: Any) -> int:
    """Return how many modules of this package stand in a row above the reader of this one, since the last landing."""
    level = getattr(getattr(read, "__self__", None), "level", None)
    return level + 1 if isinstance(level, int) else 0
