"""keeper: the processor that Spark gives the rows of one bucket of keys after the other, and that has their states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from penstock.engine.weaving.blame import add_note
from penstock.flow import Flow
from penstock.spark.stages.event_time import ranks
from penstock.spark.stages.piecewise import ChainInPieces, WallClock
from penstock.spark.stages.reading_states import parted, read
from penstock.spark.stages.refusals import StageError
from penstock.spark.stages.states import head_of, joined, written
from penstock.spark.stages.timekeeping import Timekeeper, read_time
from penstock.spark.wire.failure import report
from penstock.spark.wire.packing import packed
from penstock.spark.wire.schema import Form, Schema

AT_ONCE = 10_000
"""Rows of a bucket that are sorted into their keys together."""
KEY = StructType([StructField("key", StringType(), False)])
STATE = StructType([StructField("state", BinaryType(), False)])
DONE = written(True, "a key")
"""All that is kept of a key whose stream has ended by itself, as with take."""


class Keeper(StatefulProcessor):
    """A Flow that runs over the rows of one key after the other, piece by piece."""

    def __init__(
        self, flow: Flow[Any, Any], source: Schema, target: Schema, rows: Form | None, order: tuple[int, ...]
    ) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._reader = source.reader(rows)  # here, where the hints of a class of rows can be read
        self._order = order

    # What Spark calls.

    def init(self, handle: StatefulProcessorHandle) -> None:
        clock = WallClock()
        self._open(handle, ChainInPieces(self._flow._chain, clock))
        self._times: Timekeeper | None = None
        if self._run.shortest is not None:
            clock.run = self._run
            self._times = Timekeeper(handle)

    def _open(self, handle: StatefulProcessorHandle, pieces: ChainInPieces) -> None:
        """Take up what runs, and where its states are."""
        self._kept = handle.getMapState("states", KEY, STATE)
        self._pieces = pieces
        self._run = pieces.run
        self._names = self._run.names
        self._head = head_of(self._run.signature, len(self._names))
        self._carried = self._source.arrow.append(pa.field("", pa.string()))
        self._beginning: bytes | None = None
        if self._run.quiet:
            self._run.begin()
            self._beginning = self._state()

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  Spark's names
        """Let the rows of a bucket pass, key by key."""
        return self._given(self._passed(rows) if self._times is None else self._in_time(rows, self._times))

    def close(self) -> None:
        """Do nothing: Spark keeps the states."""

    def _given(self, elements: Iterator[Any]) -> Iterator[Row]:
        """Pack what is made; a failure names the key."""
        self._key = ""
        try:
            for made in packed(elements, self._target):
                yield Row(rows=made.serialize().to_pybytes())
        except Exception as error:
            if self._key:
                add_note(error, f"in keyed_by, key {self._key}")
            report(error)  # Spark itself may take long to tell
            raise

    # The rows of a bucket.

    def _passed(self, rows: Iterator[Any]) -> Iterator[Any]:
        ends, held, pieces = False, 0, list[Any]()
        for row in rows:
            if not row.rows:
                ends = True
                continue
            batch = pa.ipc.read_record_batch(pa.py_buffer(row.rows), self._carried)
            pieces.append(batch)
            held += batch.num_rows
            if held >= AT_ONCE and not self._order:
                yield from self._each_key(pieces)
                held, pieces = 0, []
        yield from self._each_key(pieces)
        if ends:
            yield from self._ended()

    def _in_time(self, rows: Iterator[Any], times: Timekeeper) -> Iterator[Any]:
        """Wake the keys that are due, and let the rows pass after that, whatever the order they come in."""
        told: float | None = None
        ends, pieces = False, list[Any]()
        for row in rows:
            time_of = read_time(row.rows)
            if time_of is not None:
                told = time_of if told is None else max(told, time_of)
            elif row.rows:
                pieces.append(pa.ipc.read_record_batch(pa.py_buffer(row.rows), self._carried))
            else:
                ends = True
        times.begin(told)
        for key in times.due():
            yield from self._woken(key, times)
        self._run.now = times.now
        yield from self._each_key(pieces)
        if ends:
            yield from self._ended()
            times.forget()
        times.leave()

    def _woken(self, key: str, times: Timekeeper) -> Iterator[Any]:
        """Let a key say what it has to say at each of the times that have come since, one after the other."""
        self._key = key
        kept = self._kept.getValue((key,))
        self._take_up(kept)
        before = self._run.due
        yield from self._pieces.rung(times.now)
        self._put_back(key, None if kept is None else kept[0])
        times.note(key, before, None if self._run.ended else self._run.due)
        self._key = ""

    def _each_key(self, pieces: list[Any]) -> Iterator[Any]:
        for key, elements in _by_key(pieces, self._reader, self._order).items():
            self._key = key
            kept = self._kept.getValue((key,))
            if kept is not None and kept[0] == DONE:
                continue
            self._take_up(kept)
            before = None if kept is None else self._run.due
            yield from self._pieces.fed(() if self._run.lingers and self._run.closed else elements)
            self._put_back(key, None if kept is None else kept[0])
            if self._times is not None:
                self._times.note(key, before, None if self._run.ended else self._run.due)
        self._key = ""

    def _ended(self) -> Iterator[Any]:
        """Let each key say what it has to say at the end, and forget it."""
        now = self._run.now
        for (key,) in list(self._kept.keys()):
            self._key = key
            kept = self._kept.getValue((key,))
            if kept is not None and kept[0] != DONE:
                self._take_up(kept)
                self._run.now = now
                yield from self._pieces.finished()
            self._kept.removeKey((key,))
        self._key = ""

    # The state of a key.

    def _take_up(self, kept: Any) -> None:
        if kept is None:
            self._run.begin()
            return
        state = bytes(kept[0])
        parts = parted(state, self._head, len(self._names))
        if parts is None:
            signature, *parts = read(state, "a key")
            if signature != self._run.signature:
                raise StageError(
                    f"keyed_by: the checkpoint has the states of {signature}, and the flow has {self._run.signature};"
                    " give it another checkpoint"
                )
        self._run.put_back([read(part, name) for part, name in zip(parts, self._names, strict=True)])

    def _put_back(self, key: str, before: bytes | None) -> bool:
        """Let Spark keep the state of a key, and tell whether there is more to keep than that it has ended."""
        state = DONE if self._run.ended else self._state()
        if state == self._beginning:
            if before is not None:
                self._kept.removeKey((key,))
            return False
        if state != before:
            self._kept.updateValue((key,), (state,))
        return state != DONE

    def _state(self) -> bytes:
        parts = [written(*one) for one in zip(self._run.taken_out(), self._names, strict=True)]
        return joined(self._head, parts)


def _by_key(pieces: list[Any], reader: Callable[[Any], Iterator[Any]], order: tuple[int, ...]) -> dict[str, list[Any]]:
    """Sort rows into their keys, and those of a key in the order that Spark would give them."""
    found: dict[str, list[Any]] = {}
    for piece in pieces:
        last = piece.num_columns - 1
        keys = piece.column(last).to_pylist()
        batch = pa.RecordBatch.from_arrays(piece.columns[:last], schema=pa.schema(list(piece.schema)[:last]))
        elements = reader(batch)
        if order:
            ranked = zip(*(ranks(batch.column(place)) for place in order), strict=True)
            elements = zip(ranked, elements, strict=True)
        for key, element in zip(keys, elements, strict=True):
            found.setdefault(key, []).append(element)
    if order:
        for key, rows in found.items():
            rows.sort(key=itemgetter(0))
            found[key] = [element for _, element in rows]
    return found


__all__ = ["DONE", "KEY", "STATE", "Keeper"]
