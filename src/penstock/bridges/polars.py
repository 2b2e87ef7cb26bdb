"""polars: DataFrames as streams of rows or of smaller frames, and back, through Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

try:
    import polars as pl
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.bridges.polars needs polars, which is not installed: pip install 'penstock[polars]'", name="polars"
    ) from missing

from penstock.bridges.arrow import BATCH_ROWS, tables_of, to_table
from penstock.bridges.shared.framed import FromFrame
from penstock.bridges.shared.records import rows_as
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.stream import Stream


def from_polars(frame: Any, element: Any = dict, *, batch_rows: int = BATCH_ROWS) -> Stream[Any]:
    """Emit the rows of a DataFrame as dicts, tuples, dataclasses or NamedTuples, or with `element=DataFrame` frames.

    Emits when downstream asks. Backpressures by turning `batch_rows` rows into Python's at a time; frames have so many
    rows, and share the memory of the whole. Completes with the last row. Cancels by stopping there. Each run begins
    anew. A LazyFrame is not taken: say `.collect()` first, which is where its work is done.

    >>> import polars as pl
    >>> list(from_polars(pl.DataFrame({"n": [1, None]})))
    [{'n': 1}, {'n': None}]
    """
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"from_polars: frame must be a polars.DataFrame, got {type(frame).__name__}")
    count_given("from_polars", "batch_rows", batch_rows, 1)
    if element is pl.DataFrame:
        return Stream(Chain(FromFrame(frame, frame.height, batch_rows, lambda some: (some,), _cut)))
    rows = rows_as("from_polars", element)
    for name, kind in frame.schema.items():
        if kind == pl.Object:  # polars hands Arrow the addresses of its objects
            raise TypeError(f"from_polars: column {name!r} must have a type that Arrow has, got Object")

    def made(some: Any) -> Iterator[Any]:
        return chain.from_iterable(map(rows, some.to_arrow().to_batches()))

    return Stream(Chain(FromFrame(frame, frame.height, batch_rows, made, _cut)))


def _cut(frame: Any, at: int, size: int) -> Any:
    return frame.slice(at, size)


def to_polars(stream: Stream[Any], schema: Any = None) -> Stream[Any]:
    """Collect rows as a DataFrame: a stream of one element, for `.get()` or `await`.

    `schema` is as for `to_table`. Emits when the stream has completed. Holds everything. Cancels the stream.

    >>> to_polars(Stream.range(3).map(lambda n: {"n": n})).get()["n"].sum()
    3
    """
    return to_table(stream, schema).map(pl.from_arrow)


def to_polars_frames(stream: Stream[Any], rows: int, schema: Any = None) -> Stream[Any]:
    """Collect every `rows` rows as a DataFrame; without a `schema` the first frame says what the others must be.

    Emits when a frame is full, and the rest at the end. Backpressures by asking for `rows` elements for each frame that
    is asked for. Completes and cancels with the stream.

    >>> [frame.height for frame in to_polars_frames(Stream.range(5).map(lambda n: {"n": n}), 2)]
    [2, 2, 1]
    """
    return tables_of("to_polars_frames", stream, rows, schema).map(pl.from_arrow)


__all__ = ["from_polars", "to_polars", "to_polars_frames"]
