"""noting: which tasks were spawned for a loop that waits for their end when it is left.

An `async for` notes the tasks of the runs that it starts, on its own event loop alone: no task can wait for one of
another loop. It waits for those that are over. A run that others take part in, as in that of `share` or of a group,
goes on without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


def trio_runs() -> bool:
    """Tell whether this thread is inside a run of trio, without importing it."""
    inside = getattr(getattr(sys.modules.get("trio"), "lowlevel", None), "in_trio_run", None)
    return inside is not None and inside()


def asyncio_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop of asyncio that runs in this thread, or None."""
    # While another thread imports asyncio, the module is there and has nothing in it yet.
    found = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    return None if found is None else found()


def _here() -> object:
    """Return what stands for the event loop that runs here, or None."""
    return sys.modules["trio"].lowlevel.current_trio_token() if trio_runs() else asyncio_loop()


Tasks = dict[Any, Callable[[], bool]]
"""Tasks that have not ended, and what tells whether each has nothing left to do but to end."""

_noted: ContextVar[tuple[object, Tasks] | None] = ContextVar("penstock_spawned", default=None)


@contextmanager
def spawning(tasks: Tasks) -> Iterator[None]:
    """Note in `tasks` what runs started here spawn on the running loop, so that the caller can wait for their end."""
    token = _noted.set((_here(), tasks))
    try:
        yield
    finally:
        _noted.reset(token)


def noted_in(tasks: Tasks) -> None:
    """Note in `tasks` what is spawned in this context from now on, on the loop that runs here."""
    _noted.set((_here(), tasks))


def on_its_own() -> None:
    """Say that what this task starts from now on is a user's own, and not noted."""
    _noted.set(None)


def noted_on(loop: object) -> Tasks | None:
    """Return where to note tasks of a loop, or of trio's run by its token, that are spawned in this context."""
    home, tasks = _noted.get() or (None, None)
    return tasks if home is loop else None


def note(tasks: Tasks | None, task: Any, over: Callable[[], bool]) -> None:
    """Note a task until it has ended."""
    if tasks is not None:
        tasks[task] = over
        task.add_done_callback(tasks.pop)


def ending(tasks: Tasks) -> list[Any]:
    """Return the tasks that have nothing left to do but to end."""
    return [task for task, over in tasks.items() if over()]


def surely() -> bool:
    """Tell that a task comes to its end by itself."""
    return True


__all__ = [
    "Tasks",
    "asyncio_loop",
    "ending",
    "note",
    "noted_in",
    "noted_on",
    "on_its_own",
    "spawning",
    "surely",
    "trio_runs",
]
