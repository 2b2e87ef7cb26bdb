"""session: what all runs of a check have in common: one event loop, one way to wait, one look at what is left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from typing import Any

from penstock.engine.places.event_loops import blocking, lease_loop
from penstock.engine.words.dropped import Dropped, set_on_dropped
from penstock.testing.laws.forms import UpstreamError
from penstock.testing.signals import PATIENCE

_PAUSE = 0.001


class Session:
    """The event loops of a check: all asynchronous runs use one, and none starts its own.

    Failures of an upstream that come too late are part of the laws; the hook for what is dropped is not told of them.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._asyncio: Any = import_module("asyncio")
        self._runner = self._asyncio.Runner()

    def __enter__(self) -> Session:
        with blocking():
            self._lease = lease_loop()
        self._threads = set(threading.enumerate())
        self._hook = set_on_dropped(self._drop)
        return self

    def __exit__(self, *exc: object) -> None:
        set_on_dropped(self._hook)
        self._lease.release()
        self._runner.close()

    def _drop(self, dropped: Dropped) -> None:
        if not isinstance(dropped.error, UpstreamError):
            self._hook(dropped)

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine on a loop of this thread."""
        return self._runner.run(coroutine)

    def comes(self, reached: Callable[[], object]) -> bool:
        """Wait until a condition holds that nothing announces; tell whether it does."""
        until = monotonic() + self.patience
        pause = threading.Event()
        while not reached():
            if monotonic() > until:
                return False
            pause.wait(_PAUSE)
        return True

    def left(self) -> str:
        """Wait until no thread and no task of the runs is left; say which ones do not end."""
        if not self.comes(lambda: not self._new_threads()):
            return f"the threads {sorted(self._new_threads())} were left running"
        if not self.comes(lambda: not self._tasks()):
            return f"the tasks {self._tasks()} were left on the event loop"
        return ""

    def _new_threads(self) -> list[str]:
        return [one.name for one in threading.enumerate() if one not in self._threads and "penstock" in one.name]

    def _tasks(self) -> list[str]:
        names: list[str] = []
        seen = threading.Event()

        def look() -> None:
            names.extend(str(task.get_coro()) for task in self._asyncio.all_tasks())
            seen.set()

        self._lease.call(look)
        seen.wait(self.patience)
        return names
