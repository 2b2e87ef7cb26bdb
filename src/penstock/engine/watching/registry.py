"""registry: numbers by name, counted by `metrics` and read by the program that exports them."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.resident import by_name


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted under one name, in all runs together."""

    runs: int = 0
    running: int = 0
    requested: int = 0
    delivered: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0


class Tally:
    """The count of one run; only the run itself writes, so it needs no lock."""

    __slots__ = ("_registry", "delivered", "name", "requested")

    def __init__(self, registry: Registry, name: str) -> None:
        self._registry = registry
        self.name = name
        self.requested = 0
        self.delivered = 0

    def completed(self) -> None:
        """Say that the run is over, as it should be."""
        self._registry.end(self, completed=1)

    def failed(self) -> None:
        """Say that the run has failed."""
        self._registry.end(self, failed=1)

    def cancelled(self) -> None:
        """Say that the subscriber cancelled the run."""
        self._registry.end(self, cancelled=1)


class Registry:
    """The numbers of every name; runs under way are counted as they go."""

    __slots__ = ("__weakref__", "_lock", "_over", "_running")

    def __init__(self) -> None:
        self._lock = Lock()
        self._over: dict[str, Counted] = {}
        self._running: dict[Tally, None] = {}

    def begin(self, name: str) -> Tally:
        """Return what counts one run.

        Args:
            name: The name under which it is counted.
        """
        tally = Tally(self, name)
        with self._lock:
            self._over.setdefault(name, Counted())
            self._running[tally] = None
        return tally

    def end(self, tally: Tally, *, completed: int = 0, failed: int = 0, cancelled: int = 0) -> None:
        """Keep the numbers of a run that is over, once.

        Args:
            tally: What has counted the run.
            completed: 1 if it completed.
            failed: 1 if it failed.
            cancelled: 1 if it was cancelled.
        """
        with self._lock:
            if tally in self._running:
                del self._running[tally]
                known = self._over[tally.name]
                self._over[tally.name] = _with(known, tally, 0, completed, failed, cancelled)

    def read(self) -> dict[str, Counted]:
        """Return the numbers of every name."""
        with self._lock:
            found = dict(self._over)
            for tally in self._running:
                found[tally.name] = _with(found[tally.name], tally, 1, 0, 0, 0)
        return found

    def __getitem__(self, name: str) -> Counted:
        return self.read()[name]

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "REGISTRY" if self is REGISTRY else by_name(self)


def _with(known: Counted, tally: Tally, running: int, completed: int, failed: int, cancelled: int) -> Counted:
    return Counted(
        known.runs + 1,
        known.running + running,
        min(known.requested + max(tally.requested, tally.delivered), UNBOUNDED),
        known.delivered + tally.delivered,
        known.completed + completed,
        known.failed + failed,
        known.cancelled + cancelled,
    )


REGISTRY = Registry()
"""The registry that `metrics` counts into unless another is given."""
