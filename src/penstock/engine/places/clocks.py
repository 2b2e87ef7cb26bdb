"""clocks: time as an argument: the system's, an event loop's, or a virtual one that tests move by hand."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count
from math import fsum, isfinite, ulp
from sys import float_info
from typing import NoReturn, Protocol, runtime_checkable

from penstock.engine.places.context import carried
from penstock.engine.places.threads import started, work_off
from penstock.engine.words.arguments import of_class, stays_here
from penstock.engine.words.dropped import attempt

Cancel = Callable[[], None]
Task = Callable[[], None]

LONGEST_WAIT = 24 * 60 * 60.0
"""How many seconds the timer thread waits at a time; no lock can wait for as long as a float or a timedelta may say."""
TASK_RAISED = "a task of a clock raised"
ROUNDINGS = 4
"""By how many roundings a sum of times may differ from the same time written in another way."""


@runtime_checkable
class Clock(Protocol):
    """A clock that tells the time and calls back later."""

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
        convertible = hasattr(type(duration), "__float__") and not isinstance(duration, bool)
        cure = "; float() makes seconds of it" if convertible else ""
        raise TypeError(f"{operator}: {name} must be seconds or a timedelta, got {duration!r}{cure}")
    if not (duration >= 0 if zero else duration > 0) or duration > float_info.max:
        raise ValueError(f"{operator}: {name} must be {'>=' if zero else '>'} 0 and finite, got {duration!r}")
    return float(duration)


def clock_given(operator: str, clock: object) -> None:
    """Refuse what does not tell the time."""
    if clock is not SYSTEM_CLOCK and (isinstance(clock, type) or not isinstance(clock, Clock)):
        raise TypeError(f"{operator}: clock must be a Clock, got {clock!r}{of_class(clock)}")


class _Timers:
    """Tasks in the order of their times; those that were called off are never more than the others."""

    __slots__ = ("_called_off", "_heap", "_order", "changed")

    def __init__(self) -> None:
        self.changed = threading.Condition()
        """Guards the tasks, and says that they are others."""
        self._heap: list[tuple[float, int, list[Task]]] = []
        self._order = count()
        self._called_off = 0

    def __len__(self) -> int:
        return len(self._heap) - self._called_off

    def add(self, when: float, task: Task) -> Cancel:
        """Take a task, to be called in the context of here and now; return what calls it off."""
        cell = [carried(task)]  # emptied when called off, so that the task is released at once
        heapq.heappush(self._heap, (when, next(self._order), cell))
        self.changed.notify()
        return partial(self._call_off, cell)

    def _call_off(self, cell: list[Task]) -> None:
        """Forget a task, unless it was called."""
        with self.changed:
            if cell:
                cell.clear()
                self._called_off += 1
                if self._called_off > len(self):
                    self._heap = [entry for entry in self._heap if entry[2]]
                    heapq.heapify(self._heap)
                    self._called_off = 0
                self.changed.notify()

    def due(self) -> float | None:
        """Return the time of the next task that has not been called off."""
        while self._heap and not self._heap[0][2]:
            heapq.heappop(self._heap)
            self._called_off -= 1
        return self._heap[0][0] if self._heap else None

    def pop(self) -> Task:
        return heapq.heappop(self._heap)[2].pop()


class SystemClock:
    """The clock of the system's time; tasks run on one timer thread, which ends when nothing is left to wait for."""

    __slots__ = ("_runs", "_timers")

    def __init__(self) -> None:
        self._timers = _Timers()
        self._runs = False
        """Whether there is a timer thread."""

    now = staticmethod(time.monotonic)
    """Return the system's monotonic time; nothing stands in between, for those who ask at every element."""

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` on the timer thread after `seconds`."""
        with self._timers.changed:
            if not self._runs:
                started(self._run, "penstock-timer")  # first, since it may raise; it waits for the lock
                self._runs = True
            return self._timers.add(self.now() + seconds, task)

    def _run(self) -> None:
        work_off(self._tick, partial(started, name="penstock-timer"))

    def _tick(self) -> bool:
        """Wait for the next task and call it; tell whether to go on."""
        with self._timers.changed:
            due = self._timers.due()
            if due is None:
                self._runs = False
                return False
            wait = due - self.now()
            if wait > 0:
                self._timers.changed.wait(min(wait, LONGEST_WAIT))
                return True
            task = self._timers.pop()
        attempt(TASK_RAISED, task)
        return True

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)  # each tells the same time

    def __hash__(self) -> int:
        return hash(type(self))

    def __reduce__(self) -> str | tuple[type[SystemClock], tuple[()]]:
        return "SYSTEM_CLOCK" if self is SYSTEM_CLOCK else (type(self), ())

    def __repr__(self) -> str:
        return "SystemClock()"


SYSTEM_CLOCK = SystemClock()
"""The clock that operators use unless another is given."""


class VirtualClock:
    """A clock that stands still until it is moved: `advance` runs what falls due, in order, on the caller's thread.

    Steps add up to what they say: ten steps of 0.1 reach whatever is due after one of 1.0. So what a sum of floats
    loses is kept, and a task that is due a rounding later than a step ends is called by that step. A step that comes
    while another thread moves the clock is left to that thread, which makes it after its own; no thread waits.
    """

    __slots__ = ("_lost", "_mover", "_now", "_steps", "_timers")

    def __init__(self, start: float = 0.0) -> None:
        if isinstance(start, bool) or not isinstance(start, int | float):
            raise TypeError(f"VirtualClock: start must be seconds, got {start!r}")
        if not isfinite(start):
            raise ValueError(f"VirtualClock: start must be finite, got {start!r}")
        self._timers = _Timers()
        self._now = start
        self._lost = 0.0
        """What the steps made since the last task amount to beyond `_now`."""
        self._mover = 0
        """The thread that moves the clock."""
        self._steps: deque[float] = deque()
        """The steps that are left to it, those of other threads among them."""

    def __reduce__(self) -> NoReturn:
        raise stays_here(
            "VirtualClock", "virtual time", "who advances one would not move the other; make it where it is used"
        )

    def now(self) -> float:
        """Return the virtual time."""
        return self._now

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` when the clock has been moved `seconds` on."""
        with self._timers.changed:
            return self._timers.add(self._now + seconds, task)

    def advance(self, seconds: float | timedelta) -> None:
        """Move the clock on, running every task that falls due on the way.

        Args:
            seconds: How far.
        """
        seconds = seconds_of("advance", "seconds", seconds)
        with self._timers.changed:
            inside = self._mover == threading.get_ident()  # a task moves it further
            if not inside:
                self._steps.append(seconds)
                if self._mover:
                    return
                self._mover = threading.get_ident()
        if inside:
            self._move(seconds)
        else:
            self._move_all()

    def _move_all(self) -> None:
        try:
            while True:
                with self._timers.changed:
                    if not self._steps:
                        self._mover = 0
                        return
                    seconds = self._steps.popleft()
                self._move(seconds)
        finally:
            if self._mover == threading.get_ident():  # interrupted: who moves the clock next makes what is left
                self._mover = 0

    def _move(self, seconds: float) -> None:
        with self._timers.changed:
            steps = (self._now, self._lost, seconds)
        target = fsum(steps)
        lost = fsum((*steps, -target))
        while True:
            with self._timers.changed:
                due = self._timers.due()
                if due is None or due > target + ROUNDINGS * ulp(target):
                    self._now, self._lost = max((self._now, self._lost), (target, lost))
                    return
                if due > self._now:
                    self._now, self._lost = due, 0.0
                task = self._timers.pop()
            attempt(TASK_RAISED, task)

    @property
    def pending(self) -> int:
        """Return how many tasks wait."""
        with self._timers.changed:
            return len(self._timers)
