"""readers: the open parts of a partitioned stream, in the Python processes of executors.

A reader knows the number of its next row. The task that has read its rows leaves the reader behind, and the next task
of that part goes on with it, if it runs in the same process and needs the row at which the reader is; else it opens the
part again. So where a task runs decides what it costs, and never what it reads.

A `Cursor` reads what is known to be there, on the task's own thread; a `Lookout` finds out how far a part is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, Protocol

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.spark.partitions.positions import PartError, PartName
from penstock.spec.predicates import is_publisher
from penstock.stream import Stream

CHUNK = 500
"""Rows that are taken from an iterator at a time."""
KEPT_SECONDS = 60.0
"""How long a reader stays open that no task comes back for."""


Open = Callable[[Any, int], Any]
"""The user's function from a part and a position to the rows of the part from there on."""


class PartSight(NamedTuple):
    """How far a part is, and whether it has ended or failed there."""

    row: int
    ended: bool = False
    failed: bool = False


def opened(open: Open, part: PartName, row: int) -> Stream[Any]:  # noqa: A002  the word for it
    """Open a part at a row and return its stream."""
    given = open(part, row)
    if isinstance(given, Stream):
        return given
    if is_publisher(given):
        return Stream.from_publisher(given)
    if isinstance(given, Iterable):
        return Stream.from_iterable(given)
    if isinstance(given, AsyncIterable):
        return Stream.from_async_iterable(given)
    raise TypeError(f"partitioned: open must return a Stream or an iterable, got {given!r}")


class PartitionReader(Protocol):
    """An open part."""

    row: int
    """The number of the next row."""
    arrow: bool | None
    """Whether elements are record batches; None before the first."""

    def take(self, count: int) -> Iterator[list[Any]]:
        """Return exactly so many rows, in lists of rows or of record batches."""
        ...

    def close(self) -> None:
        """Let go of the part."""
        ...


def is_batch(element: object) -> bool:
    """Tell whether an element is a record batch."""
    return isinstance(element, pa.RecordBatch)


def early_end(part: PartName, row: int, end: int) -> PartError:
    """Return the error about a part that has fewer rows than were planned."""
    return PartError(
        f"partitioned: part {part!r} ended at row {row}, and rows up to {end} were planned;"
        " a part that is opened again at a row must give the same rows again"
    )


class Cursor:
    """A part that is iterated over, as far as is known to be there."""

    def __init__(self, open: Open, part: PartName, row: int, *, may_end: bool) -> None:  # noqa: A002
        self._part = part
        self._elements = iter(opened(open, part, row))
        self._may_end = may_end
        self._rest: Any = None
        """What is left of a record batch."""
        self.row = row
        self.arrow: bool | None = None
        self.ended = False

    def take(self, count: int) -> Iterator[list[Any]]:
        """Return exactly so many rows; fewer only where the part may end."""
        end = self.row + count
        while self.row < end:
            found = self._found(end)
            if not found:
                self.ended = True
                if self._may_end:
                    return
                raise early_end(self._part, self.row, end)
            self.row += found[0].num_rows if self.arrow else len(found)
            yield found

    def _found(self, end: int) -> list[Any]:
        """Return some rows, none of them beyond `end`; none at all where the part ends."""
        if self.arrow:
            return self._batch(end)
        # The first element tells whether elements are rows or batches of them.
        found = list(islice(self._elements, 1 if self.arrow is None else min(CHUNK, end - self.row)))
        if found and self.arrow is None:
            self.arrow = is_batch(found[0])
            if self.arrow:
                self._rest = found[0]
                return self._batch(end)
        return found

    def _batch(self, end: int) -> list[Any]:
        """Return one record batch that does not go beyond a row, or nothing at the end."""
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._elements, None)
            if self._rest is None:
                return []
        batch = self._rest.slice(0, end - self.row)
        self._rest = self._rest.slice(batch.num_rows)
        return [batch]

    def close(self) -> None:
        """Close the iterator."""
        close = getattr(self._elements, "close", None)
        if close is not None:
            close()


class KeptReaders:
    """The readers that tasks have left behind in this process."""

    def __init__(self, seconds: float = KEPT_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, PartName], tuple[float, PartitionReader]] = {}

    def claim(self, run: str, part: PartName, row: int) -> PartitionReader | None:
        """Return the reader that is at this row of a part, if it is here; close those that were left for long."""
        with self._lock:
            now = time.monotonic()
            _, mine = self._kept.pop((run, part), (0.0, None))
            old = [name for name, (since, _) in self._kept.items() if now - since > self._seconds]
            closing = [self._kept.pop(name)[1] for name in old]
            if mine is not None and mine.row != row:
                closing.append(mine)
                mine = None
        for reader in closing:
            reader.close()
        return mine

    def keep(self, run: str, part: PartName, reader: PartitionReader) -> None:
        """Leave a reader for the next task of its part."""
        with self._lock:
            _, other = self._kept.pop((run, part), (0.0, None))
            self._kept[run, part] = (time.monotonic(), reader)
        if other is not None and other is not reader:
            other.close()


KEPT = KeptReaders()

__all__ = ["KEPT", "Cursor", "KeptReaders", "Open", "PartSight", "PartitionReader", "early_end", "is_batch", "opened"]
