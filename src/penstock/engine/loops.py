"""loops: which asyncio event loop a run uses, and one of our own where none is running.

asyncio is imported on first use only, so that a program without it does not pay for it. The loop of our own lives on
one daemon thread, shared by all runs that need it, and ends when the last of them has ended.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from penstock.engine.flat import aside

if TYPE_CHECKING:
    import asyncio


class _Mode(threading.local):
    def __init__(self) -> None:
        self.blocking = 0
        self.own: _OwnLoop | None = None
        """The loop of our own that this thread runs."""


_mode = _Mode()


class blocking:  # noqa: N801  reads as a word: `with blocking():`
    """Mark that this thread is going to wait for a result, so that nothing is put on a loop or a queue of its own."""

    __slots__ = ("_aside",)

    def __enter__(self) -> None:
        self._aside = aside()
        self._aside.__enter__()
        _mode.blocking += 1
        if _mode.own is not None:
            _set_apart(_mode.own)

    def __exit__(self, *exc: object) -> None:
        _mode.blocking -= 1
        self._aside.__exit__(*exc)


_spawned: ContextVar[set[Any] | None] = ContextVar("penstock_spawned", default=None)


@contextmanager
def spawning(tasks: set[Any]) -> Iterator[None]:
    """Note in `tasks` what runs started here spawn on the running loop, so that somebody can wait for their end."""
    token = _spawned.set(tasks)
    try:
        yield
    finally:
        _spawned.reset(token)


class Loop:
    """Be a lease on an event loop: call things on it, start tasks, give it back."""

    __slots__ = ("_own", "_tasks", "_thread", "loop", "released")

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: int, own: _OwnLoop | None) -> None:
        self.loop = loop
        self._thread = thread
        self._own = own
        self._tasks = None if own is not None else _spawned.get()
        self.released = False

    @property
    def here(self) -> bool:
        """Tell whether the caller is on the loop's thread."""
        return threading.get_ident() == self._thread

    def call(self, fn: Callable[[], object]) -> None:
        """Call `fn` on the loop, after what is on its way there already."""
        try:
            if self.here:
                self.loop.call_soon(fn)
            else:
                self.loop.call_soon_threadsafe(fn)
        except RuntimeError:
            # The loop was closed under the run: its owner has ended everything on it, so there is nobody to tell.
            if not self.loop.is_closed():
                raise

    def spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        """Start a task; only on the loop's thread."""
        task = self.loop.create_task(coroutine)
        if self._tasks is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return task

    def release(self) -> None:
        """Give the lease back, once."""
        if self._own is not None:
            self._own.release(self)


class _OwnLoop:
    """Run an event loop on a thread while anybody holds a lease."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def lease(self) -> Loop:
        import asyncio  # noqa: PLC0415  only programs that use it pay for it

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._leases = 0
                self._thread = threading.Thread(
                    target=_run_loop, args=(self, self._loop), name="penstock-loop", daemon=True
                )
                self._thread.start()
            self._leases += 1
            assert self._thread is not None and self._thread.ident is not None
            return Loop(self._loop, self._thread.ident, self)

    def release(self, lease: Loop) -> None:
        loop = lease.loop
        with self._lock:
            if lease.released or loop is not self._loop:
                return  # it was given back, or the loop ended before
            lease.released = True
            self._leases -= 1
            if self._leases:
                return
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)

    def lost(self, loop: asyncio.AbstractEventLoop) -> None:
        """Forget a loop that has ended, whoever ended it."""
        with self._lock:
            if loop is self._loop:
                self._loop = self._thread = None


def _run_loop(own: _OwnLoop, loop: asyncio.AbstractEventLoop) -> None:
    import asyncio  # noqa: PLC0415

    _mode.own = own
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        own.lost(loop)  # a SystemExit in a task ends it too
        _wind_up(loop)


def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio  # noqa: PLC0415

    try:
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        if pending:
            loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


_shared = _OwnLoop()
_sharing = threading.Lock()


def _set_apart(own: _OwnLoop) -> None:
    """Share another loop from now on: the thread of this one is going to wait, perhaps for what would run on it."""
    global _shared  # noqa: PLW0603
    with _sharing:
        if _shared is own:
            _shared = _OwnLoop()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop running in this thread, unless the thread is about to block."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or _mode.blocking:
        return None
    return asyncio._get_running_loop()  # type: ignore[no-any-return]


def lease_loop() -> Loop:
    """Lease the loop running here, or the one of our own."""
    running = running_loop()
    if running is None:
        return _shared.lease()
    if _mode.own is not None:
        return _mode.own.lease()  # counted, so that the loop outlives whoever started it
    return Loop(running, threading.get_ident(), None)
