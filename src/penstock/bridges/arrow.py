"""arrow: tables, datasets and readers of Arrow as streams of rows or of record batches, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, ClassVar, TypeVar, overload

try:
    import pyarrow as pa  # type: ignore[import-untyped]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.bridges.arrow needs pyarrow, which is not installed: pip install 'penstock[arrow]'", name="pyarrow"
    ) from missing

from penstock.bridges.shared.columns import SchemaError, short
from penstock.bridges.shared.records import Rows, batch_of, fitted, inferred, rows_as, schema_of
from penstock.engine.doors.iterate import iterate
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.segment import close
from penstock.engine.words.arguments import count_given
from penstock.engine.words.signals import Failed, Next, Signal
from penstock.engine.words.single_use import SingleUse
from penstock.stage import Again, LoopGate, Opener, Source
from penstock.stream import Stream

R = TypeVar("R")
BATCH_ROWS = 1024


_KEPT = (pa.Table, pa.RecordBatch)


@dataclass(frozen=True, slots=True, eq=False)
class FromArrow(Source[Any]):
    """A source that reads batches one at a time, and takes each apart into rows."""

    source: Any
    rows: Rows | None = field(repr=False)
    batch_rows: int | None = None
    columns: Sequence[str] | None = None
    where: Any = None
    once: SingleUse = field(default_factory=SingleUse, repr=False)
    clean: ClassVar[bool] = True

    @property
    def again(self) -> Again:
        """Read a table or a dataset again; a reader can be had once."""
        return Again.SAME if is_dataset(self.source) or isinstance(self.source, _KEPT) else Again.UNSAID

    def opener(self) -> Opener[Any]:
        """Iterate over rows or batches."""
        return self._open

    def length(self) -> int | None:
        """Return the number of rows, where they are all there."""
        there = self.rows is not None and isinstance(self.source, pa.Table | pa.RecordBatch)
        return self.source.num_rows if there else None

    def _open(self, _: LoopGate | None) -> Iterator[Any]:
        if isinstance(self.source, pa.RecordBatchReader):
            self.once.take(
                "from_arrow: this reader", "give a table or a dataset, or make one per run with Stream.defer"
            )
        size = self.batch_rows or (None if self.rows is None else BATCH_ROWS)
        batches = _sliced(self._readers(size), size)
        return batches if self.rows is None else _taken_apart(batches, self.rows)

    def _readers(self, size: int | None) -> Iterator[Any]:
        """Open what has batches, one after the other."""
        source = self.source
        if is_dataset(source):
            # By itself Arrow reads ahead without regard to who asks, and all the rest when it is closed. So it is given
            # no more than a file at a time, and of Parquet no more than a row group.
            options = {} if size is None else {"batch_size": size}
            for fragment in source.get_fragments(filter=self.where):
                split = getattr(fragment, "split_by_row_group", None)
                for part in (fragment,) if split is None else split(filter=self.where):
                    yield part.scanner(
                        schema=source.schema, columns=self.columns, filter=self.where, **options
                    ).to_reader()
        elif isinstance(source, pa.RecordBatchReader):
            yield source
        elif isinstance(source, pa.Table):
            yield source.to_reader(max_chunksize=size)
        elif isinstance(source, pa.RecordBatch):
            yield pa.Table.from_batches([source]).to_reader(max_chunksize=size)
        else:
            yield pa.RecordBatchReader.from_stream(source)


def is_dataset(given: object) -> bool:
    """Tell whether something is a dataset of Arrow's, whose module is loaded then."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(given, module.Dataset)


def _sliced(readers: Iterator[Any], size: int | None) -> Iterator[Any]:
    """Read one batch at a time, and give it in pieces of at most `size` rows, which share its memory."""
    for reader in readers:
        with closing(reader):
            for batch in reader:
                for at in range(0, batch.num_rows, size or batch.num_rows or 1):
                    yield batch.slice(at, size)


def _taken_apart(batches: Iterator[Any], rows: Rows) -> Iterator[Any]:
    try:
        for batch in batches:
            yield from rows(batch)
    finally:
        close(batches)


