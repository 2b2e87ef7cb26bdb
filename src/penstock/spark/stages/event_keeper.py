"""event_keeper: the processor that has the states of keys whose rows go by their own times.

Spark moves the watermark, and tells it with the rows of a bucket, or when a timer of the bucket has come. One timer is
set for each bucket, for the first of its keys that has something to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from penstock.flow import Flow
from penstock.spark.stages.event_time import KeyByTime, Timed, ranks, seconds_in
from penstock.spark.stages.keeper import DONE, KEY, STATE, Keeper
from penstock.spark.stages.reading_states import read
from penstock.spark.stages.states import written
from penstock.spark.stages.timekeeping import Timekeeper
from penstock.spark.wire.schema import Form, Schema


class EventKeeper(Keeper):
    """A Flow that runs over the rows of one key after the other by their times, piece by piece."""

    def __init__(
        self,
        flow: Flow[Any, Any],
        source: Schema,
        target: Schema,
        rows: Form | None,
        order: tuple[int, ...],
        time: int,
    ) -> None:
        super().__init__(flow, source, target, rows, order)
        self._time = time

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._by_time = KeyByTime(self._flow)
        self._open(handle, self._by_time.pieces)
        self._handle = handle
        self._rows = handle.getMapState("rows", KEY, STATE)
        self._watermarks = Timekeeper(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  Spark's names
        """Hold the rows of a bucket, and let those through that the watermark has passed."""
        return self._given(self._moved(rows, timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Let those through that the watermark has passed."""
        return self._given(self._moved(iter(()), timerValues, rang=True))

    def _moved(self, rows: Iterator[Any], timer_values: Any, *, rang: bool = False) -> Iterator[Any]:
        times = self._watermarks
        times.begin(timer_values.getCurrentWatermarkInMs() / 1000)
        times.now = times.now or float("-inf")  # Spark's watermark is 1970 until there is one
        set_for = None if rang else times.first
        ends, found = False, dict[str, list[Timed]]()
        for row in rows:
            if row.rows:
                self._sorted_in(pa.ipc.read_record_batch(pa.py_buffer(row.rows), self._carried), times.now, found)
            else:
                ends = True
        for key in dict.fromkeys([*times.due(), *found]):
            yield from self._at(key, found.get(key, []), times)
        if ends:
            for (key,) in dict.fromkeys([*self._kept.keys(), *self._rows.keys()]):
                yield from self._last(str(key))
            times.forget()
        times.leave()
        if times.first != set_for:
            if set_for is not None:
                self._handle.deleteTimer(_milliseconds(set_for))
            if times.first is not None:
                self._handle.registerTimer(_milliseconds(times.first))

    def _sorted_in(self, piece: Any, watermark: float, found: dict[str, list[Timed]]) -> None:
        """Sort rows into their keys, but for those that are late."""
        last = piece.num_columns - 1
        keys = piece.column(last).to_pylist()
        batch = pa.RecordBatch.from_arrays(piece.columns[:last], schema=pa.schema(list(piece.schema)[:last]))
        moments = seconds_in(batch, self._time, self._source.names[self._time])
        ranks = self._ranks(batch)
        for key, at, ranked, element in zip(keys, moments, ranks, self._reader(batch), strict=True):
            if at >= watermark:
                found.setdefault(key, []).append((at, ranked, element))

    def _ranks(self, batch: Any) -> Iterator[Any]:
        if not self._order:
            return iter([()] * batch.num_rows)
        return zip(*(ranks(batch.column(place)) for place in self._order), strict=True)

    def _at(self, key: str, rows: list[Timed], times: Timekeeper) -> Iterator[Any]:
        """Let a key take rows, and do what is due."""
        by_time, kept, held = self._taken_up(key)
        if kept is not None and bytes(kept[0]) == DONE:
            return
        before = by_time.due
        by_time.add(rows)
        yield from by_time.advance(times.now)
        goes_on = by_time.begun and self._put_back(key, None if kept is None else kept[0])
        if by_time.begun and self._run.ended:
            by_time.held = []
        if by_time.held or goes_on:
            self._rows.updateValue((key,), (written((self._run.now, by_time.held), "a key"),))
        elif held is not None:
            self._rows.removeKey((key,))
        times.note(key, before, by_time.due)
        self._key = ""

    def _last(self, key: str) -> Iterator[Any]:
        by_time, kept, _ = self._taken_up(key)
        if kept is None or bytes(kept[0]) != DONE:
            yield from by_time.finish()
        self._kept.removeKey((key,))
        self._rows.removeKey((key,))
        self._key = ""

    def _taken_up(self, key: str) -> tuple[KeyByTime, Any, Any]:
        self._key = key
        by_time = self._by_time
        by_time.clear()
        kept, held = self._kept.getValue((key,)), self._rows.getValue((key,))
        if held is not None:
            now, by_time.held = read(bytes(held[0]), "a key")
            self._run.now = now
        if kept is not None and bytes(kept[0]) != DONE:
            now = self._run.now
            self._take_up(kept)
            self._run.now = now
            by_time.begun = True
        return by_time, kept, held


def _milliseconds(seconds: float) -> int:
    """Return the moment that a watermark has to be later than, which none is before 1970."""
    return max(0, floor(seconds * 1000))


__all__ = ["EventKeeper"]
