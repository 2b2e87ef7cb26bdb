"""batching: record batches of a stream's elements, and the places behind their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.spark.ingest.supply import IngestError, Places, RowPlaces, Track
from penstock.spark.wire.schema import Schema, SchemaError

Reject = Callable[[Any, SchemaError], None]
Made = Iterator[tuple[pa.RecordBatch, Places | None]]


@dataclass(frozen=True, slots=True)
class Batching:
    """How elements become record batches of a schema."""

    schema: Schema
    track: Track
    reject: Reject | None
    """Takes the rows that do not fit; without it they fail the stream."""
    spooled: bool
    uncount: Callable[[int], None]
    """Is told of rows that Spark will not see."""

    def made(self, elements: list[Any], first: int, *, arrow: bool) -> Made:
        """Make batches of elements, which are record batches themselves or rows; the first row has the given number."""
        found = self._of_batches(elements) if arrow else self._of_rows(elements, first)
        return (made for made in found if made[0].num_rows)

    def _of_batches(self, elements: list[Any]) -> Made:
        track = self.track
        if self.spooled and track.counts_elements:
            raise IngestError("frame: spool is not for record batches that can be had again; leave it out")
        for given in elements:
            element = track.element(given)
            if not isinstance(element, pa.RecordBatch):
                raise TypeError(f"frame: elements must be record batches like the first, got {element!r:.100}")
            skipped = track.skip
            element, places = track.batch(given)
            self.uncount(skipped)
            yield self.schema.fitted(element), places

    def _of_rows(self, elements: list[Any], first: int) -> Made:
        if self.track.skip:
            raise IngestError("frame: the checkpoint is in the middle of a record batch, and rows are no batches now")
        rows, positions = self.track.rows(elements)
        if self.reject is None:
            yield self.schema.batch(rows, first), None if positions is None else RowPlaces(positions)
            return
        batch, rejected = self.schema.sorted_out(rows, first)
        if rejected:
            self.uncount(len(rejected))
        for _, row, error in rejected:
            self.reject(row, error)
        bad = {index for index, _, _ in rejected}
        kept = [index for index in range(len(rows)) if index not in bad] if bad else None
        yield batch, None if positions is None else RowPlaces(positions, kept)


__all__ = ["Batching", "Reject"]
