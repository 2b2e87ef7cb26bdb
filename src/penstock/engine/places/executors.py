"""executors: where work runs: inline, on a thread, on a pool of threads, or on an event loop.

An Executor gives out workers. A worker runs what is submitted to it in order and one at a time, which is all that a
boundary needs to keep its signals serial.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Protocol, runtime_checkable

from penstock.engine.places.event_loops import lease_loop, loop_ended
from penstock.engine.places.threads import started, work_off
from penstock.engine.words.arguments import count_given
from penstock.engine.words.dropped import attempt
from penstock.engine.words.trampoline import working

Task = Callable[[], None]

_RAISED = "a task of a worker raised"


class Worker(Protocol):
    """A worker that runs tasks one at a time, in the order of their submission."""

    def submit(self, task: Task, /) -> None:
        """Run `task` after those submitted before it."""

    def close(self) -> None:
        """Take no more tasks; those submitted before still run."""


@runtime_checkable
class Executor(Protocol):
    """A giver of workers."""

    def worker(self) -> Worker:
        """Return a new worker for one run."""
        ...


def _ran_next(take: Callable[[], Task | None]) -> bool:
    """Run the task that is taken, and keep nothing of it (rule 3.13: an idle thread); tell whether there was one."""
    task = take()
    if task is None:
        return False
    attempt(_RAISED, task)
    return True


class _InlineWorker:
    """A worker that runs tasks on the caller's thread, the innermost call never inside another."""

    __slots__ = ()

    def submit(self, task: Task, /) -> None:
        working(partial(attempt, _RAISED, task))

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


@dataclass(frozen=True, slots=True)
class Inline:
    """An executor whose workers run on the thread that submits, without nesting."""

    def worker(self) -> Worker:
        """Return an inline worker."""
        return _InlineWorker()


class _ThreadWorker:
    """A worker with one thread, which ends when the worker is closed."""

    __slots__ = ("_closed", "_lock", "_tasks")

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        start = partial(started, name=name)
        start(partial(work_off, partial(_ran_next, self._tasks.get), start))

    def submit(self, task: Task, /) -> None:
        with self._lock:
            if not self._closed:
                self._tasks.put(task)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._tasks.put(None)


@dataclass(frozen=True, slots=True)
class Thread:
    """An executor that gives each run its own thread."""

    name: str = "penstock-thread"

    def worker(self) -> Worker:
        """Start a thread and return its worker."""
        return _ThreadWorker(self.name)


class _Row:
    """Tasks in the order of their submission, and how many threads work them off."""

    __slots__ = ("_lock", "_running", "_start", "_waiting")

    def __init__(self, start: Callable[[Task], object]) -> None:
        self._start = start
        """What has a thread do some work."""
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: deque[Task] = deque()

    def _work(self) -> None:
        work_off(partial(_ran_next, self._next), self._start)

    def _next(self) -> Task | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._running -= 1
            return None


class _PoolThreads(_Row):
    """Up to `size` threads that run tasks and end when nothing is left to do."""

    __slots__ = ("_size",)

    def __init__(self, size: int, name: str) -> None:
        super().__init__(partial(started, name=name))
        self._size = size

    def submit(self, task: Task) -> None:
        with self._lock:
            if self._running < self._size:
                self._start(self._work)  # first, since it may raise; it waits for the lock
                self._running += 1
            self._waiting.append(task)


class SerialWorker(_Row):
    """A worker that runs tasks in order, one at a time, on threads that it shares with others."""

    __slots__ = ("_closed",)

    def __init__(self, spawn: Callable[[Task], object]) -> None:
        super().__init__(spawn)
        self._closed = False

    def submit(self, task: Task, /) -> None:
        with self._lock:
            if self._closed:
                return
            self._waiting.append(task)
            if self._running:
                return
            self._running = 1
        spawned = False
        try:
            self._start(self._work)  # with no lock held: an executor of a user's may work inside of its submit
            spawned = True
        finally:
            if not spawned:
                with self._lock:
                    self._running = 0
                    self._waiting.clear()  # the run hears of it, and ends

    def close(self) -> None:
        with self._lock:
            self._closed = True


@dataclass(frozen=True, slots=True, repr=False)
class Pool:
    """An executor whose workers share a bounded number of threads; pools of one size and name are equal."""

    size: int
    name: str = "penstock-pool"
    _threads: _PoolThreads = field(init=False, compare=False)

    def __post_init__(self) -> None:
        count_given("pool", "size", self.size, 1)
        object.__setattr__(self, "_threads", _PoolThreads(self.size, self.name))

    def worker(self) -> Worker:
        """Return a worker that borrows a thread whenever it has something to do."""
        return SerialWorker(self._threads.submit)

    def __reduce__(self) -> tuple[type[Pool], tuple[int, str]]:
        return (Pool, (self.size, self.name))

    def __repr__(self) -> str:
        return f"pool({self.size}, {self.name!r})"


class LoopWorker:
    """A worker that runs tasks on an event loop, by what calls them there; it `releases` the loop when it is closed."""

    __slots__ = ("_call", "_closed", "_over", "_release")

    def __init__(
        self, call: Callable[[Task], object], release: Callable[[], object], over: Callable[[], bool] = bool
    ) -> None:
        self._call = call
        self._release = release
        self._over = over
        """What tells that the loop has ended, if to call there does not."""
        self._closed = False

    def submit(self, task: Task, /) -> None:
        """Run `task` after those submitted before it."""
        if self._over() and not self._closed:
            raise loop_ended()
        if not self._closed:
            self._call(partial(attempt, _RAISED, task))

    def close(self) -> None:
        """Take no more tasks, and let go of the loop."""
        if not self._closed:
            self._closed = True
            self._release()


@dataclass(frozen=True, slots=True)
class EventLoop:
    """An executor whose workers run on the running event loop, or on one of penstock's own where none runs."""

    def worker(self) -> Worker:
        """Return a worker on the loop of the moment."""
        lease = lease_loop()
        return LoopWorker(lease.call, lease.release, lambda: lease.closed)


def inline() -> Executor:
    """Run on the thread that submits, in order and without nesting."""
    return Inline()


def thread(name: str = "penstock-thread") -> Executor:
    """Run on a thread made for each run and ended with it.

    Args:
        name: The name of the thread.
    """
    return Thread(name)


def pool(size: int, name: str = "penstock-pool") -> Executor:
    """Run on at most `size` threads shared by all runs that use this pool.

    Args:
        size: How many threads at most.
        name: What their names begin with.
    """
    return Pool(size, name)


def loop() -> Executor:
    """Run on the event loop, asyncio's or trio's, that runs where the stream is subscribed, or on penstock's own."""
    return EventLoop()
