"""trio_loop: a lease on trio's run.

Trio ends every task before it ends itself, and with the program's own main task. So no run has to be told of a loop
that leaves its tasks as they are, and there is nothing to give back.

trio has no task without a parent. What a run starts is a system task, which outlives the task that started it; `async
for` notes these tasks and waits for their end before it is over itself, so that none is left behind. Calls from
elsewhere go through one queue per run of trio and wake it once for all that wait there.

A cancelled task stays cancelled: whatever it waits for afterwards is cut short as well. That is trio's rule, and a
source that has to wait while it closes says so with a shield.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from functools import partial
from typing import Any

import trio

from penstock.engine.places.event_loops import AnyLoop
from penstock.engine.places.noting import Tasks, ending, noted_on
from penstock.engine.words.dropped import attempt

Call = Callable[[], object]
_CALL_RAISED = "a call on an event loop raised"  # it would end the whole run of trio


class _Calls:
    """The calls inside one run of trio, in the order in which they came."""

    __slots__ = ("_calls", "_due", "clock", "token")

    def __init__(self) -> None:
        self.token = trio.lowlevel.current_trio_token()
        self.clock = trio.lowlevel.current_clock()
        self._calls: deque[tuple[Context, Call]] = deque()
        self._due = False

    def add(self, context: Context, fn: Call) -> None:
        self._calls.append((context, fn))
        if self._due:
            return  # raised before the queue is looked at, and read after a call was queued
        self._due = True
        try:
            self.token.run_sync_soon(self._run)
        except trio.RunFinishedError:
            self._due = False  # so that no call is left here behind this one
            self._calls.clear()  # the run has ended and everything in it, so no run is left to be told

    def _run(self) -> None:
        self._due = False
        for _ in range(len(self._calls)):  # what these calls add comes after other tasks have had their turn
            context, fn = self._calls.popleft()
            attempt(_CALL_RAISED, context.run, fn)


_calls: trio.lowlevel.RunVar[_Calls] = trio.lowlevel.RunVar("penstock_calls")


def _calls_here() -> _Calls:
    try:
        return _calls.get()
    except LookupError:
        calls = _Calls()
        _calls.set(calls)
        return calls


class TrioFuture:
    """The future that one task waits for: an event, by the names of asyncio."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = trio.Event()

    def done(self) -> bool:
        """Tell whether it was set."""
        return self._event.is_set()

    def set_result(self, result: None, /) -> None:
        """Let the task go on."""
        self._event.set()

    def __await__(self) -> Generator[Any, None, None]:
        if not self._event.is_set():  # else there is nothing to wait for, and no checkpoint
            yield from self._event.wait().__await__()


class TrioTask:
    """A system task that can be cancelled alone; one that trio refuses is as one that was."""

    __slots__ = ("_callbacks", "_coroutine", "_error", "_refused", "_scope")

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._scope = trio.CancelScope()
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] = []
        self._refused = False
        try:
            trio.lowlevel.spawn_system_task(self._run, name=coroutine, context=copy_context())
        except RuntimeError:  # the run of trio is ending
            self._refused = True
            coroutine.close()

    def cancel(self) -> None:
        """End it wherever it waits."""
        self._scope.cancel()

    def cancelled(self) -> bool:
        """Tell whether it was ended by a cancel."""
        return self._refused or isinstance(self._error, trio.Cancelled)

    def cancelling(self) -> int:
        """Tell so: in trio nothing else is cancelled."""
        return 1

    def exception(self) -> BaseException | None:
        """Return what ended it, or None."""
        return self._error

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Call `fn` with the task when it has ended, at once if it never began."""
        if self._refused:
            attempt(_CALL_RAISED, fn, self)
        else:
            self._callbacks.append(fn)

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._work()
        except Exception as error:  # noqa: BLE001  a task that fails is looked at by its callbacks
            self._error = error
        finally:
            for fn in self._callbacks:
                attempt(_CALL_RAISED, fn, self)

    async def _work(self) -> None:
        try:
            if self._scope.cancel_called:  # before its first step, so it never takes one
                self._coroutine.close()
                await trio.lowlevel.checkpoint()
            await self._coroutine
        finally:
            self._error = sys.exception()  # a cancel is caught by the scope and not seen outside


class TrioLoop(AnyLoop):
    """A lease on the run of trio that this thread is in."""

    __slots__ = ("_calls",)

    def __init__(self, calls: _Calls | None = None) -> None:
        self._calls = calls or _calls_here()
        super().__init__(noted_on(self._calls.token), trio.Cancelled)

    @property
    def here(self) -> bool:
        return trio.lowlevel.in_trio_run() and trio.lowlevel.current_trio_token() is self._calls.token

    @property
    def closed(self) -> bool:
        try:
            self._calls.token.run_sync_soon(bool)
        except trio.RunFinishedError:
            return True
        return False

    def call(self, fn: Call, /) -> None:
        self._calls.add(self._context, fn)

    def started(self, coroutine: Coroutine[Any, Any, Any], /) -> TrioTask:
        return TrioTask(coroutine)

    def future(self) -> TrioFuture:
        return TrioFuture()

    def time(self) -> float:
        return self._calls.clock.current_time()

    async def sleep(self, seconds: float, /) -> None:
        await trio.sleep(seconds)

    async def ended(self, tasks: Tasks, /) -> None:
        with trio.CancelScope(shield=True):
            while waiting := ending(tasks):
                ended = TrioFuture()
                waiting[0].add_done_callback(partial(_set, ended))
                await ended

    def again(self) -> AnyLoop:
        return TrioLoop(self._calls)


def _set(future: TrioFuture, _: object) -> None:
    future.set_result(None)
