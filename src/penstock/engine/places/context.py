"""context: let the contextvars of a subscriber travel with its subscription.

A run leaves its subscriber's thread or task in a few places only: a worker, a clock, an event loop, an emitter, a hub.
Each of them keeps a copy of the context that it was made in, which is that of the subscriber or one that was carried
there before, and runs what it is given in a copy of that copy. A copy costs as much as a call, and two copies are never
in each other's way, whereas one context cannot be entered twice. Elements that are passed on within one thread change
no context, so nothing is paid for them.
"""

from __future__ import annotations

from contextvars import Context, copy_context
from functools import partial

from penstock.engine.places.executors import Executor, Task, Worker
from penstock.engine.words.dropped import attempt


def carried(task: Task) -> Task:
    """Return the task, to be called once, in the context of here and now."""
    return partial(copy_context().run, task)


class _Carrying:
    """A worker that runs tasks on another worker, in the context that this one was made in."""

    __slots__ = ("_context", "_worker")

    def __init__(self, worker: Worker) -> None:
        self._context = copy_context()
        self._worker = worker

    def close(self) -> None:
        attempt("a worker raised when it was closed", self._worker.close)  # the end is told all the same

    def submit(self, task: Task, /) -> None:
        self._worker.submit(partial(run_in, self._context, task))


def run_in(context: Context, task: Task) -> None:
    """Run a task in a copy of a context, which may be in use meanwhile."""
    context.copy().run(task)


def alike(one: Context, other: Context | None) -> bool:
    """Tell whether two contexts hold the very same, so that nothing has to be carried from one to the other."""
    if other is None or len(one) != len(other):
        return False
    return all(other.get(variable, one) is value for variable, value in one.items())


def worker_of(executor: Executor) -> Worker:
    """Return a new worker for one run, which works in the context of this call."""
    return _Carrying(executor.worker())
