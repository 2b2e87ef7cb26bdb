"""task_failures: hear of the exceptions of a job's tasks, sooner than Spark would tell."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.engine.words.dropped import drop
from penstock.spark.wire import failure
from penstock.spark.wire.gate import DoorAddress, Message, whole

OURS = "mdc.penstock"
"""The local property by which a log knows tasks whose exceptions are raised here; see session/log4j2.properties."""
_STARTED = "penstock.query"
"""The same of a query whose name is the user's, known by the thread that has started it."""


def most_failures(context: Any) -> int:
    """Return how often Spark runs a task before it gives up."""
    master = str(context.master)
    if master.startswith("local") and not master.startswith("local-cluster"):
        found = re.fullmatch(r"local\[[^,\]]+,\s*(\d+)\]", master)
        return int(found[1]) if found else 1
    return int(context.getConf().get("spark.task.maxFailures", "4"))


def report_to(context: Any, address: DoorAddress) -> None:
    """Say on behalf of this thread's jobs where their tasks report exceptions."""
    context.setLocalProperty(failure.URI, address.uri)
    context.setLocalProperty(failure.TOKEN, address.token)
    context.setLocalProperty(failure.DOOR, address.door)
    context.setLocalProperty(failure.ROOTS, address.roots or "")
    context.setLocalProperty(OURS, "1")


@contextmanager
def raised_here(context: Any) -> Iterator[None]:
    """Let a query that is started meanwhile not log why it fails, since that is raised by this process."""
    known = context._jvm.org.slf4j.MDC
    known.put(_STARTED, "1")
    try:
        yield
    finally:
        known.remove(_STARTED)


class TaskFailures:
    """The exceptions of a job's tasks, heard before Spark tells, and which of them fails the job."""

    def __init__(self, context: Any, fail: Callable[[Exception], None]) -> None:
        self._context = context
        self._fail = fail
        self._lock = threading.Lock()
        self._heard: Counter[tuple[int, int]] = Counter()
        self.last: failure.ExecutorError | None = None

    def hear(self, body: Message) -> None:
        """Fail if Spark would not run the task again; else end this attempt at once, so that the next may begin."""
        error = failure.rebuilt(body)
        where = (whole(body, "stage"), whole(body, "partition"))
        with self._lock:
            self.last = error
            self._heard[where] += 1
            final = self._heard[where] >= most_failures(self._context)
        if final:
            self._fail(error)
            return
        # Spark itself notices only once it has fed the task the rest of its partition.
        task = whole(body, "task")
        threading.Thread(target=self._kill, args=(task,), name="penstock-kill-task", daemon=True).start()

    def _kill(self, task: int) -> None:
        try:
            self._context._jsc.sc().killTaskAttempt(task, True, "penstock: the task reported an exception")
        except Exception as error:  # noqa: BLE001  the task ends by itself, only later
            drop("job: a failed task could not be ended early", error)


__all__ = ["TaskFailures", "most_failures", "raised_here", "report_to"]
