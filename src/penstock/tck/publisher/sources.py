"""sources: iterables of the kit's own that count what is done to them, wait at a gate, or fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from penstock.tck.planned import PlannedFailure


class CountedSource:
    """An iterable of the numbers from 0, which can be read any number of times."""

    def __init__(
        self,
        *,
        fails_after: int | None = None,
        fails_to_open: bool = False,
        fails_to_close: bool = False,
        gate: threading.Event | None = None,
        on_wait: Callable[[], object] = lambda: None,
    ) -> None:
        self.opens = 0
        self.pulls = 0
        self.closes = 0
        self.fails_after = fails_after
        self.fails_to_open = fails_to_open
        self.fails_to_close = fails_to_close
        self.gate = gate
        self.on_wait = on_wait
        self.waiting = threading.Event()

    def __iter__(self) -> Iterator[int]:
        if self.fails_to_open:
            raise PlannedFailure("planned to fail in __iter__")
        self.opens += 1
        return _Reading(self)


class _Reading:
    """An iterator that reads a source once."""

    def __init__(self, source: CountedSource) -> None:
        self._source = source
        self._next = 0
        self._closed = False

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        source = self._source
        source.pulls += 1
        if source.gate is not None:
            source.waiting.set()
            source.on_wait()
            source.gate.wait()
        if self._next == source.fails_after:
            raise PlannedFailure(f"planned to fail after {source.fails_after} elements")
        self._next += 1
        return self._next - 1

    def close(self) -> None:
        """Count that the reader let go of the source."""
        self._source.closes += 1
        if self._source.fails_to_close:
            raise PlannedFailure("planned to fail in close")
