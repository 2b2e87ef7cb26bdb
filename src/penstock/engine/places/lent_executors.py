"""lent_executors: executors of other libraries: those of concurrent.futures, and asyncio's loops.

They are recognised without importing either library: an object of one is only there when the program has imported it.
A pool of processes is refused, since what runs there shares nothing with the run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from penstock.engine.places.errand import put_to
from penstock.engine.places.executors import Executor, LoopWorker, SerialWorker, Task, Worker
from penstock.engine.places.threads import started
from penstock.engine.words.arguments import stays_here

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

    AnyExecutor: TypeAlias = Executor | concurrent.futures.Executor | asyncio.AbstractEventLoop
else:
    AnyExecutor = Executor  # neither library is imported for the sake of a name


def executor_given(operator: str, given: object) -> Executor:
    """Return what was given as an executor, or refuse it."""
    if isinstance(given, Executor):
        return given
    if _is_a(given, "concurrent.futures", "ProcessPoolExecutor"):
        raise TypeError(
            f"{operator}: executor must run in this process, got {given!r}; use a ThreadPoolExecutor, or run the whole "
            "pipeline in other processes"
        )
    if _is_a(given, "concurrent.futures", "Executor"):
        return Lent(given)
    if _is_a(given, "asyncio", "AbstractEventLoop"):
        return GivenLoop(given)
    raise TypeError(
        f"{operator}: executor must be an Executor, got {given!r}; thread(), pool(size), loop() and inline() make one"
    )


def _is_a(given: object, library: str, name: str) -> bool:
    """Tell whether something is of a class, if its library was imported at all."""
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(given, kind)


@dataclass(frozen=True, slots=True)
class Lent:
    """A concurrent.futures.Executor whose threads runs may use; it stays its owner's to shut down."""

    executor: Any

    def worker(self) -> Worker:
        """Return a worker that borrows a thread whenever it has something to do."""
        return SerialWorker(self._borrow)

    def __reduce__(self) -> NoReturn:
        raise stays_here("publish_on", "an executor of yours", "its threads are here; thread() and pool(size) can")

    def _borrow(self, work: Task) -> None:
        self.executor.submit(work).add_done_callback(partial(_resumed, work))


def _resumed(work: Task, future: Any) -> None:
    """Do the work elsewhere if the executor was shut down before it came to it: a run must not wait for ever."""
    if future.cancelled():
        started(work, "penstock-thread")


@dataclass(frozen=True, slots=True)
class GivenLoop:
    """An asyncio loop of the user's, on which runs may work; it need not run yet."""

    loop: Any

    def worker(self) -> Worker:
        """Return a worker on this loop."""
        return LoopWorker(partial(put_to, self.loop), int)  # it stays its owner's to close

    def __reduce__(self) -> NoReturn:
        raise stays_here("publish_on", "an event loop of yours", "its thread is here; loop() can")
