"""async_work: call an asynchronous function with each element, so many at a time, and pass on what comes of it.

`map_async` passes the results on, `filter` the elements for which the result is true, and `for_each` every element once
the work on it is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from enum import Enum
from itertools import takewhile
from typing import Any, Protocol

from penstock.engine.grounds.cold_paths import interruption, interrupts_told, too_late
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.upstream import Queued
from penstock.engine.places.event_loops import AnyLoop, Task, lease_loop, loop_ended
from penstock.engine.places.noting import on_its_own
from penstock.engine.weaving.blame import blamed, describe, function_name, no_stop, note_on, operator_name, place_of
from penstock.errors import CutOffError
from penstock.spec.interfaces import Subscriber

CONCURRENCY = 16
"""How many elements are worked on at a time where that is not said."""


class PassedOn(Enum):
    """What is passed on of an element that was worked on."""

    RESULT = "what the function gives"
    IF_TRUE = "the element, if what the function gives is true"
    ELEMENT = "the element"


class Working(Protocol):
    """A step that has its elements worked on."""

    @property
    def fn(self) -> Callable[[Any], Awaitable[Any]]:
        """Return the asynchronous function."""
        ...

    @property
    def concurrency(self) -> int:
        """Return how many elements are worked on at a time."""
        ...


class _Job:
    """An element on its way to a result."""

    __slots__ = ("done", "element", "error", "futile", "key", "result")

    def __init__(self, element: Any) -> None:
        self.element = element
        self.key: Hashable = None
        self.done = False
        self.futile = False
        """Whether nothing can come of it any more, since one before it has failed."""
        self.result: Any = None
        self.error: Exception | None = None


class AsyncWork(Queued):
    """A run that feeds up to `concurrency` workers, each a task that goes on while there are jobs.

    Jobs are added on any thread; everything else happens on the loop's thread, so it needs no lock. A worker that has
    finished a job takes the next one at once: `_ready` holds those. Results are delivered together, once per turn of
    the loop. `_line` holds jobs in the order of their results, `_waiting` those whose key is being worked on. Upstream
    is asked for twice `concurrency` at first and then for as many as were delivered.
    """

    def __init__(
        self,
        step: Working,
        passed_on: PassedOn,
        downstream: Subscriber[Any],
        *,
        ordered: bool = True,
        key: Callable[[Any], Hashable] | None = None,
    ) -> None:
        super().__init__(downstream, 2 * step.concurrency)
        self._step: Any = step
        self._ordered = ordered
        self._key = key
        self._passed_on = passed_on
        self._lease: AnyLoop = lease_loop()
        self._unwatch: Callable[[], object] | None = None
        """What says that the loop may be closed without a word to this run, once there is work on it."""
        self._arrivals: deque[_Job] = deque()
        self._ready: deque[_Job] = deque()
        self._line: deque[_Job] = deque()
        self._waiting: dict[Hashable, deque[_Job]] = {}
        self._tasks: set[Task] = set()
        self._unfinished = 0
        self._done = False
        """Whether upstream has ended."""
        self._failure: Exception | None = None
        """What it failed with."""
        self._failed = False
        """Whether work has failed, so that nothing behind it is begun."""
        self._stopped = False
        self._left = False
        self._admitting = False
        self._flushing = False
        self.outlet.on_taken = self.request  # for each, since others are left out on the loop meanwhile
        self.outlet.also_held = lambda: len(self._arrivals) + self._unfinished
        self.outlet.most_held = lambda: 2 * self._step.concurrency

    # Signals from upstream, on any thread.

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        self._arrivals.append(_Job(element))
        if not self._admitting:
            self._wake()

    def ended(self, error: Exception | None, /) -> None:
        self._failure = error  # told behind the results of what came before it
        self._done = True
        self._wake()

    def _wake(self) -> None:
        """Have the arrivals admitted; the word is taken back before they are looked at, so none is forgotten."""
        self._admitting = True
        self._lease.send(self._admit, self._lost)

    def _lost(self) -> None:
        failure, self._failure = self._failure, None  # a failure that waits is told instead
        self.outlet.fail_now(failure or loop_ended())

    def requested(self, _: int, /) -> None:
        """Ask for the first elements when downstream asks for the first result."""
        if not self.begun:
            self.begin()

    # The rest, on the loop's thread.

    def _admit(self) -> None:
        """Sort arrivals into jobs that can start and jobs whose key is busy, and start workers for them."""
        self._admitting = False
        key = self._key
        while self._arrivals:
            job = self._arrivals.popleft()
            if self._stopped or self._failed:
                continue
            self._unfinished += 1
            if self._ordered:
                self._line.append(job)
            if key is None:
                self._ready.append(job)
            else:
                self._admit_by_key(job, key)
        if self._unwatch is None and self._ready:
            self._unwatch = self._lease.watch(self._lost)
        for _ in range(min(len(self._ready), self._step.concurrency - len(self._tasks))):
            task = self._lease.spawn(self._work(), lambda: self.outlet.closed)
            self._tasks.add(task)
            task.add_done_callback(self._over)
        self._end_if_done()

    def _admit_by_key(self, job: _Job, key: Callable[[Any], Hashable]) -> None:
        try:
            with interrupts_told(self.outlet.fail_now):
                job.key = key(job.element)
                queue = self._waiting.get(job.key)
        except Exception as error:  # noqa: BLE001  rule 1.4
            job.error = no_stop(error, f"{describe(self._step)}: the key function")
            note_on(job.error, f"in {describe(self._step)}, key {function_name(key)}{place_of(key)}")
            self._finished(job)
            return
        if queue is None:
            self._waiting[job.key] = deque()
            self._ready.append(job)
        else:
            queue.append(job)

    async def _work(self) -> None:
        on_its_own()
        fn, by_key, ready = self._step.fn, self._key is not None, self._ready
        passed_on = self._passed_on
        while ready and not self._stopped:
            job = ready.popleft()
            if self._failed and (job.futile or not self._ordered):
                continue
            try:
                awaitable = fn(job.element)
                if not hasattr(awaitable, "__await__"):
                    raise TypeError(f"{operator_name(self._step)}: fn must return an awaitable, got {awaitable!r}")
                result = await awaitable
                if passed_on is PassedOn.RESULT:
                    if result is None:
                        raise TypeError(
                            "rule 2.13: None is not an element; let the function return something, or say "
                            "for_each(fn, concurrency=n) where there is nothing to return"
                        )
                    job.result = result
                elif passed_on is PassedOn.ELEMENT or result:
                    job.result = job.element
            except Exception as error:  # noqa: BLE001  rule 1.4
                job.error = blamed(error, self._step, fn)
            if self._stopped:
                too_late(job.error)
                return
            if by_key:
                self._free_key(job.key)
            self._finished(job)

    def _free_key(self, key: Hashable) -> None:
        queue = self._waiting[key]
        if queue:
            self._ready.append(queue.popleft())
        else:
            del self._waiting[key]

    def _finished(self, job: _Job) -> None:
        """Have the result delivered in this turn of the loop."""
        job.done = True
        if not self._ordered:
            self._line.append(job)
        if job.error is not None:
            self._failed = True
            for behind in takewhile(lambda other: other is not job, reversed(self._line)):
                behind.futile = True
        if not self._flushing:
            self._flushing = True
            self._lease.call(self._flush)

    def _flush(self) -> None:
        """Deliver what is finished, up to the first failure."""
        self._flushing = False
        line, results = self._line, self.outlet.queue
        failure: Exception | None = None
        left_out = 0
        while line and line[0].done and not self._stopped:
            job = line.popleft()
            self._unfinished -= 1
            if job.error is not None:
                failure = job.error
                self._stop()
            elif job.result is None:  # a predicate was false
                left_out += 1
            else:
                results.append(job.result)
        if failure is not None:
            self.outlet.complete(failure)
            return
        # Delivering makes room, and upstream may fill it at once: admit all of that together.
        self._admitting = True
        if left_out:
            self.request(left_out)
        self.outlet.wake()
        self._admit()

    def _end_if_done(self) -> None:
        if not self._done or not (self._stopped or (not self._unfinished and not self._arrivals)):
            return
        failure, self._failure = self._failure, None  # rule 3.13: its frames know what follows
        if self._stopped:
            too_late(failure)
        else:
            self._stopped = True
            self.outlet.complete(failure)

    def _over(self, task: Task) -> None:
        self._tasks.discard(task)
        failure = None if task.cancelled() else task.exception()
        if not self._stopped and (task.cancelled() or failure is not None):
            self._stop()
            cancelled = CutOffError(f"{describe(self._step)}: the work under way was cancelled")
            if failure is not None or not self.outlet.closed:  # else the subscriber has cancelled, too
                self.outlet.complete(cancelled if failure is None else interruption(failure))
        elif not self._stopped and self._ready:
            self._admit()  # a key was freed while this worker was leaving
        self._release_if_idle()

    def _stop(self) -> None:
        """Start nothing more and cancel what is under way; failures that wait behind other results go to the hook."""
        self._stopped = True
        self.cancel()
        for job in self._line:
            too_late(job.error)
        for task in list(self._tasks):
            task.cancel()
        for jobs in (self._arrivals, self._ready, self._line, self._waiting):
            jobs.clear()
        self._end_if_done()

    def _release_if_idle(self) -> None:
        if self._left and not self._tasks:
            self._lease.release()

    # The end, from any thread.

    def closed(self) -> None:
        self._lease.call(self._let_go)

    def _let_go(self) -> None:
        if not self._stopped:
            self._stop()
        if self._unwatch is not None:
            self._unwatch()
        self._left = True
        self._release_if_idle()


__all__ = ["CONCURRENCY", "AsyncWork", "PassedOn"]
