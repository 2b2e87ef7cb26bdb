"""data_source: the Spark data source that reads a stream from the gate; it runs in Spark's own Python processes.

An offset is the number of a row, `row`, and the place in the stream behind which it comes, `at`, if the stream has
places. Spark asks for the latest offset when the batch before is committed, so the question is also the commit of where
it starts. It is answered when there are rows or the stream has ended; a question that may not end the query is asked
again, unless another source of the query keeps it going.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.spark.versions import stream_readers
from penstock.spark.versions.stream_readers import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
    fitting,
)
from penstock.spark.wire.gate import Caller, DoorAddress

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType

ROWS_PER_PARTITION = 5_000
"""Fewer are not worth another task."""


class PublisherFailed(Exception):
    """What stands for the publisher's exception, which stays in the driver."""


class DoorReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader of a stream, for the planner and for the executors."""

    def __init__(self, address: DoorAddress, parts: int) -> None:
        self._address = address
        self._parts = parts
        self._run = secrets.token_hex(8)
        self._until_end = self._begun = False
        self._open = ExitStack()
        self._caller: Caller | None = None

    # In the planner.

    def _gate(self) -> Caller:
        if self._caller is None:
            self._caller = self._open.enter_context(self._address.connect())
            threading.Thread(target=self._hold, name="penstock-lease", daemon=True).start()
        return self._caller

    def _ask(self, verb: str, **body: object) -> dict[str, Any]:
        answer = self._gate().act(verb, run=self._run, **body)
        if "failed" in answer:
            raise PublisherFailed(answer["failed"])
        return answer

    def _hold(self) -> None:
        """Keep a call open as long as this process lives; by its end the driver knows that the query is over."""
        with suppress(Exception), self._address.connect() as caller:
            caller.act("lease", run=self._run)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return where a query without a checkpoint begins."""
        return {"row": self._ask("begin")["row"]}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Leave the size of a micro-batch to the gate."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take what is available to mean the whole stream, to its end."""
        self._until_end = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Commit up to `start` and wait for rows after it, or for another reason to go on."""
        first = _row(start)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        while True:
            answer = self._ask(
                "poll", row=first, at=start.get("at"), most=most, mark=start.get("mark"), waits=self._until_end
            )
            self._begun = True
            if answer["row"] > first:
                return {name: answer[name] for name in ("row", "at") if name in answer}
            if answer.get("mark"):
                return {**start, "mark": answer["mark"]}
            if answer["done"] or answer.get("goes_on") or not self._until_end:
                return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Cut a range of rows into parts of about the same size."""
        first, count = _row(start), _row(end) - _row(start)
        if not self._begun:  # a restarted query begins with the rows that it had planned, before it asks for any
            mark = end.get("mark")
            self._ask("open", row=first, at=start.get("at"), end=_row(end), end_at=end.get("at"), mark=mark)
            self._begun = True
        parts = max(1, min(self._parts, -(-count // ROWS_PER_PARTITION))) if count else 0
        cuts = [first + count * part // parts for part in range(parts)] + [end["row"]]
        return [InputPartition((self._run, cuts[part], cuts[part + 1])) for part in range(parts)]

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the question for the rows after `end` was the commit."""

    def stop(self) -> None:
        """Close the connection to the gate."""
        self._open.close()

    # In an executor.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Fetch the rows of one part."""
        run, first, end = partition.value
        yield from self._address.call().get(run=run, row=first, end=end)


def _row(offset: Any) -> int:
    """Return the number in an offset, which may have been written by a query of another kind."""
    row = offset.get("row") if isinstance(offset, dict) else None
    if type(row) is not int or not {"row", "at", "mark"}.issuperset(offset):
        raise ValueError(
            f"frame: the checkpoint is at {offset!r}, which is no row of a stream; it belongs to another query"
        )
    return row


def source_for(address: DoorAddress, struct: StructType, parts: int) -> type[DataSource]:
    """Make the data source class of one stream; being local it travels by value, its token never among the options."""
    says_start = stream_readers.SAYS_START  # as it is in the driver, where a test may say otherwise

    class Penstock(DataSource):
        @classmethod
        def name(cls) -> str:
            return f"penstock_{address.door}"

        def schema(self) -> Any:
            return struct

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return fitting(DoorReader(address, parts), says_start)

    return Penstock