@overload
def from_arrow(
    source: Any, *, batch_rows: int | None = None, columns: Sequence[str] | None = None, where: Any = None
) -> Stream[dict[str, Any]]: ...
@overload
def from_arrow(
    source: Any,
    element: type[R],
    *,
    batch_rows: int | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
) -> Stream[R]: ...
def from_arrow(
    source: Any,
    element: Any = dict,
    *,
    batch_rows: int | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
) -> Stream[Any]:
    """Emit the rows of a Table, RecordBatch, RecordBatchReader or Dataset, or of anything with `__arrow_c_stream__`.

    `element` says what a row is: `dict`, `tuple`, a dataclass or a NamedTuple class; or `pyarrow.RecordBatch` for whole
    batches. Emits when downstream asks. Backpressures by reading a batch only when the one before it is used up. At
    most `batch_rows` rows (1024 unless given) are Python's at a time; batches have at most so many rows if it is given.
    A dataset is read one file at a time, of Parquet one row group; `columns` and the expression `where` say what of it.
    Completes after the last row. Cancels by closing the reader. A reader serves one run; of anything else each run
    begins anew.

    >>> import pyarrow as pa
    >>> list(from_arrow(pa.table({"name": ["ada", "ben"], "age": [36, None]})))
    [{'name': 'ada', 'age': 36}, {'name': 'ben', 'age': None}]
    """
    if batch_rows is not None:
        count_given("from_arrow", "batch_rows", batch_rows, 1)
    rows = None if element is pa.RecordBatch else rows_as("from_arrow", element)
    if is_dataset(source):
        if getattr(source, "_scan_options", None):
            raise ValueError(
                "from_arrow: a dataset must not be filtered already, since Arrow hides its files; give where="
            )
    elif columns is not None or where is not None:
        raise ValueError(f"from_arrow: columns and where are for datasets, got {type(source).__name__}")
    elif not hasattr(source, "__arrow_c_stream__") and not isinstance(source, pa.RecordBatch):
        raise TypeError(
            "from_arrow: source must be a Table, RecordBatch, RecordBatchReader, Dataset or anything with"
            f" __arrow_c_stream__, got {short(source)}"
        )
    return Stream(Chain(FromArrow(source, rows, batch_rows, columns, where)))


# Back to Arrow.


def to_reader(stream: Stream[Any], schema: Any, *, batch_rows: int | None = BATCH_ROWS) -> Any:
    """Read a stream of rows as a `pyarrow.RecordBatchReader`, which runs it as batches are read from it.

    `schema` is a `pyarrow.Schema`, a dataclass or a NamedTuple class; rows are dicts, tuples, dataclasses, NamedTuples;
    with `batch_rows=None` elements are record batches already. The stream is subscribed to when the first batch is
    read, and asked for `batch_rows` elements at a time. A row that does not fit raises SchemaError, which names it; an
    error of the stream is raised by the read, as it is. The run is cancelled when the reader is dropped; Arrow's own
    `close()` does not cancel it, so use `open_reader` where that must happen at a certain time.

    >>> import pyarrow as pa
    >>> rows = Stream.range(3).map(lambda n: {"n": n})
    >>> to_reader(rows, pa.schema({"n": pa.int64()})).read_all().column("n").to_pylist()
    [0, 1, 2]
    """
    made, batches = _opened("to_reader", stream, schema, batch_rows)
    return pa.RecordBatchReader.from_batches(made, batches)


@contextmanager
def open_reader(stream: Stream[Any], schema: Any, *, batch_rows: int | None = BATCH_ROWS) -> Iterator[Any]:
    """Read a stream of rows as a `pyarrow.RecordBatchReader` for the time of a block, which ends the run.

    >>> import pyarrow as pa
    >>> with open_reader(Stream.range(9).map(lambda n: (n,)), pa.schema({"n": pa.int64()}), batch_rows=2) as reader:
    ...     reader.read_next_batch().num_rows
    2
    """
    made, batches = _opened("open_reader", stream, schema, batch_rows)
    with closing(batches):
        yield pa.RecordBatchReader.from_batches(made, batches)


