"""pandas: DataFrames as streams of rows or of smaller frames, and back, through Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

try:
    import pandas as pd  # type: ignore[import-untyped]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.bridges.pandas needs pandas, which is not installed: pip install 'penstock[pandas]'", name="pandas"
    ) from missing

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.bridges.arrow import BATCH_ROWS, tables_of, to_table
from penstock.bridges.shared.framed import FromFrame
from penstock.bridges.shared.records import rows_as
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.stream import Stream


def from_pandas(frame: Any, element: Any = dict, *, batch_rows: int = BATCH_ROWS, index: bool = False) -> Stream[Any]:
    """Emit the rows of a DataFrame as dicts, tuples, dataclasses or NamedTuples, or with `element=DataFrame` frames.

    Emits when downstream asks. Backpressures by turning `batch_rows` rows into Python's at a time; frames have so many
    rows, and share the memory of the whole where pandas can. Completes with the last row. Cancels by stopping there.
    Each run begins anew. What pandas takes for missing (NaN, NaT, None) is None. The index is left out of rows unless
    `index` is true; then it is a field, or several. Names that are no text become text.

    >>> import pandas as pd
    >>> list(from_pandas(pd.DataFrame({"n": [1, 2]})))
    [{'n': 1}, {'n': 2}]
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"from_pandas: frame must be a pandas.DataFrame, got {type(frame).__name__}")
    count_given("from_pandas", "batch_rows", batch_rows, 1)
    if element is pd.DataFrame:
        return Stream(Chain(FromFrame(frame, len(frame), batch_rows, lambda some: (some,), _cut)))
    rows = rows_as("from_pandas", element)
    if not all(isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis([str(name) for name in frame.columns], axis="columns")  # Arrow's names are text
    schema = pa.Schema.from_pandas(frame, preserve_index=index)

    def made(some: Any) -> Iterator[Any]:
        return iter(rows(pa.RecordBatch.from_pandas(some, schema=schema, preserve_index=index)))

    return Stream(Chain(FromFrame(frame, len(frame), batch_rows, made, _cut)))


def _cut(frame: Any, at: int, size: int) -> Any:
    return frame.iloc[at : at + size]


def to_pandas(stream: Stream[Any], schema: Any = None, *, arrow_types: bool = False) -> Stream[Any]:
    """Collect rows as a DataFrame: a stream of one element, for `.get()` or `await`.

    `schema` is as for `to_table`. In pandas' own types a missing whole number makes the column one of floats; with
    `arrow_types` columns keep Arrow's types, and nothing is lost. Emits when the stream has completed. Holds
    everything. Cancels the stream.

    >>> to_pandas(Stream.range(3).map(lambda n: {"n": n})).get()["n"].tolist()
    [0, 1, 2]
    """
    return to_table(stream, schema).map(lambda table: _frame(table, arrow_types))


def to_pandas_frames(stream: Stream[Any], rows: int, schema: Any = None, *, arrow_types: bool = False) -> Stream[Any]:
    """Collect every `rows` rows as a DataFrame; without a `schema` the first frame says what the others must be.

    Emits when a frame is full, and the rest at the end. Backpressures by asking for `rows` elements for each frame that
    is asked for. Completes and cancels with the stream.

    >>> [len(frame) for frame in to_pandas_frames(Stream.range(5).map(lambda n: {"n": n}), 2)]
    [2, 2, 1]
    """
    return tables_of("to_pandas_frames", stream, rows, schema).map(lambda table: _frame(table, arrow_types))


def _frame(table: Any, arrow_types: bool) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype) if arrow_types else table.to_pandas()


__all__ = ["from_pandas", "to_pandas", "to_pandas_frames"]
