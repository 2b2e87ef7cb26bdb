"""loop_clock: the time of an event loop."""

from __future__ import annotations

from penstock.engine.places.clocks import TASK_RAISED, Cancel, Task
from penstock.engine.places.context import carried
from penstock.engine.places.event_loops import AnyLoop, loop_ended, loop_here
from penstock.engine.places.event_loops import Task as LoopTask
from penstock.engine.words.dropped import attempt


class LoopClock:
    """The clock of the loop it was made on; it calls tasks there.

    A test that moves the loop's time, with trio's MockClock say, moves this clock as well.
    """

    __slots__ = ("_loop",)

    def __init__(self) -> None:
        loop = loop_here()
        if loop is None:
            raise RuntimeError("LoopClock: no event loop is running here; make it inside a coroutine")
        self._loop: AnyLoop = loop

    def now(self) -> float:
        """Return the loop's time."""
        return self._loop.time()

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` on the loop after `seconds`."""
        here = loop_here() if self._loop.here else None
        timer = _Timer(here or self._loop, seconds, carried(task))  # the one of here knows whose tasks to note
        timer.ready()
        return timer.cancel

    def __repr__(self) -> str:
        return "LoopClock()"


class _Timer:
    """A task on its way, which can be called off from any thread."""

    __slots__ = ("_loop", "_seconds", "_sleeping", "_task")

    def __init__(self, loop: AnyLoop, seconds: float, task: Task) -> None:
        self._loop = loop
        self._seconds = seconds
        self._task: Task | None = task
        self._sleeping: LoopTask | None = None

    def ready(self) -> None:
        if self._loop.closed:
            raise loop_ended()
        self._loop.call(self._start)

    def _start(self) -> None:
        if self._task is not None:
            self._sleeping = self._loop.spawn(self._later())

    def cancel(self) -> None:
        if self._task is not None:
            self._task = None
            self._loop.call(self._wake)

    def _wake(self) -> None:
        if self._sleeping is not None:
            self._sleeping.cancel()

    async def _later(self) -> None:
        await self._loop.sleep(self._seconds)
        task, self._task = self._task, None
        if task is not None:
            attempt(TASK_RAISED, task)
