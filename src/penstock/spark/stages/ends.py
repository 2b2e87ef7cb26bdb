"""ends: the end of a live stream as rows, for the steps that have something to say when all has come; and the time.

A query learns from its sources how far they have come, not that they have ended. So a second source is put beside what
is read: it has nothing to give until every stream that feeds the DataFrame has ended and Spark has been offered all of
its rows, and then one row for each bucket of keys, in the last micro-batch or in one more.

Where one keyed stage follows another, the end of the second waits for that of the first, whose last words are its rows.
Where there is a watermark before it, it waits for what Spark has held back for that.
A DataFrame that also reads a source of Spark's has no end that could be known, and gets none.

Where steps wait for a time, the same source tells it: every so many seconds one row for each bucket. The time is part
of the offset, so that a micro-batch which is done again is done at the same time again. As long as its streams have not
ended, a query until their end is kept going by it; where the end is not known, it looks at the time once.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from penstock.spark.stages.timekeeping import written_time
from penstock.spark.versions import stream_readers
from penstock.spark.versions.query_ends import all_read
from penstock.spark.versions.registrations import live_frame
from penstock.spark.versions.stream_readers import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow, fitting
from penstock.spark.wire.gate import Caller, DoorAddress, DoorCall, GateError, Message, open_gates

if TYPE_CHECKING:
    from penstock.spark.wire.gate import Door, Gate

CARRIED = StructType([StructField("bucket", IntegerType(), False), StructField("rows", BinaryType(), False)])
"""Rows on their way to the state of their keys: those of a bucket, as Arrow; nothing at all is the end."""
_ARROW = pa.schema([pa.field("bucket", pa.int32(), nullable=False), pa.field("rows", pa.binary(), nullable=False)])
_RELATION = re.compile(r"Streaming\w*Relation\w*")
_WATERMARK = re.compile(r"^\W*\w*EventTimeWatermark\b", re.MULTILINE)
_DOOR = re.compile(r"penstock_(?:end_|time_)?([0-9a-f]{16})")
_TIMED = "penstock_time_"


@runtime_checkable
class Standing(Protocol):
    """A door that knows how far the streams behind it have come."""

    def standing(self) -> list[tuple[object, int, bool, bool]]:
        """Return of each run: what it is, how often it was asked, whether it has more to offer, whether it ended."""
        ...

    @property
    def stays(self) -> bool:
        """Tell whether they were stopped, so that their end is none: another run goes on with what is open."""
        ...


@runtime_checkable
class Waking(Protocol):
    """A door whose readers can be sent back without rows now and then, so that others of their query are asked."""

    def wake(self, seconds: float, when: Callable[[], bool], /) -> None:
        """Let no reader wait for rows for longer than that, where `when` says that its query goes on."""
        ...


class EndDoor:
    """The door that tells whether all streams behind other doors have ended."""

    def __init__(self, gate: Gate, doors: tuple[str, ...], *, behind: bool = False) -> None:
        self._gate = gate
        self._doors = doors
        self.behind = behind
        """Whether rows that a watermark holds back may come after the end of the streams."""
        self.closed: Callable[[], bool] | None = None
        """Tells whether none are held back any more; where nothing does, they come in the next micro-batch."""
        self._waited = False
        self._asked: dict[object, int] = {}
        self._polls = 0
        self._told = False

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        """Answer a planner: `over` if all has ended, `known` unless a stream that is yet to be asked may have ended.

        Streams that were stopped have no end that would be told, which is `stays`.
        """
        if self.stays:
            return {"over": False, "known": True, "stays": True}
        standing = [one for door in self._watched() for one in door.standing()]
        over = bool(standing) and all(ended for _, _, _, ended in standing)
        waits = over and self.behind and not (self._waited if self.closed is None else self.closed())
        self._waited, over = over, over and not waits
        # A stream that Spark has not asked since the last time is asked right after this, and may have no more then.
        known = all(self._asked.get(run, 0) != asked or more or ended for run, asked, more, ended in standing)
        known = known and not waits
        self._asked = {run: asked for run, asked, _, _ in standing}
        self._polls += 1
        self._told = over  # a query that begins again has its streams begin again, too
        return {"over": over, "known": known}

    def standing(self) -> list[tuple[object, int, bool, bool]]:
        """Return whether the end was told, for the end of a stage behind this one; if not, whether it would be now."""
        behind = [one for door in self._watched() for one in door.standing()]
        over = bool(behind) and all(ended for _, _, _, ended in behind)
        return [(self, self._polls, over and not self._told, over and self._told)]

    @property
    def stays(self) -> bool:
        """Tell whether one of its streams was stopped, so that another run goes on with what is open."""
        return not self._told and any(door.stays for door in self._watched())

    def needed(self, admitted: Container[str]) -> bool:
        """Tell whether one of its streams can still be read."""
        return any(name in admitted for name in self._doors)

    def _watched(self) -> list[Standing]:
        return [
            door
            for address, door in self._gate.admitted()
            if address.door in self._doors and isinstance(door, Standing)
        ]

    def get(self, body: Message, /) -> tuple[Any, Iterator[Any]]:
        """Refuse: there are no rows here."""
        raise GateError("ends: there is nothing to be read here")

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        """Refuse."""
        raise GateError("ends: nothing is to be written here")

    def close(self) -> None:
        """Do nothing: no call waits here."""


class EndReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader of the end and of the time, for the planner and for an executor; an offset counts the ends told.

    A query ends when none of its sources has more, and they are asked in an order of Spark's. Where a stream that is
    asked after the end may turn out to have ended, an offset without rows has Spark ask all of them once more.
    """

    def __init__(self, address: DoorAddress | None, buckets: int, ticks: float | None = None) -> None:
        self._address = address
        self._buckets = buckets
        self._ticks = ticks
        self._until_end = self._told = self._stays = self._looked = False
        self._open = ExitStack()
        self._caller: Caller | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return where a query without a checkpoint begins."""
        return {"end": 0, "asked": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return that there is no limit."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Know that the query ends when no source has more."""
        self._until_end = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Tell of the end once in each run of a query, and until then of the time."""
        if self._told:
            return start
        found = start if self._address is None else self._ended(self._address, start)
        if self._ticks is None or self._stays:
            return found
        now, last = time.time(), start.get("at", 0.0)
        due = now - last >= self._ticks
        if self._address is None and self._until_end:
            due, self._looked = not self._looked, True
        if due or self._told:
            return {**found, "at": max(now, last)}
        if self._until_end and self._address is not None:
            return {**found, "asked": start["asked"] + 1}
        return found

    def _ended(self, address: DoorAddress, start: dict[str, Any]) -> dict[str, Any]:
        if self._caller is None:
            self._caller = self._open.enter_context(address.connect())
        answer = self._caller.act("over")
        self._stays = bool(answer.get("stays"))
        if answer["over"]:
            self._told = True
            return {**start, "end": start["end"] + 1}
        if not answer["known"] and self._until_end:
            return {**start, "asked": start["asked"] + 1}
        return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return one part if there is an end or a time to be told."""
        told = end["end"] > start["end"]
        at = end.get("at") if end.get("at") != start.get("at") else None
        return [InputPartition((told, at))] if told or at is not None else []

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Close the connection to the gate."""
        self._open.close()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Give each bucket its end, or the time."""
        told, at = partition.value
        for word in [b""] * told + ([] if at is None else [written_time(at)]):
            yield pa.RecordBatch.from_arrays(
                [pa.array(range(self._buckets), pa.int32()), pa.array([word] * self._buckets, pa.binary())],
                schema=_ARROW,
            )