def _opened(function: str, stream: Stream[Any], schema: Any, batch_rows: int | None) -> tuple[Any, Any]:
    stream_given(function, stream)
    if batch_rows is not None:
        count_given(function, "batch_rows", batch_rows, 1)
    made = schema_of(function, schema)
    return made, _read(stream, made, batch_rows or 1)


def _read(stream: Stream[Any], schema: Any, size: int) -> Iterator[Any]:
    """Run the stream for some rows at a time, and give the batches they make; those before an error come before it."""
    first = 0
    run = iterate(stream._chain, size)
    try:
        while True:
            rows: list[Any] = []
            error: Exception | None = None
            try:
                rows.extend(islice(run, size))  # which keeps those before an error
            except Exception as raised:  # noqa: BLE001  it is raised below
                error = raised
            if rows:
                yield from made_of(schema, rows, first)
                first += len(rows)
            if error is not None:
                raise error
            if len(rows) < size:
                return
    finally:
        close(run)


def made_of(schema: Any, rows: Sequence[Any], first: int) -> Sequence[Any]:
    """Return the batches of some elements: one of rows, or those that they are."""
    if rows and all(isinstance(row, pa.RecordBatch) for row in rows):
        return [fitted(schema, batch, index) for index, batch in enumerate(rows, first)]
    return [batch_of(schema, rows, first)]


def to_table(stream: Stream[Any], schema: Any = None) -> Stream[Any]:
    """Collect rows, or record batches, as a `pyarrow.Table`: a stream of one element, for `.get()` or `await`.

    Without a `schema` the types are found out from all rows, which are dicts, dataclasses or NamedTuples of one kind;
    with one, see `to_reader`. Emits when the stream has completed. Backpressures not at all: it holds everything, which
    is what a table is. Cancels the stream.

    >>> to_table(Stream.range(3).map(lambda n: {"n": n})).get().to_pydict()
    {'n': [0, 1, 2]}
    """
    stream_given("to_table", stream)
    if schema is None:
        return stream.to_list().map(lambda rows: inferred("to_table", rows))
    made = schema_of("to_table", schema)
    batches = stream.buffer(BATCH_ROWS).enumerate().map(lambda pair: made_of(made, pair[1], pair[0] * BATCH_ROWS))
    return batches.to_list().map(lambda found: pa.Table.from_batches(list(chain.from_iterable(found)), made))


@dataclass(frozen=True, slots=True)
class _Broken:
    """The mark of the place where a stream has failed, so that what came before it is not lost."""

    error: Exception


def tables_of(function: str, stream: Stream[Any], rows: int, schema: Any) -> Stream[Any]:
    """Collect every `rows` elements as a table; without a schema the first ones say what the others must be."""
    stream_given(function, stream)
    count_given(function, "rows", rows, 1)
    given = None if schema is None else schema_of(function, schema)

    def signals() -> Callable[[tuple[int, list[Any]]], list[Signal[Any]]]:
        known = given

        def made(pair: tuple[int, list[Any]]) -> list[Signal[Any]]:
            nonlocal known
            number, some = pair
            ends: list[Signal[Any]] = [Failed(some.pop().error)] if isinstance(some[-1], _Broken) else []
            if not some:
                return ends
            if known is None:
                table = inferred(function, some)
                known = table.schema
            else:
                table = pa.Table.from_batches(made_of(known, some, number * rows), known)
            return [Next(table), *ends]

        return made

    whole = stream.on_error_resume(lambda error: Stream.just(_Broken(error)))
    return Stream.defer(lambda: whole.buffer(rows).enumerate().map(signals()).flatten().dematerialize())


def stream_given(function: str, stream: object) -> None:
    """Refuse what is no stream."""
    if not isinstance(stream, Stream):
        raise TypeError(f"{function}: stream must be a Stream, got {short(stream)}; Stream.from_publisher makes one")


__all__ = ["BATCH_ROWS", "FromArrow", "SchemaError", "from_arrow", "open_reader", "to_reader", "to_table"]
