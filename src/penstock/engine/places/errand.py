"""errand: a task on its way to a place that may end before it comes to it.

An event loop that is closed, and an executor that gives up, drop the tasks that they have not called, and say nothing.
A run that waits for such a task would wait for ever. So the task reports its own loss: its last reference went before
it was called. It does so on another thread, since the garbage collector may drop it anywhere, where locks are held.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from penstock.engine.places.threads import started
from penstock.engine.words.dropped import attempt
from penstock.errors import CutOffError

if TYPE_CHECKING:
    import asyncio

Call = Callable[[], object]

_RAISED = "what was told of a lost task raised"
_A_YEAR = 365 * 24 * 60 * 60.0  # seconds


class Errand:
    """A task to be called once; `lost` is called instead, once, where the place lets go of it."""

    __slots__ = ("__weakref__", "_lost", "_task")

    def __init__(self, task: Call, lost: Call) -> None:
        self._task = task
        self._lost: Call | None = lost

    def __call__(self) -> None:
        self.forget()
        self._task()

    def forget(self) -> None:
        """Say nothing any more."""
        self._lost = None

    def __del__(self) -> None:
        if self._lost is not None and not sys.is_finalizing():
            told = partial(attempt, _RAISED, self._lost)
            try:  # `started` waits for a lock of `threading`'s, so it is called on a thread without such a lock
                _thread.start_new_thread(started, (told, "penstock-lost-task"))
            except RuntimeError:  # "can't start new thread", and this one is still there
                told()


def send(submit: Callable[[Callable[[], None]], object], task: Call, lost: Call) -> None:
    """Submit a task as an errand; where `submit` raises, that is all that is said."""
    errand = Errand(task, lost)
    submitted = False
    try:
        submit(errand)
        submitted = True
    finally:
        if not submitted:
            errand.forget()


def put_to(loop: asyncio.AbstractEventLoop, task: Call, context: Context | None = None) -> None:
    """Have a loop of asyncio call a task, from another thread; raise if the loop is closed."""
    handle = loop.call_soon_threadsafe(task, context=context)
    if loop.is_closed():  # perhaps behind asyncio's own look: then it would hold the task for ever and not call it
        handle.cancel()


def watched(loop: asyncio.AbstractEventLoop, lost: Call) -> Call:
    """Call `lost` if a loop is closed and its tasks are left as they are; return what calls that off, on its thread."""
    errand = Errand(bool, lost)
    timer = loop.call_later(_A_YEAR, errand)  # a loop that is closed lets go of its timers
    return partial(_call_off, ref(errand), ref(timer))  # and it alone holds them


def _call_off(errand: ref[Errand], timer: ref[asyncio.TimerHandle]) -> None:
    held, waits = errand(), timer()
    if held is not None and waits is not None:
        held.forget()
        waits.cancel()


def place_ended() -> CutOffError:
    """Return what to tell those who wait for a task that was let go of."""
    return CutOffError("the event loop or executor that a stream runs on let go of a task and ended before the stream")


__all__ = ["Errand", "place_ended", "put_to", "send", "watched"]
