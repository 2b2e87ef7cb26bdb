"""decoding: how the record batches of a DataFrame become the elements of a Stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from penstock.spark.wire.schema import Form, Schema

Decode = Callable[[pa.RecordBatch], Iterable[Any]]
"""A function from a record batch to its elements."""


def decoder(frame: DataFrame, rows: Any) -> Decode:
    """Return how record batches become elements."""
    schema = Schema.of(frame.schema)
    if isinstance(rows, str) and rows == "arrow":
        return lambda batch: (schema.fitted(batch),)
    return schema.reader(cast("Form | None", rows))  # which checks it


__all__ = ["Decode", "decoder"]
