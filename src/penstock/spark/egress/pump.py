"""pump: make rows of record batches as a subscriber asks for them, a few hundred at a time.

It runs on the thread that asks or the one that brings a batch, one at a time. At most one batch is open; of its rows
those that are asked for exist, no others. The end waits for the rows before it: a batch that was taken may still be on
its way when the job is over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.engine.grounds.outlet import Outlet
from penstock.spark.egress.decoding import Decode

CHUNK = 512
"""Rows that are made at a time; so few that the garbage collector seldom finds them alive."""
_NO_ROW = object()


class Pump:
    """A mover of rows from a door to an outlet, while they are asked for."""

    def __init__(self, outlet: Outlet[Any], take: Callable[[], pa.RecordBatch | None], decode: Decode) -> None:
        outlet.chunk = CHUNK
        self._outlet = outlet
        self._take = take
        self._decode = decode
        self._lock = threading.Lock()
        self._busy = self._again = False
        self._rows: Iterator[Any] = iter(())
        """The rows of the batch that is open."""
        self._next: Any = _NO_ROW
        """The first of them that was not moved; by its absence the end is known without being asked for."""
        self._end: tuple[Exception | None] | None = None

    def end(self, error: Exception | None = None) -> None:
        """Say that no more batches come; the subscriber hears of it after the rows that were taken."""
        self._end = (error,)
        self.run()

    def run(self) -> None:
        """Move what is asked for, unless another thread does already."""
        with self._lock:
            self._again = True
            if self._busy:
                return
            self._busy = True
        while True:
            with self._lock:
                if not self._again:
                    self._busy = False
                    return
                self._again = False
            while self._move():
                pass

    def _move(self) -> bool:
        """Move some rows, or the end; tell whether there may be more to move."""
        outlet = self._outlet
        wanted = min(outlet.demand - len(outlet.queue), CHUNK)
        if wanted > 0 and not outlet.closed:
            try:
                rows = self._made(wanted)
            except Exception as error:  # noqa: BLE001  rule 1.4
                outlet.fail_now(error)
                return False
            if rows:
                outlet.queue.extend(rows)
                outlet.wake()
                return True
        if self._end is not None and self._next is _NO_ROW:
            (reason,), self._end = self._end, None
            outlet.complete(reason)
        return False

    def _made(self, count: int) -> list[Any]:
        """Make up to `count` rows, opening a batch if none is open."""
        while self._next is _NO_ROW:
            batch = self._take()
            if batch is None:
                return []
            self._rows = iter(self._decode(batch))
            self._next = next(self._rows, _NO_ROW)
        rows = [self._next, *islice(self._rows, count - 1)]
        self._next = next(self._rows, _NO_ROW)
        return rows
