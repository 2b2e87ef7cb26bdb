"""tracked: an upstream for tests that says how many of its runs are still open."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Generic, TypeVar

from penstock.testing.signals import PATIENCE, VerificationError

T = TypeVar("T")


class Tracked(Generic[T]):
    """An iterable, and an asynchronous one, that counts its runs; it fails after its items if there is an error.

    >>> items = Tracked([1, 2])
    >>> run = iter(items)
    >>> next(run), items.opened, items.open_runs
    (1, 1, 1)
    >>> run.close()
    >>> items.open_runs
    0
    """

    def __init__(self, items: Sequence[T], error: Exception | None = None, *, patience: float = PATIENCE) -> None:
        self.items = items
        self.error = error
        self.patience = patience
        self.opened = 0
        self.closed = 0
        self.taken = 0
        """How many items all runs have given out."""
        self.requested = 0
        """How many items publishers over them were asked for."""
        self.changed = threading.Condition()

    @property
    def open_runs(self) -> int:
        """Return how many runs were opened and not closed."""
        return self.opened - self.closed

    def wait_until_closed(self) -> None:
        """Wait until every run that was opened is closed."""
        with self.changed:
            if not self.changed.wait_for(lambda: not self.open_runs, self.patience):
                raise VerificationError(f"tracked: {self.open_runs} runs of the upstream were left open")

    def __iter__(self) -> TrackedRun[T]:
        return TrackedRun(self)

    def __aiter__(self) -> TrackedAsyncRun[T]:
        return TrackedAsyncRun(self)


class TrackedRun(Iterator[T]):
    """A run over tracked items."""

    def __init__(self, tracked: Tracked[T]) -> None:
        self._tracked = tracked
        self._place = 0
        self._closed = False
        with tracked.changed:
            tracked.opened += 1

    def __next__(self) -> T:
        tracked = self._tracked
        if self._closed:
            raise StopIteration
        if self._place == len(tracked.items):
            if tracked.error is not None:
                raise tracked.error
            raise StopIteration
        self._place += 1
        with tracked.changed:
            tracked.taken += 1
        return tracked.items[self._place - 1]

    def close(self) -> None:
        """End the run."""
        if not self._closed:
            self._closed = True
            with self._tracked.changed:
                self._tracked.closed += 1
                self._tracked.changed.notify_all()


class TrackedAsyncRun(AsyncIterator[T]):
    """An asynchronous run over tracked items."""

    def __init__(self, tracked: Tracked[T]) -> None:
        self._run = TrackedRun(tracked)

    async def __anext__(self) -> T:
        try:
            return next(self._run)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """End the run."""
        self._run.close()
