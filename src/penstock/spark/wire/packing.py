"""packing: put rows into record batches, larger ones the faster they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from time import monotonic
from typing import Any, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.bridges.shared.columns import kinds_of
from penstock.spark.wire.rows import Columns
from penstock.spark.wire.schema import Schema

FIRST_BATCH = 16
MOST_ROWS = 10_000
CHUNK = 500
"""Rows that are kept as such until they are taken apart."""
QUICK, SLOW = 0.01, 0.1  # seconds a batch should take to fill: larger ones cost less, smaller ones wait less

RecordBatches: TypeAlias = Iterator[Any]
"""An iterator of Arrow record batches."""


def packed(elements: Iterable[Any], schema: Schema, first: int = 0) -> RecordBatches:
    """Put rows into record batches; Arrow batches among them pass as they are, and `first` rows came before them.

    Batches grow to 10,000 rows while they fill at once and shrink while filling takes long, so that rows of a slow
    source do not wait for others.
    """
    iterator = iter(elements)
    size = FIRST_BATCH
    while True:
        began = monotonic()
        columns, rest = _filled(iterator, size, schema, first)
        took = monotonic() - began
        if columns.count:
            yield schema.batch_of(columns.values, first)
            first += columns.count
        for part in _whole_batches(rest):
            batch = schema.fitted(part) if isinstance(part, pa.RecordBatch) else schema.batch(part, first)
            first += batch.num_rows
            yield batch
        if columns.count < size and not rest:
            return
        if took < QUICK:
            size = min(2 * size, MOST_ROWS)
        elif took > SLOW:
            size = max(size // 2, 1)


def _filled(iterator: Iterator[Any], size: int, schema: Schema, first: int) -> tuple[Columns, list[Any]]:
    """Collect `size` rows, or up to the end or an Arrow batch; return them, and what came together with the batch."""
    columns = Columns(schema.names)
    while columns.count < size:
        rows = list(islice(iterator, min(CHUNK, size - columns.count)))
        kinds = kinds_of(rows)
        if any(issubclass(kind, pa.RecordBatch | pa.Table) for kind in kinds):
            return columns, rows
        columns.add(rows, first, kinds)
        if not rows:
            break
    return columns, []


def _whole_batches(rows: list[Any]) -> Iterable[Any]:
    """Part Arrow batches from the rows between them, in order."""
    parts: list[Any] = []
    for is_arrow, run in groupby(rows, lambda row: isinstance(row, pa.RecordBatch | pa.Table)):
        if is_arrow:
            parts.extend(
                chain.from_iterable([one] if isinstance(one, pa.RecordBatch) else one.to_batches() for one in run)
            )
        else:
            parts.append(list(run))
    return parts


__all__ = ["RecordBatches", "packed"]
