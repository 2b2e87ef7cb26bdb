"""timekeeping: the time of a bucket of keys, and when each of its keys is to be woken; Spark keeps both.

The time comes with the rows, from a source beside them whose offsets hold it (`stages/ends.py`). So a micro-batch that
has to be done again has the same time again, and the same rows come of it. Spark's own timers are not used: a query
with them goes on for ever with empty micro-batches, and gets the rows of a micro-batch before what was due already.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import DoubleType, StringType, StructField, StructType

_KEY = StructType([StructField("key", StringType(), False)])
_DUE = StructType([StructField("due", DoubleType(), False)])
_CLOCK = StructType([StructField("now", DoubleType(), False), StructField("due", DoubleType(), True)])
_TIME = struct.Struct("<d")


def written_time(seconds: float) -> bytes:
    """Return a time as what takes the place of rows; no rows are as short."""
    return _TIME.pack(seconds)


def read_time(data: bytes) -> float | None:
    """Return the time that takes the place of rows; None if they are rows."""
    return float(_TIME.unpack(data)[0]) if len(data) == _TIME.size else None


class Timekeeper:
    """The time of the bucket whose turn it is, and its keys that wait."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._clock = handle.getValueState("clock", _CLOCK)
        self._dues = handle.getMapState("dues", _KEY, _DUE)
        self.now = 0.0
        self._before: tuple[float, float | None] | None = None
        self._first: float | None = None
        """When the first of the keys is due, or earlier than that."""

    def begin(self, told: float | None) -> None:
        """Take up a bucket; without a word about the time it is what it was."""
        found: Any = self._clock.get()
        self._before = None if found is None else (found[0], found[1])
        self.now, self._first = self._before or (0.0, None)
        if told is not None:
            self.now = max(self.now, told)  # a clock that is set back does not take the time back

    @property
    def first(self) -> float | None:
        """Return when the first of the keys is due, or earlier than that; None if none is."""
        return self._first

    def due(self) -> Iterator[str]:
        """Return the keys whose time has come; those that wait on have to be noted before the bucket is left."""
        if self._first is None or self._first > self.now:
            return
        waiting = [(str(key[0]), float(due[0])) for key, due in self._dues.iterator()]
        self._first = min((due for _, due in waiting if due > self.now), default=None)
        yield from (key for _, key in sorted((due, key) for key, due in waiting if due <= self.now))

    def note(self, key: str, before: float | None, due: float | None) -> None:
        """Know that a key is due then, and no longer when it was before."""
        if due is None:
            if before is not None:
                self._dues.removeKey((key,))
            return
        if due != before:
            self._dues.updateValue((key,), (due,))
        self._first = due if self._first is None else min(self._first, due)

    def forget(self) -> None:
        """Wake no key of the bucket any more."""
        self._first = None
        self._dues.clear()

    def leave(self) -> None:
        """Let Spark keep the time of the bucket."""
        if (self.now, self._first) != self._before:
            self._clock.update((self.now, self._first))


__all__ = ["Timekeeper", "read_time", "written_time"]
