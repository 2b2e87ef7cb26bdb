"""loop_clock: the time of an event loop."""

from __future__ import annotations

from collections.abc import Callable

from penstock.engine.places.clocks import TASK_RAISED, Cancel, Task
from penstock.engine.places.context import carried
from penstock.engine.places.errand import Errand
from penstock.engine.places.event_loops import AnyLoop, loop_ended, loop_here
from penstock.engine.places.event_loops import Task as LoopTask
from penstock.engine.words.dropped import attempt


class LoopClock:
    """The clock of the loop it was made on; it calls tasks there.

    A test that moves the loop's time, with trio's MockClock say, moves this clock as well. A task that the loop ends
    before is called then: it finds that `now` raises, since no time is left to wait for.
    """

    __slots__ = ("_loop", "_over")

    def __init__(self) -> None:
        loop = loop_here()
        if loop is None:
            raise RuntimeError("LoopClock: no event loop is running here; make it inside a coroutine")
        self._loop: AnyLoop = loop
        self._over = False

    def now(self) -> float:
        """Return the loop's time; raise if the loop has ended with a task that waits."""
        if self._over:
            raise loop_ended()
        return self._loop.time()

    def call_later(self, seconds: float, task: Task, /) -> Cancel:
        """Call `task` on the loop after `seconds`."""
        here = loop_here() if self._loop.here else None
        loop = here or self._loop  # the one of here knows whose tasks to note
        timer = _Timer(loop, seconds, carried(task), self._end)
        timer.ready()
        return timer.cancel

    def _end(self) -> None:
        self._over = True

    def __repr__(self) -> str:
        return "LoopClock()"


class _Timer:
    """A task on its way, which can be called off from any thread."""

    __slots__ = ("_end", "_loop", "_seconds", "_sleeping", "_task", "_unwatch")

    def __init__(self, loop: AnyLoop, seconds: float, task: Task, end: Task) -> None:
        self._loop = loop
        self._seconds = seconds
        self._task: Task | None = task
        self._end = end
        self._sleeping: LoopTask | None = None
        self._unwatch: Callable[[], object] = bool

    def ready(self) -> None:
        if self._loop.closed:
            raise loop_ended()
        self._loop.call(Errand(self._start, self._lost))

    def _start(self) -> None:
        if self._task is not None:
            self._unwatch = self._loop.watch(self._lost)
            self._sleeping = self._loop.spawn(self._later(), lambda: self._task is None)
            self._sleeping.add_done_callback(self._left)

    def cancel(self) -> None:
        if self._task is not None:
            self._task = None
            self._loop.call(self._wake)

    def _wake(self) -> None:
        if self._sleeping is not None:
            self._sleeping.cancel()

    async def _later(self) -> None:
        await self._loop.sleep(self._seconds)
        self._ring()

    def _left(self, _: object) -> None:
        self._sleeping = None
        self._unwatch()
        self._lost()  # unless it has rung or was called off

    def _lost(self) -> None:
        if self._task is not None:
            self._end()
            self._ring()

    def _ring(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            attempt(TASK_RAISED, task)
