"""Arrow's tables, readers and datasets as streams, and back."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from penstock import Sink, Stream, thread
from penstock.bridges.arrow import SchemaError, from_arrow, open_reader, to_reader, to_table
from penstock.errors import PenstockError
from penstock.testing import Probe, Tracked
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

SCHEMA = pa.schema({"n": pa.int64(), "name": pa.string()})
TABLE = pa.table({"n": list(range(10)), "name": [None if n % 3 == 0 else f"row {n}" for n in range(10)]})
ROWS = TABLE.to_pylist()
NAIVE = dt.datetime(2024, 2, 29)  # noqa: DTZ001  a moment without a zone is what is meant


@dataclass(frozen=True)
class Place:
    x: float
    y: float


@dataclass(frozen=True)
class Order:
    number: int
    name: str | None
    at: dt.datetime
    day: dt.date
    price: Decimal
    tags: tuple[str, ...]
    place: Place | None
    counts: dict[str, int]
    small: Annotated[int, pa.int8()] = 0


class Pair(NamedTuple):
    n: int
    name: str | None


def order(n: int) -> Order:
    return Order(
        number=n,
        name=f"order {n}" if n % 2 else None,
        at=dt.datetime(2024, 2, 29, 12, 0, n % 60, tzinfo=dt.UTC),
        day=dt.date(2024, 2, 29),
        price=Decimal(n).quantize(Decimal("1.000000000000000000")),
        tags=("a", "b"),
        place=Place(n, 0.5) if n % 3 else None,
        counts={"a": n},
        small=n % 100,
    )


class Batches:
    """Count the batches that are read."""

    def __init__(self, table: pa.Table, size: int) -> None:
        self.read = 0
        self.closed = False
        self._batches = table.to_batches(size)
        self._schema = table.schema

    def _each(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                self.read += 1
                yield batch
        finally:
            self.closed = True

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self._schema, self._each())


# From Arrow.


def test_rows_of_a_table_a_batch_and_a_reader() -> None:
    for source in (TABLE, TABLE.combine_chunks().to_batches()[0], TABLE.to_reader()):
        assert list(from_arrow(source)) == ROWS


def test_what_rows_are() -> None:
    assert list(from_arrow(TABLE, tuple)) == [(row["n"], row["name"]) for row in ROWS]
    assert list(from_arrow(TABLE, Pair)) == [Pair(**row) for row in ROWS]
    assert type(from_arrow(TABLE, Pair).first().get()) is Pair


def test_batches_as_they_are_and_smaller() -> None:
    table = pa.concat_tables([TABLE, TABLE])
    assert [batch.num_rows for batch in from_arrow(table, pa.RecordBatch)] == [10, 10]
    assert [batch.num_rows for batch in from_arrow(table, pa.RecordBatch, batch_rows=4)] == [4, 4, 2, 4, 4, 2]
    assert [batch.num_rows for batch in from_arrow(table.to_reader(), pa.RecordBatch, batch_rows=8)] == [8, 2, 8, 2]


def test_a_table_is_read_by_each_run() -> None:
    stream = from_arrow(TABLE)
    assert list(stream) == list(stream)
    assert list(from_arrow(TABLE.slice(0, 0))) == []


def test_a_reader_is_read_once() -> None:
    stream = from_arrow(TABLE.to_reader())
    assert list(stream) == ROWS
    with pytest.raises(
        PenstockError, match=r"^from_arrow: this reader was taken by an earlier subscriber; give a table "
    ):
        list(stream)


def test_a_batch_is_read_when_it_is_asked_for_and_not_before() -> None:
    batches = Batches(TABLE, 3)
    probe: Probe[Any] = Probe()
    from_arrow(batches.reader()).subscribe(probe)
    assert batches.read == 0
    for asked, read in ((1, 1), (2, 1), (1, 2), (3, 3)):
        probe.request(asked)
        assert batches.read == read
    probe.cancel()
    gc.collect()
    assert batches.closed


def test_a_failing_reader_fails_the_stream() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield TABLE.to_batches()[0]
        raise KeyError("lost")

    probe: Probe[Any] = Probe(20)
    from_arrow(pa.RecordBatchReader.from_batches(TABLE.schema, broken())).subscribe(probe)
    assert probe.elements == ROWS
    assert (type(probe.error), str(probe.error)) == (KeyError, "'lost'")


def test_anything_with_a_c_stream() -> None:
    class Foreign:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return TABLE.__arrow_c_stream__(requested_schema)

    stream = from_arrow(Foreign())
    assert list(stream) == ROWS == list(stream)


def test_rows_of_every_type_come_back_as_their_class() -> None:
    orders = [order(n) for n in range(2000)]
    reader = to_reader(Stream.from_iterable(orders), Order, batch_rows=300)
    assert list(from_arrow(reader, Order)) == orders


def test_maps_are_dicts_and_moments_keep_their_zone() -> None:
    at = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    schema = pa.schema({"at": pa.timestamp("us", tz="UTC"), "map": pa.map_(pa.string(), pa.int64())})
    rows = [{"at": at, "map": {"a": 1}}, {"at": None, "map": None}]
    assert list(from_arrow(to_table(Stream.from_iterable(rows), schema).get())) == rows


def test_a_name_that_is_there_twice_is_refused_for_dicts() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert list(from_arrow(table, tuple)) == [(1, 2)]
    with pytest.raises(SchemaError, match=r"^from_arrow: names must be unique in dicts, got 'a' twice; take tuples$"):
        list(from_arrow(table))


@pytest.mark.parametrize(
    ("kind", "value", "wrong"),
    [
        (pa.large_string(), "a", b"a"),
        (pa.string_view(), "a", 1),
        (pa.large_binary(), b"a", "a"),
        (pa.binary(2), b"ab", "ab"),
        (pa.large_list(pa.int32()), [1, 2], [1.5]),
        (pa.list_(pa.int32(), 2), [1, 2], ["1", "2"]),
        (pa.dictionary(pa.int32(), pa.string()), "a", 1),
        (pa.timestamp("ms"), NAIVE, NAIVE.replace(tzinfo=dt.UTC)),
        (pa.timestamp("ms", tz="UTC"), NAIVE.replace(tzinfo=dt.UTC), NAIVE),
    ],
    ids=str,
)
def test_nothing_is_bent_to_fit(kind: pa.DataType, value: Any, wrong: Any) -> None:
    schema = pa.schema({"v": kind})
    assert list(from_arrow(to_reader(Stream.just((value,)), schema), tuple)) == [(value,)]
    with pytest.raises(SchemaError, match=r"^row 1: field 'v(\[\])?' must be "):
        to_reader(Stream.just((value,), (wrong,)), schema).read_all()


# Datasets.


class Counting(pyarrow.fs.FileSystemHandler):
    """Be a file system that counts what is read from it."""

    def __init__(self) -> None:
        self.files = pyarrow.fs.LocalFileSystem()
        self.read = 0
        self.opened: list[str] = []

    def get_type_name(self) -> str:
        return "counting"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self.files.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return self.files.get_file_info(selector)

    def open_input_file(self, path: str) -> Any:
        self.opened.append(path)
        return pa.PythonFile(CountedFile(self, self.files.open_input_file(path)), mode="r")

    def _refuse(self, *_: object) -> Any:
        raise NotImplementedError

    open_input_stream = _refuse
    copy_file = create_dir = delete_dir = delete_dir_contents = delete_file = delete_root_dir_contents = _refuse
    move = open_append_stream = open_output_stream = _refuse


class CountedFile:
    closed = False

    def __init__(self, counting: Counting, file: Any) -> None:
        self._counting = counting
        self._file = file
        self.seek, self.tell, self.size, self.close = file.seek, file.tell, file.size, file.close

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._file.read(size)
        self._counting.read += len(content)
        return content


@pytest.fixture
def counting(tmp_path: Path) -> tuple[Counting, ds.Dataset]:
    for number in range(20):
        table = pa.table({"n": range(number * 1000, number * 1000 + 1000), "part": [number % 2] * 1000})
        pq.write_table(table, tmp_path / f"{number:02}.parquet", row_group_size=100)
    files = Counting()
    dataset = ds.dataset(str(tmp_path), filesystem=pyarrow.fs.PyFileSystem(files), format="parquet")
    files.opened.clear()
    files.read = 0
    return files, dataset


def test_a_dataset_is_read_one_row_group_at_a_time(counting: tuple[Counting, ds.Dataset]) -> None:
    files, dataset = counting
    probe: Probe[Any] = Probe()
    from_arrow(dataset).subscribe(probe)
    assert files.opened == []
    probe.request(5)
    first = files.read
    assert len(set(files.opened)) == 1
    probe.request(95)
    assert files.read == first  # all of it is of the first group
    probe.request(1)
    assert len(set(files.opened)) == 1
    probe.request(1000)
    assert len(set(files.opened)) == 2
    probe.cancel()
    assert len(set(files.opened)) == 2
    assert probe.elements == [{"n": n, "part": n // 1000 % 2} for n in range(1101)]


def test_a_dataset_whole_and_in_part(counting: tuple[Counting, ds.Dataset]) -> None:
    _, dataset = counting
    assert list(from_arrow(dataset, tuple, columns=["n"])) == [(n,) for n in range(20_000)]
    some = from_arrow(dataset, tuple, columns=["n"], where=(ds.field("n") >= 1998) & (ds.field("n") < 2001))
    assert list(some) == [(1998,), (1999,), (2000,)] == list(some)
    assert [row["n"] for row in from_arrow(ds.dataset([TABLE, TABLE]))] == [*range(10), *range(10)]


# To Arrow.


def test_rows_of_all_kinds_make_a_table() -> None:
    kinds: list[Any] = [
        [{"n": 1, "name": "a"}, {"name": None, "n": 2}], [(1, "a"), [2, None]], [Pair(1, "a"), Pair(2, None)],
        [{"n": 1, "name": "a"}, (2, None)],
    ]  # fmt: skip
    for rows in kinds:
        table = to_table(Stream.from_iterable(rows), SCHEMA).get()
        assert table.to_pydict() == {"n": [1, 2], "name": ["a", None]}
        assert table.schema == SCHEMA


def test_bare_values_make_a_table_of_one_column() -> None:
    assert to_table(Stream.range(3), pa.schema({"n": pa.int64()})).get().to_pydict() == {"n": [0, 1, 2]}


def test_types_are_found_out_without_a_schema() -> None:
    found = to_table(Stream.from_iterable([{"a": None, "b": 1}, {"a": "x", "b": 2.5}])).get()
    assert found.schema == pa.schema({"a": pa.string(), "b": pa.float64()})
    assert to_table(Stream.from_iterable([Pair(1, None)])).get().schema.field("name").type == pa.string()
    assert to_table(Stream.from_iterable(TABLE.to_batches(4))).get() == TABLE
    assert to_table(Stream.empty()).get().num_rows == 0


def test_a_table_in_a_coroutine_and_at_the_end_of_a_pipeline() -> None:
    async def main() -> Any:
        return await to_table(Stream.from_iterable(ROWS), SCHEMA)

    assert asyncio.run(main()) == TABLE.cast(SCHEMA)
    assert (Stream.from_iterable(ROWS) | Sink.of(to_table)).run().wait().num_rows == 10


def test_batches_make_a_reader() -> None:
    batches = Stream.from_iterable(TABLE.to_batches(3))
    read = to_reader(batches, SCHEMA, batch_rows=None)
    assert [batch.num_rows for batch in read] == [3, 3, 3, 1]
    small = pa.schema({"name": pa.string(), "n": pa.int8()})
    assert to_reader(batches, small, batch_rows=None).read_all().schema == small


def test_a_reader_asks_for_a_batch_at_a_time() -> None:
    upstream = Tracked(ROWS)
    reader = to_reader(Stream.from_iterable(upstream), SCHEMA, batch_rows=3)
    assert upstream.opened == 0
    assert reader.read_next_batch().to_pylist() == ROWS[:3]
    assert upstream.taken == 3
    assert reader.read_next_batch().to_pylist() == ROWS[3:6]
    assert upstream.taken == 6
    del reader
    gc.collect()
    upstream.wait_until_closed()


def test_leaving_the_block_ends_the_run() -> None:
    upstream = Tracked(ROWS)
    with open_reader(Stream.from_iterable(upstream), SCHEMA, batch_rows=2) as reader:
        assert reader.read_next_batch().num_rows == 2
    assert upstream.open_runs == 0
    with pytest.raises(StopIteration):
        reader.read_next_batch()


def test_a_reader_over_another_thread_holds_no_more_than_two_batches() -> None:
    upstream = Tracked([{"n": n, "name": "x"} for n in range(1000)])
    stream = Stream.from_iterable(upstream).publish_on(thread(), prefetch=1)
    with open_reader(stream, SCHEMA, batch_rows=10) as reader:
        for read in range(1, 20):
            assert reader.read_next_batch().num_rows == 10
            assert upstream.taken <= read * 10 + 10 + 1


def test_rows_before_an_error_come_before_it_and_the_error_is_the_same() -> None:
    burst = KeyError("burst")
    reader = to_reader(Stream.from_iterable(Tracked(ROWS[:5], burst)), SCHEMA, batch_rows=3)
    assert reader.read_next_batch().num_rows == 3
    assert reader.read_next_batch().num_rows == 2
    with pytest.raises(KeyError) as caught:
        reader.read_next_batch()
    assert caught.value is burst


def test_a_reader_is_read_by_what_reads_readers(tmp_path: Path) -> None:
    reader = to_reader(Stream.from_iterable(ROWS), SCHEMA, batch_rows=3)
    ds.write_dataset(reader, tmp_path, format="parquet", use_threads=False)  # several threads write in any order
    assert list(from_arrow(ds.dataset(tmp_path))) == ROWS


# What does not fit.


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"n": "two", "name": "b"}, "row 3: field 'n' must be int64, got 'two'"),
        ({"n": 1.5, "name": "b"}, "row 3: field 'n' must be int64, got 1.5"),
        ({"n": 2**63, "name": "b"}, f"row 3: field 'n' must be int64, got {2**63}"),
        ({"n": 1, "name": b"b"}, "row 3: field 'name' must be string, got b'b'"),
        ({"n": 1}, "row 3: field 'name' must be given, got {'n': 1}"),
        ({"n": 1, "name": "a", "x": 2}, "row 3: field 'x' must be in the schema, got {'n': 1, 'name': 'a', 'x': 2}"),
        ((1,), "row 3: must have 2 fields (n, name), got 1: (1,)"),
        (7, "row 3: must be a tuple, a dict or a dataclass, got 7"),
        (Place(1, 2), "row 3: field 'n' must be given, got Place(x=1, y=2)"),
    ],
)
def test_a_row_that_does_not_fit_is_named(row: Any, message: str) -> None:
    upstream = Tracked([*ROWS[:3], row, *ROWS[4:]])
    reader = to_reader(Stream.from_iterable(upstream), SCHEMA, batch_rows=2)
    assert reader.read_next_batch().to_pylist() == ROWS[:2]
    with pytest.raises(SchemaError) as caught:
        reader.read_next_batch()
    assert str(caught.value) == message
    assert caught.value.row == 3
    upstream.wait_until_closed()
    with pytest.raises(SchemaError) as caught:
        to_table(Stream.from_iterable(upstream.items), SCHEMA).get()
    assert str(caught.value) == message


def test_a_none_where_none_may_be_is_named() -> None:
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match=r"^row 1: field 'n' must be int64 and not None, got None\n"):
        to_table(Stream.from_iterable([{"n": 1}, {"n": None}]), schema).get()


def test_a_bare_none_is_no_row() -> None:
    with pytest.raises(TypeError, match=r"rule 2\.13"):
        to_table(Stream.from_iterable([None]), pa.schema({"n": pa.int64()})).get()


def test_rows_that_differ_without_a_schema_are_named() -> None:
    with pytest.raises(SchemaError, match=r"^row 1: field 'a' must be int64, got 'x'\n"):
        to_table(Stream.from_iterable([{"a": 1}, {"a": "x"}])).get()
    with pytest.raises(SchemaError, match=r"^row 1: field 'b' must be in the schema, got \{'a': 1, 'b': 2\}\n"):
        to_table(Stream.from_iterable([{"a": 1}, {"a": 1, "b": 2}])).get()
    with pytest.raises(SchemaError, match=r"^to_table: schema must be given for rows that have no names, got 0\n"):
        to_table(Stream.range(3)).get()


def test_a_batch_that_does_not_fit_is_named() -> None:
    other = pa.table({"n": [1], "x": [2]}).to_batches()[0]
    with pytest.raises(SchemaError, match=r"^batch 1: field 'name' must be in the batch, got fields \['n', 'x'\]$"):
        to_reader(Stream.just(TABLE.to_batches()[0], other), SCHEMA, batch_rows=None).read_all()
    wrong = pa.table({"n": ["a"], "name": ["b"]}).to_batches()[0]
    with pytest.raises(SchemaError, match=r"^batch 0: field 'n' must be int64, got string: "):
        to_reader(Stream.just(wrong), SCHEMA, batch_rows=None).read_all()


def test_a_class_that_does_not_fit_the_table() -> None:
    with pytest.raises(
        SchemaError, match=r"^from_arrow: element must have the fields \['n', 'name'\], got \['x', 'y'\] of Place$"
    ):
        list(from_arrow(TABLE, Place))


def test_bad_arguments() -> None:
    rows = Stream.from_iterable(ROWS)
    with pytest.raises(
        TypeError, match=r"^from_arrow: source must be a Table, .* or anything with __arrow_c_stream__, got 3$"
    ):
        from_arrow(3)
    with pytest.raises(TypeError, match=r"^from_arrow: element must be dict, tuple, .*, got <class 'int'>$"):
        from_arrow(TABLE, int)
    with pytest.raises(ValueError, match=r"^from_arrow: batch_rows must be >= 1, got 0$"):
        from_arrow(TABLE, batch_rows=0)
    with pytest.raises(ValueError, match=r"^from_arrow: columns and where are for datasets, got Table$"):
        from_arrow(TABLE, columns=["n"])
    with pytest.raises(ValueError, match=r"^from_arrow: a dataset must not be filtered already, .*; give where=$"):
        from_arrow(ds.dataset(TABLE).filter(ds.field("n") > 3))
    with pytest.raises(
        TypeError, match=r"^to_reader: schema must be a pyarrow.Schema, a dataclass or .*, got 'n int'$"
    ):
        to_reader(rows, "n int")
    with pytest.raises(SchemaError, match=r"^to_reader: names of a schema must be unique, got 'a' twice$"):
        to_reader(rows, pa.schema([("a", pa.int64()), ("a", pa.int64())]))
    with pytest.raises(ValueError, match=r"^to_reader: batch_rows must be >= 1, got 0$"):
        to_reader(rows, SCHEMA, batch_rows=0)
    with pytest.raises(
        TypeError, match=r"^to_table: stream must be a Stream, got \[1\]; Stream.from_publisher makes one$"
    ):
        to_table([1])  # type: ignore[arg-type]


def test_a_class_that_arrow_has_no_type_for() -> None:
    @dataclass
    class Odd:
        n: object

    with pytest.raises(
        SchemaError, match=r"^schema: Odd\.n: must be annotated with a type Arrow has, got object; name it "
    ):
        to_reader(Stream.empty(), Odd)


@pytest.mark.parametrize(
    ("module", "extra"), [("arrow", "pyarrow"), ("pandas", "pandas"), ("polars", "polars"), ("numpy", "numpy")]
)
def test_a_missing_library_is_named_with_its_cure(module: str, extra: str) -> None:
    program = f"import sys; sys.modules[{extra!r}] = None\nimport penstock.bridges.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    message = f"penstock.bridges.{module} needs {extra}, which is not installed: pip install 'penstock[{module}]'"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"


def test_a_reader_may_be_read_on_another_thread() -> None:
    reader = to_reader(Stream.from_iterable(ROWS), SCHEMA, batch_rows=3)
    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.append(reader.read_all()))
    reading.start()
    reading.join()
    assert found[0].to_pylist() == ROWS
