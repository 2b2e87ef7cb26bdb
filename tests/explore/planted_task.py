"""planted_task: a small subscription that a task on an event loop serves, and copies of it with one fault each.

It is written as the engine's is, and has points as the engine has; `SoundTask` must show nothing.
"""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import Any


class SoundTask:
    """Be a subscription to an asynchronous iterable, on the loop where it is subscribed."""

    def __init__(self, source: Any, downstream: Any) -> None:
        self.source = source
        self.downstream = downstream
        self.lock = Lock()
        self.demand = 0
        self.over = False
        self.refused = False
        self.loop = asyncio.get_running_loop()
        self.task: Any = None
        self.waiting: Any = None
        downstream.on_subscribe(self)

    def request(self, n: int, /) -> None:
        if n < 1:
            self.refused = self.refused or not self.over
            self.cancel()
            return
        with self.lock:
            self.demand += n
        self.call(self.advance)

    def cancel(self) -> None:
        self.over = True
        self.call(self.interrupt)

    def call(self, fn: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(fn)
        except RuntimeError:
            return  # it is closed

    def advance(self) -> None:
        if self.task is None:
            self.task = self.loop.create_task(self.work())
            self.task.add_done_callback(self.left)
        elif self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)

    def interrupt(self) -> None:
        if self.task is None or self.waiting is not None:
            self.advance()
        else:
            self.task.cancel()

    async def take(self) -> bool:
        """Wait for demand; tell whether there is any."""
        while not self.over:
            with self.lock:
                if self.demand:
                    self.demand -= 1
                    return True
            self.waiting = self.loop.create_future()
            await self.waiting
            self.waiting = None
        return False

    async def work(self) -> None:
        iterator: Any = None
        error: Exception | None = None
        try:
            while await self.take():
                iterator = iterator or aiter(self.source)
                self.downstream.on_next(await anext(iterator))
        except StopAsyncIteration:
            pass
        except Exception as failure:
            error = failure
        finally:
            if iterator is not None:
                await iterator.aclose()
        self.end(error)

    def left(self, task: Any) -> None:
        """End behind a task that was cancelled."""
        if task.cancelled():
            self.end(RuntimeError("the task was cancelled"))

    def end(self, error: Exception | None) -> None:
        over, self.over = self.over, True
        if self.refused:
            self.downstream.on_error(ValueError("rule 3.9"))
        elif not over and error is not None:
            self.downstream.on_error(error)
        elif not over:
            self.downstream.on_complete()


class FromElsewhere(SoundTask):
    """Cancel the task on the thread of who cancels, which wakes no loop."""

    def cancel(self) -> None:
        self.over = True
        if self.task is not None:
            self.task.cancel()


class ForgottenDemand(SoundTask):
    """Look whether the task waits on the thread of who asks."""

    def request(self, n: int, /) -> None:
        if n < 1:
            super().request(n)
            return
        with self.lock:
            self.demand += n
        if self.task is None or self.waiting is not None:
            self.call(self.advance)


class TwoTasks(SoundTask):
    """Start the task where it is asked for, on whatever thread."""

    def request(self, n: int, /) -> None:
        if n < 1 or self.task is not None:
            super().request(n)
            return
        with self.lock:
            self.demand += n
        task = self.work()
        self.task = True
        self.call(lambda: setattr(self, "task", self.loop.create_task(task)))


class EndedUntold(SoundTask):
    """Keep to itself that the loop has cancelled the task."""

    def end(self, error: Exception | None) -> None:
        if not isinstance(error, RuntimeError):
            super().end(error)


PLANTED_TASKS = (FromElsewhere, ForgottenDemand, TwoTasks, EndedUntold)
