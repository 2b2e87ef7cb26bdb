"""job: Spark's work for one stream, on a separate thread, which can be ended at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.engine.words.dropped import drop
from penstock.spark.egress.task_failures import report_to
from penstock.spark.wire.gate import DoorAddress

GRACE = 0.5
"""Seconds for Spark to end the tasks of a job that was cancelled."""
PATIENCE = 10.0
"""Seconds for a job to end whose session has ended."""


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
        self._begun = self._cancelled = False
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
                self._context.setInterruptOnCancel(True)
                report_to(self._context, self._address)
                self._work()
        except Exception as raised:  # noqa: BLE001  it is delivered
            error = raised
        with self._lock:
            self._over.set()
        for call in self._afterwards:
            call()
        self._done(error)

    def afterwards(self, call: Callable[[], None]) -> None:
        """Call something when the job is over, or now if it is, or has not begun."""
        with self._lock:
            under_way = self._begun and not self._over.is_set()
            if under_way:
                self._afterwards.append(call)
        if not under_way:
            call()

    def cancel(self, then: Callable[[], None]) -> None:
        """End the job, then call `then`; neither is waited for, since the caller may be any thread."""
        with self._lock:
            self._cancelled = True
            under_way = self._begun and not self._over.is_set()
        if under_way:
            threading.Thread(target=self._cancel, args=(then,), name="penstock-job-cancel", daemon=True).start()
        else:
            then()

    def _cancel(self, then: Callable[[], None]) -> None:
        try:
            while not self._over.is_set():
                self._context.cancelJobsWithTag(self._tag)
                # Spark logs nothing about a task that was killed, and a long failure of one that the door refuses, so
                # tasks get time to be killed first. A job may also begin after it was cancelled: hence the loop.
                if not self._over.wait(GRACE):
                    then()
        except Exception as error:  # noqa: BLE001  a session that is being closed ends its jobs by itself
            if not self._over.wait(PATIENCE):
                drop("job: it could not be cancelled", error)
        then()
