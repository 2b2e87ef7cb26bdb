"""job: Spark's work for one stream, on a separate thread, which can be ended at once.

A task of such a job ends by itself as soon as its door says that the stream is over. It is not interrupted as long as
it may: Spark makes record batches outside the Java heap, and a task whose thread is interrupted while it writes one
never gives that memory back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.engine.words.dropped import drop
from penstock.spark.egress.task_failures import report_to
from penstock.spark.versions.callbacks import answered
from penstock.spark.wire.gate import DoorAddress

LOOK = 0.05
"""Seconds between two looks at the tasks of a job that was cancelled."""
GRACE = 2.0
"""Seconds for the tasks of a job that was cancelled to end before they are interrupted."""
PATIENCE = 10.0
"""Seconds for a job to end whose session has ended, and for tasks that were interrupted."""


class Job:
    """A Spark job on a separate thread, which can be ended at once."""

    def __init__(
        self, context: Any, address: DoorAddress, work: Callable[[], None], done: Callable[[Exception | None], None]
    ) -> None:
        self._context = context
        self._address = address
        self._work = work
        self._done = done
        self._tag = f"penstock-{address.door}"
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._begun = self._cancelled = self._ending = False
        self._afterwards: list[Callable[[], None]] = []

    def start(self) -> None:
        """Begin, unless it was cancelled."""
        with self._lock:
            self._begun = not self._cancelled
        if self._begun:
            threading.Thread(target=self._run, name="penstock-job", daemon=True).start()

    def _run(self) -> None:
        error: Exception | None = None
        try:
            if not self._cancelled:
                self._context.addJobTag(self._tag)
                self._context.setJobGroup(self._tag, "penstock: rows of a DataFrame", interruptOnCancel=False)
                report_to(self._context, self._address)
                with answered():
                    self._work()
        except Exception as raised:  # noqa: BLE001  it is delivered
            error = raised
        with self._lock:
            self._over.set()
            calls = self._left()
        for call in calls:
            call()
        self._done(error)

    def _left(self) -> list[Callable[[], None]]:
        """Return what is to be called now, if no task can be under way; hold the lock."""
        if self._ending or (self._begun and not self._over.is_set()):
            return []
        calls, self._afterwards = self._afterwards, []
        return calls

    def afterwards(self, call: Callable[[], None]) -> None:
        """Call something when the job and its tasks are over, or now if they are, or have not begun."""
        with self._lock:
            self._afterwards.append(call)
            calls = self._left()
        for one in calls:
            one()

    def cancel(self) -> None:
        """End the job; it is not waited for, since the caller may be any thread."""
        with self._lock:
            self._cancelled = True
            if self._ending or not self._begun or self._over.is_set():
                return
            self._ending = True
        threading.Thread(target=self._cancel, name="penstock-job-cancel", daemon=True).start()

    def _cancel(self) -> None:
        try:
            while not self._over.is_set():
                self._context.cancelJobsWithTag(self._tag)
                self._over.wait(LOOK)  # a job may also begin after it was cancelled: hence the loop
            self._end_tasks()
        except Exception as error:  # noqa: BLE001  a session that is being closed ends its jobs by itself
            if not self._over.wait(PATIENCE):
                drop("job: it could not be cancelled", error)
        with self._lock:
            self._ending = False
            calls = self._left()
        for call in calls:
            call()

    def _end_tasks(self) -> None:
        """Wait for the tasks, which outlive their job; interrupt those that are busy with something else for long."""
        pause = threading.Event()
        looks, interrupted = 0, False
        while stages := self._active():
            looks += 1
            if looks * LOOK >= GRACE and not interrupted:
                interrupted = True
                for stage in stages:
                    self._context._jsc.sc().taskScheduler().killTasks(stage, True, "penstock: the stream has ended")
            if looks * LOOK >= GRACE + PATIENCE:
                return
            pause.wait(LOOK)

    def _active(self) -> list[int]:
        """Return the stages that have tasks under way."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._tag)]
        stages = {stage: tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds}
        return [stage for stage, info in stages.items() if info is not None and info.numActiveTasks > 0]
