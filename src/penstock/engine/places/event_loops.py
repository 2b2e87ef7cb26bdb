"""event_loops: which event loop a run uses, asyncio's or trio's, and penstock's own where none is running.

`AnyLoop` says all that penstock asks of an event loop; `AsyncioLoop` is the one for asyncio, and `trio_loop.py` has the
one for trio. Neither library is imported before the program has done so, apart from asyncio for penstock's own loop.
That one lives on one daemon thread, shared by all runs that need it, and ends when the last of them has ended.

A lease keeps the context of the caller that took it: what is called on the loop runs in it, and a task in a copy of it.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from penstock.engine.places.errand import Errand, put_to, watched
from penstock.engine.places.home_loop import HOME, HomeLoop, OwnHome
from penstock.engine.places.loop_end import wind_up
from penstock.engine.places.noting import (
    Tasks,
    asyncio_loop,
    ending,
    note,
    noted_in,
    noted_on,
    on_its_own,
    spawning,
    surely,
    trio_runs,
)
from penstock.engine.places.threads import started
from penstock.engine.words.trampoline import aside
from penstock.errors import CutOffError

if TYPE_CHECKING:
    import asyncio


class _Mode(threading.local):
    def __init__(self) -> None:
        self.blocking = 0
        self.own: _OwnLoop | None = None
        """The loop of penstock that this thread runs."""


_mode = _Mode()


class blocking(aside):  # noqa: N801  reads as a word: `with blocking():`
    """A context manager: it marks that this thread waits for a result, so that nothing is queued on this thread."""

    __slots__ = ()

    def __enter__(self) -> None:
        super().__enter__()
        _mode.blocking += 1
        if _mode.own is not None:
            _set_apart(_mode.own)

    def __exit__(self, *exc: object) -> None:
        _mode.blocking -= 1
        super().__exit__(*exc)


def loop_ended() -> CutOffError:
    """Return what to tell those who wait for something on a loop that has ended."""
    return CutOffError("the event loop ended before the stream did")


class Future(Protocol):
    """The future that one task waits for."""

    def done(self) -> bool:
        """Tell whether it was set."""
        ...

    def set_result(self, result: None, /) -> None:
        """Let the task go on; once, and on the loop's thread."""
        ...

    def __await__(self) -> Generator[Any, None, None]: ...


class Task(Protocol):
    """A task on a loop; all of it on the loop's thread."""

    def cancel(self) -> object:
        """End it wherever it waits."""
        ...

    def cancelled(self) -> bool:
        """Tell whether it was ended by a cancel."""
        ...

    def cancelling(self) -> int:
        """Tell whether it was told to end; what else it is cancelled by comes from what it awaits."""
        ...

    def exception(self) -> BaseException | None:
        """Return what ended it, or None."""
        ...

    def add_done_callback(self, fn: Callable[[Any], object], /) -> object:
        """Call `fn` with the task when it has ended."""
        ...


class AnyLoop:
    """A lease on an event loop: call things on it, start tasks, wait, give it back.

    It keeps the context of the caller that took it, and where to note the tasks that it starts.
    """

    __slots__ = ("_context", "_tasks", "cancelled", "own")

    def __init__(self, tasks: Tasks | None, cancelled: type[BaseException], *, own: bool = False) -> None:
        self._context = copy_context()
        self._tasks = tasks
        self.cancelled = cancelled
        """What is raised in a task that is cancelled."""
        self.own = own
        """Whether it is penstock's own loop, on whose thread no program expects its functions to be called."""

    # What each kind of loop says.

    @property
    def here(self) -> bool:
        """Tell whether the caller is on the loop's thread, and inside the loop."""
        raise NotImplementedError

    @property
    def current(self) -> bool:
        """Tell whether it is this very loop that runs the caller, and not one before or after it on the same thread."""
        return self.here

    @property
    def closed(self) -> bool:
        """Tell whether the loop has ended, so that nothing can be called there any more."""
        raise NotImplementedError

    def call(self, fn: Callable[[], object], /) -> None:
        """Call `fn` on the loop, after what is on its way there already; from any thread."""
        raise NotImplementedError

    def started(self, coroutine: Coroutine[Any, Any, Any], /) -> Task:
        """Return a task that was started now, and is not noted."""
        raise NotImplementedError

    def watch(self, lost: Callable[[], object], /) -> Callable[[], object]:
        """Call `lost` if the loop is closed and its tasks are left as they are; return what calls that off.

        Only on the loop's thread; `lost` is called on another.
        """
        return bool

    def future(self) -> Future:
        """Return something to wait for; only on the loop's thread."""
        raise NotImplementedError

    def time(self) -> float:
        """Return the loop's time in seconds; from any thread."""
        raise NotImplementedError

    def sleep(self, seconds: float, /) -> Awaitable[object]:
        """Wait, or with 0 let other tasks run."""
        raise NotImplementedError

    def ended(self, tasks: Tasks, /) -> Awaitable[object]:
        """Wait until none of the tasks is left that are over, also if this is cancelled."""
        raise NotImplementedError

    def again(self) -> AnyLoop:
        """Return another lease on the same loop, in the context of the caller; from any thread."""
        raise NotImplementedError

    def release(self) -> None:
        """Give the lease back, once."""

    # What holds for all of them.

    def spawn(self, coroutine: Coroutine[Any, Any, Any], over: Callable[[], bool] = surely, /) -> Task:
        """Start a task; only on the loop's thread. `over` tells whether it has nothing left to do but to end."""
        task = self.started(coroutine)
        note(self._tasks, task, over)
        return task

    def send(self, fn: Callable[[], object], lost: Callable[[], object], /) -> None:
        """Call `fn` on the loop, or `lost` where it has ended or ends before; from any thread."""
        if self.closed:
            lost()
        else:
            self.call(Errand(fn, lost))


