"""registry: numbers by name, counted by `metrics` and read by the program that exports them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal

from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.resident import by_name

Outcome = Literal["completed", "failed", "cancelled"]


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


@dataclass(slots=True, eq=False)
class Tally:
    """The count of one run; only the run itself writes, so it needs no lock."""

    registry: Registry
    name: str
    requested: int = 0
    delivered: int = 0

    def end(self, outcome: Outcome) -> None:
        """Say that the run is over; only the first outcome that is said counts."""
        self.registry.end(self, outcome)


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

    def end(self, tally: Tally, outcome: Outcome) -> None:
        """Keep the numbers of a run that is over, once.

        Args:
            tally: What has counted the run.
            outcome: How it ended.
        """
        with self._lock:
            if tally in self._running:
                del self._running[tally]
                self._over[tally.name] = _with(self._over[tally.name], tally, outcome)

    def read(self) -> dict[str, Counted]:
        """Return the numbers of every name."""
        with self._lock:
            found = dict(self._over)
            for tally in self._running:
                found[tally.name] = _with(found[tally.name], tally, "running")
        return found

    def __getitem__(self, name: str) -> Counted:
        return self.read()[name]

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "REGISTRY" if self is REGISTRY else by_name(self)


def _with(known: Counted, tally: Tally, state: str) -> Counted:
    return replace(
        known,
        runs=known.runs + 1,
        requested=min(known.requested + max(tally.requested, tally.delivered), UNBOUNDED),
        delivered=known.delivered + tally.delivered,
        **{state: getattr(known, state) + 1},
    )


REGISTRY = Registry()
"""The registry that `metrics` counts into unless another is given."""
