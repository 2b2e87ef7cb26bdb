"""clocks: time as an argument: the system's, an event loop's, or a virtual one that tests move by hand."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Protocol, runtime_checkable

from penstock.engine.context import carried
from penstock.engine.dropped import drop

Cancel = Callable[[], None]
Task = Callable[[], None]


@runtime_checkable
class Clock(Protocol):
    """Tell the time and call back later."""

    def now(self) -> float:
        """Return the time in seconds, from an arbitrary start."""
        ...

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` once `seconds` have passed, in the context of the call; return what calls it off."""
        ...


def seconds_of(operator: str, name: str, duration: float | timedelta, *, zero: bool = True) -> float:
    """Return a duration in seconds, refusing what is none."""
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise TypeError(f"{operator}: {name} must be seconds or a timedelta, got {duration!r}")
    if not (duration >= 0 if zero else duration > 0) or duration == float("inf"):
        raise ValueError(f"{operator}: {name} must be {'>=' if zero else '>'} 0 and finite, got {duration!r}")
    return float(duration)


def clock_given(operator: str, clock: object) -> None:
    """Refuse what does not tell the time."""
    if not isinstance(clock, Clock):
        raise TypeError(f"{operator}: clock must be a Clock, got {clock!r}")


class _Timers:
    """Keep tasks in the order of their times."""

    __slots__ = ("_heap", "_order")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, list[Task]]] = []
        self._order = count()

    def add(self, when: float, task: Task) -> list[Task]:
        cell = [task]  # emptied when called off, so that the task is released at once
        heapq.heappush(self._heap, (when, next(self._order), cell))
        return cell

    def due(self) -> float | None:
        """Return the time of the next task that has not been called off."""
        while self._heap and not self._heap[0][2]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop(self) -> Task:
        return heapq.heappop(self._heap)[2].pop()


class SystemClock:
    """Tell the system's time; tasks run on one timer thread, which ends when nothing is left to wait for."""

    __slots__ = ("_changed", "_thread", "_timers")

    def __init__(self) -> None:
        self._timers = _Timers()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    now = staticmethod(time.monotonic)
    """Return the system's monotonic time; nothing stands in between, for those who ask at every element."""

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` on the timer thread after `seconds`."""
        with self._changed:
            cell = self._timers.add(self.now() + seconds, carried(task))
            if self._thread is None:
                self._start()
            else:
                self._changed.notify()

        def cancel() -> None:
            with self._changed:
                cell.clear()
                self._changed.notify()

        return cancel

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="penstock-timer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        ended = False
        try:
            while self._tick():
                pass
            ended = True
        finally:
            if not ended:  # a task raised SystemExit or its like, which ends this thread and no other task
                with self._changed:
                    self._start()

    def _tick(self) -> bool:
        """Wait for the next task and call it; tell whether to go on."""
        with self._changed:
            due = self._timers.due()
            if due is None:
                self._thread = None
                return False
            wait = due - self.now()
            if wait > 0:
                self._changed.wait(wait)
                return True
            task = self._timers.pop()
        _call(task)
        return True

    def __reduce__(self) -> str:
        return "SYSTEM_CLOCK"

    def __repr__(self) -> str:
        return "SystemClock()"


SYSTEM_CLOCK = SystemClock()
"""The clock that operators use unless another is given."""


class VirtualClock:
    """Stand still until it is moved: `advance` runs what falls due, in order, on the caller's thread."""

    __slots__ = ("_lock", "_now", "_timers")

    def __init__(self, start: float = 0.0) -> None:
        self._timers = _Timers()
        self._lock = threading.Lock()
        self._now = start

    def now(self) -> float:
        """Return the virtual time."""
        return self._now

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` when the clock has been moved `seconds` on."""
        with self._lock:
            cell = self._timers.add(self._now + seconds, carried(task))

        def cancel() -> None:
            with self._lock:
                cell.clear()

        return cancel

    def advance(self, seconds: float) -> None:
        """Move the clock on, running every task that falls due on the way."""
        if seconds < 0:
            raise ValueError(f"advance: seconds must be >= 0, got {seconds!r}")
        target = self._now + seconds
        while True:
            with self._lock:
                due = self._timers.due()
                if due is None or due > target:
                    self._now = target
                    return
                self._now = max(self._now, due)
                task = self._timers.pop()
            _call(task)

    @property
    def pending(self) -> int:
        """Return how many tasks wait."""
        with self._lock:
            return sum(1 for _, _, cell in self._timers._heap if cell)


def _call(task: Task) -> None:
    try:
        task()
    except Exception as error:  # noqa: BLE001  the clock outlives a task that raises
        drop("a task of a clock raised", error)
