"""threads: what stands for threading, queue and time in the code under test, so that the scheduler knows who waits.

Time does not pass by itself: `pass_time` moves it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.explore import scheduler

local = threading.local
current_thread = threading.current_thread
main_thread = threading.main_thread
TIMEOUT_MAX = threading.TIMEOUT_MAX
now = 1000.0


def get_ident() -> int:
    """Return what stands for the identity of the thread that runs."""
    return scheduler.tasks[scheduler.current].ident


def monotonic() -> float:
    """Return the time of the run."""
    return now


def perf_counter() -> float:
    """Return the time of the run."""
    return now


def time() -> float:
    """Return the time of the run."""
    return now


def pass_time(seconds: float) -> None:
    """Let time pass; whoever waits for it can go on."""
    global now
    now += seconds


class Lock:
    """Be a lock that tells the scheduler who waits for it."""

    __slots__ = ("owner",)

    def __init__(self) -> None:
        self.owner: int | None = None

    def __enter__(self) -> bool:
        if self.owner is not None:
            scheduler.block(self)
        self.owner = scheduler.current
        scheduler.tasks[scheduler.current].held.append(self)
        return True

    def __exit__(self, *exc: object) -> None:
        self.owner = None
        held = scheduler.tasks[scheduler.current].held
        if self in held:
            held.remove(self)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not blocking and self.owner is not None:
            return False
        return self.__enter__()

    def release(self) -> None:
        self.__exit__()

    def locked(self) -> bool:
        return self.owner is not None

    def ready(self) -> bool:
        return self.owner is None


class RLock(Lock):
    """Be a lock that its owner may take again."""

    __slots__ = ("depth",)

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0

    def __enter__(self) -> bool:
        if self.owner != scheduler.current:
            super().__enter__()
        self.depth += 1
        return True

    def __exit__(self, *exc: object) -> None:
        self.depth -= 1
        if not self.depth:
            super().__exit__()


class _Wait:
    """Be over when told, or when the time has come."""

    __slots__ = ("deadline", "told")

    def __init__(self, timeout: float | None) -> None:
        self.deadline = None if timeout is None else now + timeout
        self.told = False

    def ready(self) -> bool:
        return self.told or (self.deadline is not None and now >= self.deadline)


class Condition:
    """Be a condition that the scheduler knows."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = RLock() if lock is None else lock
        self._waits: deque[_Wait] = deque()

    def __enter__(self) -> bool:
        return self._lock.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._lock.__exit__()

    @property
    def owner(self) -> int | None:
        return self._lock.owner

    def wait(self, timeout: float | None = None) -> bool:
        wait = _Wait(timeout)
        self._waits.append(wait)
        self._lock.__exit__()
        try:
            scheduler.block(wait)
        finally:
            self._lock.__enter__()
            if wait in self._waits:
                self._waits.remove(wait)
        return wait.told

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> object:
        wait = _Wait(timeout)
        while not (result := predicate()) and not (wait.deadline is not None and wait.ready()):
            self.wait(None if wait.deadline is None else wait.deadline - now)
        return result

    def notify(self, n: int = 1) -> None:
        for wait in list(self._waits)[:n]:
            wait.told = True
            self._waits.remove(wait)

    def notify_all(self) -> None:
        self.notify(len(self._waits))


class Event:
    """Be an event that the scheduler knows."""

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def ready(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            scheduler.block(self if timeout is None else _Either(self, _Wait(timeout)))
        return self._set


class _Either:
    def __init__(self, *waits: scheduler.Waitable) -> None:
        self._waits = waits

    def ready(self) -> bool:
        return any(wait.ready() for wait in self._waits)


class SimpleQueue:
    """Be a queue that the scheduler knows."""

    __class_getitem__ = classmethod(lambda cls, _: cls)

    def __init__(self) -> None:
        self._items: deque[Any] = deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        self._items.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        while not self._items:
            scheduler.block(self)
        return self._items.popleft()

    def empty(self) -> bool:
        return not self._items

    def ready(self) -> bool:
        return bool(self._items)


class Thread:
    """Be a thread that goes on when the scheduler says so."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self.name = name or "thread"
        self.daemon = daemon
        self._target, self._args, self._kwargs = target, tuple(args), dict(kwargs or {})
        self._over = Event()
        self.ident: int | None = None

    def start(self) -> None:
        self.ident = scheduler.spawn(self._run, self.name).ident

    def _run(self) -> None:
        try:
            if self._target is not None:
                self._target(*self._args, **self._kwargs)
        finally:
            self._over.set()

    def is_alive(self) -> bool:
        return not self._over.is_set()

    def join(self, timeout: float | None = None) -> None:
        self._over.wait(timeout)


def start_new_thread(work: Callable[..., object], args: tuple[Any, ...] = ()) -> None:
    """Run something on a thread that the scheduler knows."""
    scheduler.spawn(lambda: work(*args), "thread")
