"""on_loops: what works on an event loop, as the explorer tries it: the loop of a program, and sources that are awaited.

Calls come from other threads: they let a source go on, ask, cancel, end the loop. What they touch on the loop they have
called there.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from asyncio.runners import _cancel_all_tasks  # type: ignore[attr-defined]
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any

from penstock import Stream
from penstock.engine.places import event_loops
from tests.explore import loops, scheduler, threads
from tests.explore.bench import Bench, Boom, Feed, Line, pause

_END = object()
_runs = 0
_ENDED_WITH_THE_LOOP = "Task was destroyed but it is pending!"


class Program:
    """Be the loop of a program, on a thread of its own."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.loop = loops.Loop()
        self.breaks = False
        self._end: asyncio.Future[None] | None = None
        self._main: asyncio.Task[Any] | None = None
        threads.Thread(target=self._run, name="program").start()
        bench.finishers.append(self._finish)

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._wait())
            if not self.breaks:
                _cancel_all_tasks(self.loop)
                self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.broken = bool(asyncio.all_tasks(self.loop))
            self.loop.close()

    async def _wait(self) -> None:
        self._main = asyncio.current_task()
        self._end = self.loop.create_future()
        await self._end

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Return the tasks that have not ended, but for that of the program."""
        return [task for task in asyncio.all_tasks(self.loop) if task is not self._main]

    def call(self, fn: Callable[[], object]) -> None:
        """Have something called on the loop, unless it was closed."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(fn)

    def start(self, coroutine: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Start a task on the loop."""
        self.call(lambda: self.loop.create_task(coroutine()))

    def end(self, *, breaks: bool) -> None:
        """End the loop: as `asyncio.run` does, or with its tasks under way."""

        def ended() -> None:
            assert self._end is not None
            if not self._end.done():
                self.breaks = breaks
                self._end.set_result(None)

        self.call(ended)

    def cancel_tasks(self) -> None:
        """Cancel every task, as one does who waits for them no more."""
        self.call(lambda: [task.cancel() for task in self.tasks()])

    def ending(self) -> None:
        """Add the calls that end the loop or its tasks."""
        self.bench.errors |= {"RuntimeError", "CutOffError"}
        self.bench.call("loop.ends", lambda: self.end(breaks=False), "loop")
        self.bench.call("loop.breaks", lambda: self.end(breaks=True), "loop")
        self.bench.call("tasks.cancel", self.cancel_tasks, "loop")

    def _finish(self) -> None:
        if self.bench.rounds == 3:
            for task in self.tasks() if not self.loop.is_closed() else ():
                self.bench.fault(f"a task is left: {task.get_coro()}")
            self.end(breaks=False)


class On:
    """Be a stream that is made and subscribed on the loop of a program."""

    def __init__(self, program: Program, made: Callable[[], Stream[Any]]) -> None:
        self._program = program
        self._made = made

    def subscribe(self, subscriber: Any, /) -> None:
        self._program.call(lambda: self._made().subscribe(subscriber))


class Jobs:
    """Be work that is awaited, each piece of it until a call says that it is done."""

    def __init__(self, bench: Bench, most: int, key: Callable[[Any], object] | None = None) -> None:
        self._bench = bench
        self._most = most
        self._key = key
        self._under_way: list[tuple[Any, Any, asyncio.Future[bool]]] = []
        bench.call("work.done", lambda: self._finish(0), "work")
        bench.call("work.last", lambda: self._finish(-1), "work")
        bench.call("work.error", lambda: self._finish(0, Boom("work")), "work")
        bench.finishers.append(self._finish_all)

    async def __call__(self, element: Any) -> Any:
        """Wait; return the element with a mark, or for a predicate whether its number is odd."""
        loop = asyncio.get_running_loop()
        job = (element, loop, loop.create_future())
        self._under_way.append(job)
        if len(self._under_way) > self._most:
            self._bench.fault("more work is under way than may be")
        if self._key is not None and len({self._key(each) for each, *_ in self._under_way}) < len(self._under_way):
            self._bench.fault("two of one key are under way")
        try:
            await job[2]
            pause(self)
        finally:
            self._under_way.remove(job)
        return f"{element}'"

    async def odd(self, element: Any) -> bool:
        """Wait; tell whether the number of an element is odd."""
        await self(element)
        return bool(int(element[1:]) % 2)

    def _finish(self, place: int, error: Exception | None = None) -> None:
        waiting = [job for job in self._under_way if not job[2].done()]
        if waiting:
            _, loop, future = waiting[place]
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_settled, future, error)

    def _finish_all(self) -> None:
        for _ in range(8):
            self._finish(0)
            scheduler.settle()
        if self._bench.rounds == 3 and any(not asyncio.BaseEventLoop.is_closed(loop) for _, loop, _ in self._under_way):
            self._bench.fault("work is left")


def _settled(future: asyncio.Future[None], error: Exception | None) -> None:
    if not future.done() and error is None:
        future.set_result(None)
    elif not future.done():
        future.set_exception(error)


class Visitor:
    """Be a task of a program that awaits a stream, and writes down what comes of it."""

    def __init__(self, program: Program, visit: Callable[[Visitor], Coroutine[Any, Any, Any]]) -> None:
        self._bench = program.bench
        self._visit = visit
        self._bench.outlives = True
        program.start(self._run)

    def note(self, what: object) -> None:
        """Write something down."""
        self._bench.results.append(str(what))

    async def _run(self) -> None:
        try:
            await self._visit(self)
            self.note("left")
        except Boom as error:
            self.note(repr(error))
        except Exception as error:
            self.note(type(error).__name__)
            if type(error).__name__ not in self._bench.errors:
                self._bench.fault(f"the task raised {error!r}")
        except asyncio.CancelledError:
            self.note("cancelled")
            raise
        finally:
            self._bench.outlives = False


class AsyncLine(Line):
    """Be one iteration of an asynchronous feed."""

    feed: AsyncFeed

    def __init__(self, feed: AsyncFeed) -> None:
        super().__init__(feed, None)  # type: ignore[arg-type]
        self.loop = asyncio.get_running_loop()
        self.asked = 0
        self.closed = False
        self._inside = False
        self._given: deque[Any] = deque()
        self._ending: Exception | bool = False
        self._waits: asyncio.Future[None] | None = None

    # What calls of other threads do.

    def can_send(self) -> bool:
        waits = self._waits
        return not (self.over or self._ending or self._given or self.sent >= self.feed.total) and waits is not None

    def send(self) -> None:
        if self.can_send():
            self.sent += 1
            self._given.append(self.feed.make(self.sent))
            self._wake()

    def end(self, error: Exception | None) -> None:
        if not (self.over or self._ending):
            self._ending = error or True
            self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._stir)

    @property
    def over(self) -> bool:
        return self.closed or asyncio.BaseEventLoop.is_closed(self.loop)  # type: ignore[arg-type]

    @property
    def state(self) -> tuple[int, int] | None:
        return None if self.over else (self.sent, int(self._waits is not None))

    # The rest, on the loop.

    def _stir(self) -> None:
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)

    async def comes(self) -> Any:
        """Wait for the next element."""
        bench = self.feed.bench
        self.asked += 1
        if self.closed or self._inside:
            bench.fault(f"{self.feed.name} was asked after its end, or twice at once")
        if self.feed.exact and self.asked > sum(taker.requested for taker in bench.takers):
            bench.fault(f"{self.feed.name} was read ahead")
        self._inside = True
        try:
            while not (self._given or self._ending):
                self._waits = self.loop.create_future()
                try:
                    await self._waits
                except asyncio.CancelledError:
                    if not self.feed.deaf:
                        raise
                    self._given.append("deaf")
                finally:
                    self._waits = None
            pause(self)
        finally:
            self._inside = False
        if self._given:
            return self._given.popleft()
        if isinstance(self._ending, Exception):
            raise self._ending
        return _END

    async def close(self) -> None:
        """Be closed, which takes a turn of the loop."""
        if self.closed:
            self.feed.bench.fault(f"{self.feed.name} was closed twice")
        pause(self)
        if self.feed.slow and not asyncio.BaseEventLoop.is_closed(self.loop):  # type: ignore[arg-type]
            try:
                await asyncio.sleep(0)
            finally:
                self.closed = True
        self.closed = True
        if self.feed.fails_to_close:
            raise Boom("close")


class AsyncFeed(Feed):
    """Be an asynchronous iterable driven by hand."""

    def __init__(
        self,
        bench: Bench,
        name: str = "a",
        total: int = 3,
        *,
        exact: bool = True,
        deaf: bool = False,
        slow: bool = False,
        fails_to_close: bool = False,
    ) -> None:
        super().__init__(bench, name, total, False, None)
        self.exact = exact
        """Whether it is read no further than was asked for."""
        self.deaf = deaf
        """Whether it keeps a cancel to itself and gives one more element."""
        self.slow = slow
        """Whether it awaits something while it is closed."""
        self.fails_to_close = fails_to_close
        bench.feeding(self)

    def __aiter__(self) -> AsyncIterator[Any]:
        line = AsyncLine(self)
        self.lines.append(line)
        return _given(line)


async def _given(line: AsyncLine) -> AsyncIterator[Any]:
    try:
        while (element := await line.comes()) is not _END:
            yield element
    finally:
        await line.close()


def begin(bench: Bench) -> None:
    """Look at what is raised where nobody hears it."""
    sys.unraisablehook = lambda seen: _unraised(bench, seen.exc_value, seen.object)
    warnings.showwarning = lambda message, *_, **__: _warned(bench, f"warned: {message}")


def _warned(bench: Bench, what: str) -> None:
    if scheduler.aborting is None and not any(loop.broken for loop in loops.made):
        bench.fault(what)


def _unraised(bench: Bench, error: BaseException | None, where: object) -> None:
    if scheduler.aborting is None:
        bench.fault(f"raised where nobody looks: {error!r} in {where!r}")


def collect() -> None:
    """Let go of what the last runs have left behind; by itself the collector would run by chance."""
    global _runs
    _runs += 1
    with_loops = bool(loops.made)
    loops.made.clear()
    event_loops._shared = event_loops._OwnLoop()
    if with_loops or _runs % 100 == 0:
        gc.collect()


def leave() -> None:
    """Let go of what nobody holds any more, while the run can still see what comes of it."""
    if loops.made:
        gc.collect()
        scheduler.settle()


def end(bench: Bench) -> None:
    """Look whether all loops have come to their end, and at what was raised on them."""
    for loop in loops.made:
        if not asyncio.BaseEventLoop.is_closed(loop):
            bench.fault("a loop is not closed")
        for fault in loop.faults:
            if not (loop.broken and fault.startswith(_ENDED_WITH_THE_LOOP)):
                bench.fault(f"on a loop: {fault}")


__all__ = ["AsyncFeed", "Jobs", "On", "Program", "Visitor", "begin", "collect", "end", "leave"]
