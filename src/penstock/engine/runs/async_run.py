"""async_run: deliver an asynchronous iterator's elements under demand, from a task on an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.grounds.cold_paths import interruption, left_alone, rejected
from penstock.engine.places.event_loops import AnyLoop, Future, Task, lease_loop, loop_ended
from penstock.engine.runs.drain import BATCH, DrainRun
from penstock.engine.weaving.segment import Segment
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.dropped import drop
from penstock.spec.interfaces import Subscriber
from penstock.stage import AsyncOpener, LeftLoop


class AsyncRun(DrainRun):
    """A subscription to an asynchronous source, drained by a task that starts with the first request.

    It is `_draining` unless there is no task or the task waits for demand.
    """

    __slots__ = ("_closing", "_lease", "_raised_above", "_started", "_task", "_unwatch", "_waiting")

    def __init__(self, segment: Segment, opener: AsyncOpener[Any], subscriber: Subscriber[Any]) -> None:
        super().__init__(segment, opener, None, subscriber)  # type: ignore[arg-type]
        self._lease: AnyLoop | None = None
        self._started = False
        self._closing = False
        self._raised_above = False
        self._task: Task | None = None
        self._unwatch: Callable[[], object] = bool
        """What says that the loop may be closed without a word to this run."""
        self._waiting: Future | None = None

    def start(self) -> None:
        """Signal `on_subscribe`, then start the task if there is demand."""
        self._lease = self._lease or lease_loop()
        super().start()

    def _abandon(self, *, silently: bool = True) -> None:
        """Be over behind a subscriber that raised in `on_subscribe`."""
        super()._abandon(silently=silently)
        if self._lease is not None:
            self._lease.release()

    def _drain(self) -> None:
        """Start the task or wake it, if there is anything to do."""
        with self._lock:
            self._started = True
            self._draining = bool(self._demand or self._gate.over)
            lease = self._lease if self._draining else None
        if lease is not None:
            lease.send(self._advance, self._lost)

    def _end(self, failure: Exception | None) -> None:
        """Be over, with the error of an illegal request (rule 3.9) or without a signal."""
        with self._lock:
            if self._gate.over:
                return  # rule 3.7
            self._gate.over = True
            self._failure = failure
            lease = self._lease if self._started else None
        if lease is not None:
            lease.send(self._interrupt, self._lost)

    def _lost(self) -> None:
        """End the run here, since the loop has ended."""
        self._finish(self._cut_short())

    def _advance(self) -> None:
        """Start the task or wake it; on the loop's thread."""
        if self._task is None:
            if self._subscriber is not None and self._lease is not None:
                self._unwatch = self._lease.watch(self._lost)
                self._task = self._lease.spawn(self._iterate(), lambda: self._gate.over)
                self._task.add_done_callback(self._left)
        elif self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _interrupt(self) -> None:
        """End the task wherever it waits; on the loop's thread."""
        if self._task is None:
            self._finish(None)
        elif self._waiting is not None:  # for demand, and not inside the source
            self._advance()
        elif not self._closing:  # a source may wait for something while it closes
            self._task.cancel()

    async def _take_demand(self) -> int:
        """Wait for demand and take a batch of it; nothing once the run is over."""
        while not self._gate.over:
            with self._lock:
                demand = self._demand
                todo = demand if demand < BATCH else BATCH
                if demand < UNBOUNDED:
                    self._demand = demand - todo
                self._draining = todo > 0
            if todo:
                return todo
            assert self._lease is not None
            self._waiting = self._lease.future()  # which is set on this thread, so not before this waits for it
            await self._waiting
            self._waiting = None
        return 0

    async def _iterate(self) -> None:
        lease = self._lease
        assert lease is not None
        error: Exception | None = None
        iterator: Any = None
        try:
            todo = await self._take_demand()
            opener: Any = self._opener
            subscriber = self._subscriber
            assert subscriber is not None
            if todo:
                iterator = self._segment.open_async(opener, self._gate)
                async for element in iterator:
                    if self._gate.over:
                        break  # a source may keep the cancel to itself
                    if not todo:  # this one came when the end was looked for
                        todo = await self._take_demand()
                        if not todo:
                            break
                    try:
                        subscriber.on_next(element)
                    except Exception as failure:  # noqa: BLE001  rule 2.13
                        self._gate.over = True
                        rejected("on_next", failure)
                        left_alone(subscriber)
                    todo -= 1
                    if self._gate.over:
                        break
                    if not todo and not self._gate.spent():  # once it is, the loop goes on to its end
                        todo = await self._take_demand()
                        if not todo:
                            break
        except LeftLoop:
            pass
        except GeneratorExit:
            if lease.closed:  # so nothing can be awaited any more; else a user's function has raised it
                iterator = None
            raise
        except lease.cancelled as cut:
            told = self._task is None or self._task.cancelling() or self._gate.over
            error = self._cut_short() if told else interruption(cut)
        except Exception as failure:  # noqa: BLE001  rule 1.4
            error = failure
        finally:
            self._closing = True
            self._raised_above = getattr(iterator, "ag_frame", self) is None
            if iterator is not None:
                try:
                    await iterator.aclose()
                except Exception as failure:  # noqa: BLE001  the end has been decided already
                    drop("the source failed to close", failure)
        self._finish(error)

    def _cut_short(self) -> Exception | None:
        """Return the error for a task that was cancelled, and not by this run."""
        return None if self._gate.over else loop_ended()

    def _left(self, task: Task) -> None:
        """End the run behind a task that was cancelled before its first step or while it closed, or was interrupted."""
        interrupt = None if task.cancelled() else task.exception()
        if interrupt is None:
            self._finish(self._cut_short())
        elif self._raised_above:
            self._finish(interruption(interrupt))
        else:
            self._gate.over = True  # it came from the subscriber, so there is no other to tell
            left_alone(self._subscriber, interrupt)
            self._finish(None)

    def _finish(self, error: Exception | None) -> None:
        with self._lock:  # where the loop has ended, any thread may come here
            lease, self._lease, self._task = self._lease, None, None
        if lease is not None:  # else the task has come to its end before it left
            self._unwatch()
            try:
                super()._finish(error)
            finally:
                lease.release()  # after the signal, since the subscriber may go on with another run on this loop
