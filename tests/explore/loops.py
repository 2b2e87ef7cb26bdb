"""loops: event loops that the scheduler knows: asyncio's own, with a wait of the scheduler's in place of a selector.

All of such a loop but its wait is asyncio's: its tasks, futures, timers and the end of its generators. Its time is that
of the run. A thread can be stopped before a call is put in, before the loop takes one out, where somebody asks whether
it is closed, and before it closes.
"""

from __future__ import annotations

import asyncio
import builtins
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import Any

from tests.explore import points, scheduler, threads

PUT = points.add_place("explore.loops:Loop: a call is put in", 0, "", True)
TAKE = points.add_place("explore.loops:Loop: a call is taken out", 0, "", True)
LOOK = points.add_place("explore.loops:Loop: is it closed", 0, "", False)
CLOSE = points.add_place("explore.loops:Loop: it closes", 0, "", True)
A_MOMENT = 1e-6


def _point(thing: object, place: int) -> None:
    builtins.__point__(thing, place)  # type: ignore[attr-defined]


class _Ready(deque[Any]):
    """Be the calls of a loop that can be made."""

    def append(self, handle: Any) -> None:
        _point(self, PUT)  # after the look whether the loop is closed
        super().append(handle)

    def popleft(self) -> Any:
        _point(self, TAKE)
        return super().popleft()


class _Wait:
    """Be over when the loop is woken, or when the time has come."""

    def __init__(self, loop: Loop, timeout: float | None) -> None:
        self._loop = loop
        self._deadline = None if timeout is None else threads.now + timeout - A_MOMENT

    def ready(self) -> bool:
        return self._loop.woken or (self._deadline is not None and threads.now >= self._deadline)


class _Selector:
    """Be where a loop waits."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> tuple[()]:
        if scheduler.aborting is not None:  # a callback of asyncio's may have kept that to itself
            raise scheduler.Abandoned(scheduler.aborting)
        if timeout is None or timeout > 0:
            scheduler.block(_Wait(self._loop, timeout))
        self._loop.woken = False
        return ()


class NumberedTask(asyncio.Task[Any]):
    """Be a task whose place in a set is the same in every run."""

    def __new__(cls, *_: Any, loop: Loop, **__: Any) -> NumberedTask:
        task = super().__new__(cls)
        task.number = next(loop.numbers)
        return task

    number: int

    def __hash__(self) -> int:
        return self.number


def _task(loop: Any, coroutine: Coroutine[Any, Any, Any], **options: Any) -> Any:
    return NumberedTask(coroutine, loop=loop, **options)


class Loop(asyncio.BaseEventLoop):
    """Be a loop of asyncio whose thread the scheduler stops and lets go on."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = False
        self.numbers = count(1)
        self._ready = _Ready()
        self._selector = _Selector(self)
        self.broken = False
        """Whether it was closed with tasks under way, of which asyncio complains."""
        self.faults: list[str] = []
        """What its tasks and calls have raised, and what became of it."""
        self.set_task_factory(_task)
        made.append(self)
        scheduler.things = None  # a loop is told when something is let go of

    def time(self) -> float:
        return threads.now

    def run_forever(self) -> None:
        scheduler.tasks[scheduler.current].keeps_thread = True
        super().run_forever()

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        _point(self._ready, LOOK)
        return super().call_soon_threadsafe(callback, *args, context=context)

    def is_closed(self) -> bool:
        _point(self._ready, LOOK)
        return super().is_closed()

    def close(self) -> None:
        _point(self._ready, CLOSE)
        super().close()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, scheduler.Abandoned):
            self.faults.append(f"{context['message']}: {error!r}")

    def _write_to_self(self) -> None:
        self.woken = True

    def _process_events(self, _: object) -> None:
        pass


made: list[Loop] = []
"""The loops of the run."""


def install() -> None:
    """Let every loop that is made from now on be one that the scheduler knows."""
    asyncio.new_event_loop = Loop  # type: ignore[assignment]


__all__ = ["Loop", "install", "made"]
