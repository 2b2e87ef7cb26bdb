"""data_source: the Spark data source of a partitioned stream; it runs in Spark's own Python processes."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from penstock.engine.weaving.blame import add_note, function_name
from penstock.spark.partitions.lookout import Lookout
from penstock.spark.partitions.planning import PartRange, PartSettings, Planning
from penstock.spark.partitions.positions import Offset, key_of, part_of
from penstock.spark.partitions.readers import KEPT, Cursor, Open, PartitionReader, PartSight
from penstock.spark.versions.stream_readers import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from penstock.spark.wire.failure import report
from penstock.spark.wire.gate import Caller, DoorAddress
from penstock.spark.wire.packing import packed
from penstock.spark.wire.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType

POLL_SECONDS = 1.0

Commit = Callable[[Any, int], object]
"""The user's function that is told that the rows of a part before a position are committed."""


class PartsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader of a partitioned stream, for the planner and for the executors."""

    def __init__(
        self,
        address: DoorAddress,
        settings: PartSettings,
        open: Open,  # noqa: A002  the word for it
        schema: Schema,
        commit: Commit | None,
    ) -> None:
        self._address = address
        self._settings = settings
        self._opens = open
        self._schema = schema
        self._commits = commit
        self._run = secrets.token_hex(8)
        self._planning = Planning(settings, time.monotonic)
        self._committed: Offset | None = None
        self._connections = ExitStack()
        self._caller: Caller | None = None

    # In the planner.

    def _gate(self) -> Caller:
        if self._caller is None:
            self._caller = self._connections.enter_context(self._address.connect())
            self._caller.act("begin", run=self._run)
            threading.Thread(target=self._hold, name="penstock-lease", daemon=True).start()
        return self._caller

    def _hold(self) -> None:
        """Keep a call open as long as this process lives; by its end the driver knows that the query is over."""
        with suppress(Exception), self._address.connect() as caller:
            caller.act("lease", run=self._run)

    def _hear(self, seconds: float) -> None:
        for one in self._gate().act("hear", run=self._run, seconds=seconds)["reports"]:
            self._planning.heard(one)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return where a query without a checkpoint begins: no part is known yet."""
        return Offset().as_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Leave the size of a micro-batch to the pace of the parts."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take what is available to mean all parts to their ends, or as far as they are now."""
        self._planning.until_end = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return where the next micro-batch ends, once there is one."""
        begun = Offset.of(start)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        given_up = time.monotonic() + POLL_SECONDS
        self._hear(0.0)
        self._planning.ended()
        while True:
            found = self._planning.next_offset(begun, most)
            if found is not None:
                return found.as_json()
            if time.monotonic() >= given_up and not self._planning.until_end:
                return start  # Spark asks again
            self._hear(self._planning.wait(POLL_SECONDS))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return what each task reads."""
        self._gate()
        found = self._planning.ranges(self._run, Offset.of(start), Offset.of(end))
        return [InputPartition(one) for one in found]

    def commit(self, end: dict[str, Any]) -> None:
        """Tell the user's function which positions are new."""
        if self._commits is None:
            return
        before, self._committed = self._committed, Offset.of(end)
        for key, row in self._committed.rows.items():
            if before is None or before.rows.get(key) != row:
                self._commits(part_of(key), row)

    def stop(self) -> None:
        """Close the connection to the gate."""
        self._connections.close()

    # In an executor.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of one part, see how far it is beyond them, and leave it open for the next task."""
        wanted: PartRange = partition.value
        try:
            yield from self._read(wanted)
        except Exception as error:
            where = f"in part {wanted.part!r}, rows {wanted.first} to {wanted.end}"
            add_note(error, f"{where}, opened with {function_name(self._opens)}")
            report(error)  # Spark itself may take long to tell
            raise

    def _read(self, wanted: PartRange) -> Iterator[pa.RecordBatch]:
        reader = KEPT.claim(wanted.run, wanted.part, wanted.first) or self._opened(wanted)
        if isinstance(reader, Lookout):
            reader.unpark()
        began, whole = time.monotonic(), False
        try:
            if wanted.end > wanted.first:
                yield from self._batches(reader, wanted.end - wanted.first)
            paced = {"rows": wanted.end - wanted.first, "seconds": time.monotonic() - began}
            if isinstance(reader, Lookout):
                seen = reader.look(wanted.ahead, wanted.patience)
                if reader.error is not None and seen.row == wanted.first:
                    raise reader.error  # else the rows before it come first
                self._tell(wanted, seen, **paced)
                KEPT.keep(wanted.run, wanted.part, reader)
                whole = True
                reader.park(seen)
            else:
                assert isinstance(reader, Cursor)
                self._tell(wanted, PartSight(reader.row, reader.ended), **paced)
                if not reader.ended:
                    KEPT.keep(wanted.run, wanted.part, reader)
                    whole = True
        finally:
            if not whole:
                reader.close()

    def _opened(self, wanted: PartRange) -> PartitionReader:
        if self._settings.looks:
            address, run, part = self._address, wanted.run, key_of(wanted.part)

            def tell(seen: PartSight) -> bool:
                with address.connect() as caller:  # not the kept one, which belongs to the thread of tasks
                    return bool(caller.act("tell", run=run, part=part, **seen._asdict())["heard"])

            return Lookout(self._opens, wanted.part, wanted.first, tell)
        return Cursor(self._opens, wanted.part, wanted.first, may_end=not self._settings.live)

    def _batches(self, reader: PartitionReader, count: int) -> Iterator[pa.RecordBatch]:
        chunks = reader.take(count)
        first = next(chunks, None)
        if first is None:
            return
        chunks = chain((first,), chunks)
        if reader.arrow:
            yield from (self._schema.fitted(batch) for found in chunks for batch in found)
        else:
            yield from packed(chain.from_iterable(chunks), self._schema)

    def _tell(self, wanted: PartRange, seen: PartSight, **more: Any) -> None:
        self._address.call().act("tell", run=wanted.run, part=key_of(wanted.part), **seen._asdict(), **more)


def source_for(
    address: DoorAddress,
    settings: PartSettings,
    open: Open,  # noqa: A002  the word for it
    rows: Schema,
    commit: Commit | None,
) -> type[DataSource]:
    """Make the data source class of one stream; being local it travels by value, its token never among the options."""
    # By the first name a query is known that ends with its parts; a part with a `latest` is never at its end.
    begin = "penstock" if settings.ends else "live_penstock"

    class Penstock(DataSource):
        @classmethod
        def name(cls) -> str:
            return f"{begin}_{address.door}"

        def schema(self) -> Any:
            return rows.struct

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return PartsReader(address, settings, open, rows, commit)

    return Penstock


__all__ = ["Commit", "PartsReader", "source_for"]