class AsyncioLoop(AnyLoop):
    """A lease on an asyncio event loop."""

    __slots__ = ("_own", "_thread", "loop", "released")

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: int, own: _OwnLoop | None) -> None:
        import asyncio  # noqa: PLC0415  only programs that use it pay for it

        tasks = None if own is not None else noted_on(loop)
        super().__init__(tasks, asyncio.CancelledError, own=own is not None)
        self.loop = loop
        self._thread = thread
        self._own = own
        self.released = False

    @property
    def here(self) -> bool:
        return threading.get_ident() == self._thread

    @property
    def current(self) -> bool:
        return asyncio_loop() is self.loop

    @property
    def closed(self) -> bool:
        return self.loop.is_closed()

    def call(self, fn: Callable[[], object], /) -> None:
        try:
            if threading.get_ident() == self._thread:
                self.loop.call_soon(fn, context=self._context)
            else:
                put_to(self.loop, fn, self._context)
        except RuntimeError:
            # The loop was closed this moment: its owner has ended everything on it. Who asks later looks before.
            if not self.loop.is_closed():
                raise

    def started(self, coroutine: Coroutine[Any, Any, Any], /) -> Task:
        return self.loop.create_task(coroutine)

    def watch(self, lost: Callable[[], object], /) -> Callable[[], object]:
        return bool if self._own is not None else watched(self.loop, lost)  # one of ours comes to its end with them

    def future(self) -> Future:
        return self.loop.create_future()

    def time(self) -> float:
        return self.loop.time()

    def sleep(self, seconds: float, /) -> Awaitable[object]:
        import asyncio  # noqa: PLC0415

        return asyncio.sleep(seconds)

    async def ended(self, tasks: Tasks, /) -> None:
        import asyncio  # noqa: PLC0415

        cancelled: asyncio.CancelledError | None = None
        while waiting := ending(tasks):
            try:
                await asyncio.wait(waiting)
            except asyncio.CancelledError as error:  # anyio cancels again in every turn
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def again(self) -> AnyLoop:
        return AsyncioLoop(self.loop, self._thread, None)

    def release(self) -> None:
        if self._own is not None:
            self._own.release(self)


class _OwnLoop:
    """An event loop on a thread of penstock, which runs while any run holds a lease."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def lease(self) -> AsyncioLoop:
        import asyncio  # noqa: PLC0415  only programs that use it pay for it

        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                try:
                    self._thread = started(partial(_run_loop, self, loop), "penstock-loop")
                except Exception:
                    loop.close()
                    raise
                self._loop, self._leases = loop, 0
            self._leases += 1
            assert self._thread is not None and self._thread.ident is not None
            return AsyncioLoop(self._loop, self._thread.ident, self)

    def release(self, lease: AsyncioLoop) -> None:
        loop = lease.loop
        with self._lock:
            if lease.released or loop is not self._loop:
                return  # it was given back, or the loop ended before
            lease.released = True
            self._leases -= 1
            if self._leases:
                return
            self._loop = self._thread = None
        lease.call(loop.stop)  # unless a SystemExit has ended it meanwhile

    def lost(self, loop: asyncio.AbstractEventLoop) -> None:
        """Forget a loop that has ended, by `release` or in another way."""
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
        wind_up(loop)


_shared = _OwnLoop()
_sharing = threading.Lock()


def _set_apart(own: _OwnLoop) -> None:
    """Share another loop from now on: the thread of this one is going to wait, perhaps for what would run on it."""
    global _shared  # noqa: PLW0603
    with _sharing:
        if _shared is own:
            _shared = _OwnLoop()


def running() -> bool:
    """Tell whether an event loop runs in this thread, unless the thread is about to block."""
    return not _mode.blocking and (trio_runs() or asyncio_loop() is not None)


def loop_here() -> AnyLoop | None:
    """Return the loop running in this thread, or None."""
    if trio_runs():  # looked for first: trio may run as a guest of asyncio
        from penstock.engine.places.trio_loop import TrioLoop  # noqa: PLC0415  only programs that use trio pay for it

        return TrioLoop()
    loop = asyncio_loop()
    return None if loop is None else AsyncioLoop(loop, threading.get_ident(), None)


def home_here() -> HomeLoop | None:
    """Return the loop that runs in this thread, for a run that is begun here, or None."""
    if not running():
        return None
    tasks: Tasks = {}
    with spawning(tasks):
        loop = loop_here()
    if loop is None:
        return None
    own = _mode.own
    return HomeLoop(loop, tasks) if own is None else OwnHome(loop, own.lease, partial(_set_apart, own))


def at_home(home: HomeLoop | None) -> None:
    """Let what is started in this context use a loop where none runs; with a home, this is called there."""
    if home is None:
        on_its_own()
    else:
        noted_in(home.tasks)
    HOME.set(home)


def lease_loop() -> AnyLoop:
    """Lease the loop running here, or the one on which the run was begun, or penstock's own."""
    if _mode.own is not None and not _mode.blocking:
        return _mode.own.lease()  # counted, so that the loop outlives the run that started it
    found = None if _mode.blocking else loop_here()
    if found is None:
        home = HOME.get()
        found = None if home is None else home.lease()
    return _shared.lease() if found is None else found
