"""The crossings to Arrow and its neighbours, and back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pyarrow as pa

from penstock import Stream
from penstock.bridges.arrow import from_arrow, to_reader, to_table
from penstock.bridges.numpy import from_array, to_array
from penstock.bridges.pandas import from_pandas, to_pandas, to_pandas_frames
from penstock.bridges.polars import from_polars, to_polars, to_polars_frames
from tests.bridges.crossings import Crossing

SCHEMA = pa.schema({"n": pa.int64(), "name": pa.string()})
ROWS = 4


def row(n: int) -> dict[str, Any]:
    return {"n": n, "name": None if n % 5 == 0 else f"row {n}"}


def afresh(cross: Callable[[Stream[Any]], Stream[Any]]) -> Callable[[Stream[Any]], AbstractContextManager[Stream[Any]]]:
    """Cross at every subscription: a reader is read once."""
    return lambda stream: nullcontext(Stream.defer(lambda: cross(stream)))


CROSSINGS = [
    Crossing(
        "arrow reader",
        afresh(lambda stream: from_arrow(to_reader(stream, SCHEMA, batch_rows=ROWS))),
        window=ROWS,
        element=row,
    ),
    Crossing(
        "arrow batches",
        afresh(
            lambda stream: from_arrow(
                to_reader(
                    from_arrow(to_reader(stream, SCHEMA, batch_rows=ROWS), pa.RecordBatch), SCHEMA, batch_rows=None
                )
            )
        ),
        window=ROWS,
        element=row,
    ),
    Crossing("arrow table", afresh(lambda stream: to_table(stream, SCHEMA).flat_map(from_arrow)), None, row),
    Crossing(
        "pandas",
        afresh(lambda stream: to_pandas(stream, SCHEMA, arrow_types=True).flat_map(from_pandas)),
        window=None,
        element=row,
    ),
    Crossing(
        "pandas frames",
        afresh(lambda stream: to_pandas_frames(stream, ROWS, SCHEMA).concat_map(from_pandas)),
        window=ROWS,
        element=row,
    ),
    Crossing("polars", afresh(lambda stream: to_polars(stream, SCHEMA).flat_map(from_polars)), None, row),
    Crossing(
        "polars frames",
        afresh(lambda stream: to_polars_frames(stream, ROWS, SCHEMA).concat_map(from_polars)),
        window=ROWS,
        element=row,
    ),
    Crossing("numpy", afresh(lambda stream: to_array(stream, "int64").flat_map(from_array)), None),
]
