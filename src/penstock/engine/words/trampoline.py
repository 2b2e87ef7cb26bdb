"""trampoline: keep the call stack flat where a call would nest inside another of its kind.

Subscribing, asking, cancelling and inline work may run through thousands of joints. Each kind has a queue per thread: a
call made inside another of its kind waits there until that one has returned. A thread that is about to wait for a
result puts its queues aside, since what it waits for must not wait for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Call = Callable[[], object]

HIGHEST = 24
"""How many joints may pass a signal on in one call before it takes a fresh stack."""


class _Here(threading.local):
    """The calls that this thread is in, of each kind, the subscriptions that wait for others, and what waits for those.

    A pull asks a source how to iterate over it.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.connects = 0
        self.pulls = 0
        self.deferred: deque[Call] = deque()
        self.afterwards: deque[Call] = deque()


here = _Here()


class Flat(threading.local):
    """A queue that runs calls of one kind on this thread, none of them inside another."""

    waiting: deque[Call] | None = None

    def __call__(self, call: Call) -> None:
        if self.waiting is not None:
            self.waiting.append(call)
            return
        self.waiting = deque((call,))
        here.calls += 1
        try:
            run_all(self.waiting)
        finally:
            here.calls -= 1
            self.waiting = None


opening = Flat()
"""Subscriptions on their way downstream."""
asking = Flat()
"""Requests on their way upstream."""
cancelling = Flat()
"""Cancels on their way upstream."""
working = Flat()
"""Inline work, and signals that take a fresh stack."""
_KINDS = (opening, asking, cancelling, working)


def run_all(calls: deque[Call]) -> None:
    """Run calls until none is left; when one is interrupted the others still run, then the interruption passes."""
    try:
        while calls:
            calls.popleft()()
    finally:
        if calls:
            run_all(calls)


def run_deferred() -> None:
    """Make the subscriptions of this thread that wait, and behind the last of them call what waits for them."""
    try:
        while here.deferred or here.afterwards:
            if not here.deferred:
                here.deferred.append(here.afterwards.popleft())
            run_all(here.deferred)
    finally:
        if here.deferred or here.afterwards:
            run_deferred()


def when_subscribed(call: Call) -> None:
    """Call a function when no subscription of this thread waits for others: now, or behind the last of them."""
    if here.deferred:
        here.afterwards.append(call)
    else:
        call()


def busy() -> bool:
    """Tell whether this thread is in the middle of something that would have to be put aside."""
    return here.calls > 0 or here.connects > 0


class aside:  # noqa: N801  reads as a word: `with aside():`
    """A context manager that begins with empty queues, and takes up the old ones afterwards."""

    __slots__ = ("_before", "_waiting")

    def __enter__(self) -> None:
        self._before = dict(vars(here))
        here.__init__()  # type: ignore[misc]
        self._waiting = [kind.waiting for kind in _KINDS]
        for kind in _KINDS:
            kind.waiting = None

    def __exit__(self, *exc: object) -> None:
        vars(here).update(self._before)
        for kind, waiting in zip(_KINDS, self._waiting, strict=True):
            kind.waiting = waiting
