"""io_thread: the thread that all connections live on, which runs nothing of the user's.

A slow function of a user must not keep a keep-alive from being answered, so elements are made and taken elsewhere. The
thread starts with the first that needs it and ends with the last.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

_lock = threading.Lock()
_shared: IoThread | None = None


class IoThread:
    """A thread with an event loop, which runs while there is a lease."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.leases = 0
        self._tasks: set[asyncio.Task[None]] = set()  # a loop by itself does not keep its tasks alive
        self._thread = threading.Thread(target=self._run, name="penstock-rsocket", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Tell whether the thread runs; after a fork it does not."""
        return self._thread.is_alive()

    @property
    def here(self) -> bool:
        """Tell whether the caller is on this thread."""
        return threading.current_thread() is self._thread

    def call(self, fn: Callable[..., object], *arguments: Any) -> None:
        """Call something on the loop, in the order of the calls."""
        try:
            # An empty context: the loop must not keep alive what a caller's context holds.
            self.loop.call_soon_threadsafe(fn, *arguments, context=Context())
        except RuntimeError:
            if not self.loop.is_closed():
                raise

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start a task that holds this lease and gives it back at its end."""
        self.call(self._start, coroutine, self.release)

    def _start(self, coroutine: Coroutine[Any, Any, None], after: Callable[[], None] | None = None) -> None:
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if after is not None:
            task.add_done_callback(lambda _: after())

    def wait_for(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on the loop and wait for its end; on the thread itself, only start it."""
        if self.here:
            self._start(coroutine)
        else:
            asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def release(self) -> None:
        """Give a lease back; the last one ends the thread."""
        global _shared  # noqa: PLW0603
        with _lock:
            self.leases -= 1
            if self.leases:
                return
            if _shared is self:
                _shared = None
        self.call(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()


def lease() -> IoThread:
    """Lease the thread, starting it if need be."""
    global _shared  # noqa: PLW0603
    with _lock:
        if _shared is None or not _shared.alive:
            _shared = IoThread()
        _shared.leases += 1
        return _shared