def _source_for(address: DoorAddress | None, buckets: int, ticks: float | None) -> type[DataSource]:
    if address is None:
        title = f"penstock_clock_{secrets.token_hex(8)}"
    else:
        title = f"{'penstock_end_' if ticks is None else _TIMED}{address.door}"

    says_start = stream_readers.SAYS_START  # as it is in the driver, where a test may say otherwise

    class Ends(DataSource):
        @classmethod
        def name(cls) -> str:
            return title

        def schema(self) -> Any:
            return CARRIED

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return fitting(EndReader(address, buckets, ticks), says_start)

    return Ends


def end_of(df: DataFrame, buckets: int, ticks: float | None = None) -> DataFrame | None:
    """Return a streaming DataFrame of one row for each bucket, which come when all that feeds `df` has ended.

    With `ticks`, such rows come every so many seconds until then, with the time.
    """
    address = _end_door(df, ticks)
    if address is None and ticks is None:
        return None
    return live_frame(df.sparkSession, _source_for(address, buckets, ticks))


def _end_door(df: DataFrame, ticks: float | None) -> DoorAddress | None:
    """Open the door that tells of the end, where it can be known."""
    relations = [line for line in _plan_of(df).splitlines() if _RELATION.search(line)]
    named = [_DOOR.search(line) for line in relations]
    doors = tuple(dict.fromkeys(found[1] for found in named if found is not None))
    if not relations or not all(named):
        return None
    for gate in open_gates():
        admitted: dict[str, Door] = {address.door: door for address, door in gate.admitted()}
        if all(isinstance(admitted.get(name), Standing) for name in doors):
            for other, door in gate.admitted():
                if isinstance(door, EndDoor) and not door.needed(admitted):
                    gate.dismiss(other)
            for name in doors:
                watched = admitted[name]
                if ticks is not None and isinstance(watched, Waking):
                    watched.wake(ticks, partial(all_read, df.sparkSession, name, _TIMED))
            return gate.admit(EndDoor(gate, doors, behind=has_watermark(df)))
    return None


def has_watermark(df: DataFrame) -> bool:
    """Tell whether a DataFrame has a watermark already."""
    return _WATERMARK.search(_plan_of(df)) is not None


def _plan_of(df: DataFrame) -> str:
    """Return the plan of a DataFrame as text, in which each source has its name."""
    java: Any = getattr(df, "_jdf", None)
    return "" if java is None else str(java.queryExecution().logical().toString())


__all__ = ["CARRIED", "EndDoor", "end_of", "has_watermark"]
