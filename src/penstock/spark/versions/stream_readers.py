"""stream_readers: what Spark's planner asks the reader of a live stream.

Since 4.2 it says from where on, and how much it would take, and it tells a reader that the query is to end with the
stream. Before, it asks for the latest offset and says nothing: the reader has to remember what it has answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    SAYS_START = True
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxRows,
            SupportsTriggerAvailableNow,
        )

        SAYS_START = True
        """Whether the planner says from where on, and ends a query with its streams."""
    except ImportError:
        SAYS_START = False

        class ReadLimit:
            """How much the planner would take."""

        @dataclass
        class ReadAllAvailable(ReadLimit):
            """All there is."""

        @dataclass
        class ReadMaxRows(ReadLimit):
            """At most so many rows."""

            max_rows: int

        class SupportsTriggerAvailableNow(ABC):
            """A reader that can be told that the query is to end with the stream."""

            @abstractmethod
            def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
                """Take what is available to mean the whole stream, to its end."""


class RememberingReader(DataSourceStreamReader):
    """A reader for a planner that does not say from where on; it passes on what the last answer was."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._last: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return where a query without a checkpoint begins."""
        found: dict[str, Any] = self._reader.initialOffset()
        if self._last is None:
            self._last = found  # else Spark has asked for the latest offset first, and plans from the beginning to it
        return found

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802  pyright: ignore
        """Ask for what comes after the last answer."""
        start = self.initialOffset() if self._last is None else self._last
        found: dict[str, Any] = self._reader.latestOffset(start, ReadAllAvailable())
        self._last = found
        return found

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Plan a micro-batch; an empty one before any answer is how Spark tells a restarted query where it was."""
        told = self._last is None
        if told:
            self._last = end
        return [] if told and start == end else self._reader.partitions(start, end)

    def commit(self, end: dict[str, Any]) -> None:
        """Pass it on."""
        self._reader.commit(end)

    def stop(self) -> None:
        """Pass it on."""
        self._reader.stop()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read a part, in an executor."""
        return self._reader.read(partition)  # type: ignore[no-any-return]


def fitting(reader: Any, says_start: bool) -> DataSourceStreamReader:
    """Return the reader as the planner wants it."""
    return reader if says_start else RememberingReader(reader)


__all__ = [
    "SAYS_START", "ReadAllAvailable", "ReadLimit", "ReadMaxRows", "RememberingReader", "SupportsTriggerAvailableNow",
    "fitting",
]  # fmt: skip
