from __future__ import annotations

import dataclasses
import datetime as dt
import pickle
import re
import sys
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql import types as t

from penstock.spark import Schema, SchemaError, Spark

MOMENT = dt.datetime(2024, 5, 1, 12, 30, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Point:
    x: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Everything:
    whole: int
    real: float
    text: str
    flag: bool
    raw: bytes
    at: dt.datetime
    day: dt.date
    span: dt.timedelta
    price: Decimal
    maybe: int | None
    many: list[int]
    pair: tuple[str, ...]
    named: dict[str, float]
    point: Point
    points: list[Point]
    small: Annotated[int, t.ShortType()]
    single: Annotated[float | None, pa.float32()]


class Departure(NamedTuple):
    origin: str
    delay: int | None


@dataclass
class Keyword:
    a: int
    b: str = dataclasses.field(kw_only=True)


EVERYTHING = Everything(
    1, 0.5, "a", True, b"\x00", MOMENT, dt.date(2024, 5, 1), dt.timedelta(seconds=3), Decimal("1.5"), None, [1, 2],
    ("p", "q"), {"k": 1.0}, Point(1), [Point(2, "two"), Point(3)], 7, None,
)  # fmt: skip

TWO = Schema.of(t.StructType([t.StructField("n", t.LongType(), False), t.StructField("s", t.StringType())]))


def one(kind: t.DataType, nullable: bool = True) -> Schema:
    return Schema.of(t.StructType([t.StructField("f", kind, nullable)]))


def refused(message: str) -> Any:
    return pytest.raises(SchemaError, match=f"^{re.escape(message)}$")


# Describing.


def test_a_dataclass_gives_the_same_schema_to_arrow_and_to_spark() -> None:
    schema = Schema.of(Everything)
    assert schema.names == tuple(field.name for field in dataclasses.fields(Everything))
    assert schema.row is Everything
    assert schema.struct["whole"] == t.StructField("whole", t.LongType(), nullable=False)
    assert schema.struct["maybe"] == t.StructField("maybe", t.LongType(), nullable=True)
    assert schema.struct["small"].dataType == t.ShortType()
    assert schema.struct["single"] == t.StructField("single", t.FloatType(), nullable=True)
    assert schema.struct["points"].dataType == t.ArrayType(
        t.StructType([t.StructField("x", t.LongType(), False), t.StructField("label", t.StringType())]), False
    )
    assert schema.arrow.field("at").type == pa.timestamp("us", "UTC")
    assert not schema.arrow.field("whole").nullable


def test_every_way_of_describing_gives_an_equal_schema(spark: Spark) -> None:
    @dataclass
    class Two:
        n: int
        s: str | None

    arrow = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("s", pa.large_string())])
    for described in (Two, arrow, TWO.struct, "n bigint not null, s string", TWO):
        schema = Schema.of(described)
        assert (schema.arrow, schema.struct) == (TWO.arrow, TWO.struct)
    assert spark.session.createDataFrame([(1, "a")], TWO.struct).schema == TWO.struct


def test_a_schema_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(Schema.of(Everything)))
    assert copy == Schema.of(Everything)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            5,
            "schema: must be a dataclass, a NamedTuple class, a pyarrow.Schema, a StructType or a DDL string, got 5",
        ),
        (t.StructType([]), "schema: must have at least one field, got none"),
        (
            pa.schema([("a", pa.int64()), ("a", pa.int64())]),
            "schema: names must be unique, got 'a' twice; rename one of them, or drop it, as after a join",
        ),
    ],
)
def test_what_describes_nothing_is_refused(given: Any, message: str) -> None:
    with refused(message):
        Schema.of(given)


def test_an_arrow_type_that_spark_lacks_is_named() -> None:
    with pytest.raises(SchemaError, match=r"^schema: .*uint32.*$"):
        Schema.of(pa.schema([("a", pa.uint32())]))


def test_a_hint_that_spark_lacks_is_named_with_its_field() -> None:
    @dataclass
    class Wrong:
        fine: int
        odd: complex

    with refused(
        "schema: Wrong.odd: must be annotated with a type Spark has, got complex;"
        " name it yourself with Annotated[..., IntegerType()]"
    ):
        Schema.of(Wrong)


def test_a_wrong_ddl_string_is_refused() -> None:
    wrong = "expected a type of Spark's, found 'nonsense'"
    with refused(f"schema: must be DDL like 'name string, age int', got 'n nonsense': {wrong}"):
        Schema.of("n nonsense")
    with refused("schema: must have at least one field, got none"):
        Schema.of("")


# Rows to batches.


def test_rows_of_every_shape_give_the_same_batch() -> None:
    swapped = namedtuple("swapped", "s n")

    @dataclass
    class Two:
        s: str | None
        n: int

    shapes: list[list[Any]] = [
        [(1, "a"), (2, None)],
        [[1, "a"], [2, None]],
        [{"s": "a", "n": 1}, {"n": 2, "s": None}],
        [Two("a", 1), Two(None, 2)],
        [swapped("a", 1), swapped(None, 2)],
        [Row(s="a", n=1), Row(s=None, n=2)],
        [(1, "a"), {"n": 2, "s": None}],
        [Row(n=1, s="a"), Row(s=None, n=2)],
    ]
    expected = pa.RecordBatch.from_pydict({"n": [1, 2], "s": ["a", None]}, schema=TWO.arrow)
    for rows in shapes:
        assert TWO.batch(rows).equals(expected), rows


def test_no_rows_give_an_empty_batch_of_the_schema() -> None:
    batch = Schema.of(Everything).batch([])
    assert (batch.num_rows, batch.schema) == (0, Schema.of(Everything).arrow)


def test_a_schema_of_one_field_takes_bare_values() -> None:
    assert one(t.LongType()).batch([1, None, 3]).to_pydict() == {"f": [1, None, 3]}
    assert one(t.LongType()).batch([(1,), 2]).to_pydict() == {"f": [1, 2]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, "a"), (2,)], "row 11: must have 2 fields (n, s), got 1: (2,)"),
        ([(1, "a"), (2, "b", 3)], "row 11: must have 2 fields (n, s), got 3: (2, 'b', 3)"),
        ([{"n": 1, "s": ""}, {"n": 1}], "row 11: field 's' must be given, got {'n': 1}"),
        (
            [{"n": 1, "s": "", "z": 1}],
            "row 10: field 'z' must be in the schema, got {'n': 1, 's': '', 'z': 1}",
        ),
        ([Point(1)], "row 10: field 'n' must be given, got Point(x=1, label=None)"),
        ([(1, "a"), 5], "row 11: must be a tuple, a dict or a dataclass, got 5"),
        ([(1, "a"), (None, "b")], "row 11: field 'n' must be int64 and not None, got None"),
        ([(1, "a"), (1.5, "b")], "row 11: field 'n' must be int64 and not None, got 1.5"),
        ([(1, "a"), (2**63, "b")], "row 11: field 'n' must be int64 and not None, got 9223372036854775808"),
        ([(1, "a"), (2, b"b")], "row 11: field 's' must be string, got b'b'"),
    ],
)
def test_a_row_that_does_not_fit_is_named(rows: list[Any], message: str) -> None:
    with refused(message):
        TWO.batch(rows, first=10)


def test_the_error_carries_row_field_type_and_value() -> None:
    with pytest.raises(SchemaError) as caught:
        TWO.batch([(1, "a"), (2, 3)])
    error = caught.value
    assert (error.row, error.field, error.expected, error.value) == (1, "s", "string", 3)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.row, copy.field, copy.expected, copy.value) == (str(error), 1, "s", "string", "3")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (t.LongType(), True, "int64"),
        (t.LongType(), 1.0, "int64"),
        (t.LongType(), Decimal(1), "int64"),
        (t.LongType(), "1", "int64"),
        (t.ByteType(), 300, "int8"),
        (t.DoubleType(), True, "double"),
        (t.DoubleType(), "1", "double"),
        (t.DoubleType(), 2**60 + 1, "double"),
        (t.FloatType(), 1e300, "float"),
        (t.StringType(), 1, "string"),
        (t.StringType(), "\ud800", "string"),
        (t.BinaryType(), "text", "binary"),
        (t.BooleanType(), 1, "bool"),
        (t.DateType(), MOMENT, "date32[day]"),
        (t.DateType(), 5, "date32[day]"),
        (t.TimestampType(), 5, "timestamp[us, tz=UTC]"),
        (t.TimestampType(), dt.date(2024, 1, 1), "timestamp[us, tz=UTC]"),
        (
            t.TimestampType(),
            MOMENT.replace(tzinfo=None),
            "a datetime with a time zone (or declare the field without one)",
        ),
        (t.TimestampNTZType(), MOMENT, "a datetime without a time zone (or declare the field with one)"),
        (t.DayTimeIntervalType(), 5, "duration[us]"),
        (t.DecimalType(5, 2), 1.5, "decimal128(5, 2)"),
        (t.DecimalType(5, 2), Decimal("1.234"), "decimal128(5, 2)"),
        (t.DecimalType(5, 2), Decimal(123456), "decimal128(5, 2)"),
        (t.ArrayType(t.StringType()), "text", "list<element: string>"),
        (t.MapType(t.StringType(), t.LongType()), [("a", 1)], "map<string, int64>"),
    ],
)
def test_a_value_is_never_bent_to_fit(kind: t.DataType, value: object, expected: str) -> None:
    with pytest.raises(SchemaError) as caught:
        one(kind).batch([(None,), (value,)])
    assert (caught.value.row, caught.value.field, caught.value.expected) == (1, "f", expected)
    assert str(caught.value).startswith(f"row 1: field 'f' must be {expected}, got ")


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        (dataclasses.replace(EVERYTHING, many=[1, None]), "many[]", "int64 and not None"),
        (dataclasses.replace(EVERYTHING, named={"a": "b"}), "named.value", "double and not None"),
        (dataclasses.replace(EVERYTHING, named={1: 1.0}), "named.key", "string and not None"),
        (dataclasses.replace(EVERYTHING, point=Point("x")), "point.x", "int64 and not None"),
        (dataclasses.replace(EVERYTHING, points=[Point(1), {"x": 1}]), "points[].label", "given"),
        (dataclasses.replace(EVERYTHING, points=[{"x": 1, "label": "", "y": 1}]), "points[].y", "in the schema"),
    ],
)
def test_a_nested_field_is_named_by_its_path(value: Everything, path: str, expected: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.of(Everything).batch([EVERYTHING, value])
    assert (caught.value.row, caught.value.field, caught.value.expected) == (1, path, expected)


def test_rows_that_fit_are_sorted_from_those_that_do_not() -> None:
    rows: list[Any] = [(1, "a"), (None, "b"), 7, (2, None)]
    batch, bad = TWO.sorted_out(rows, first=5)
    assert batch.to_pydict() == {"n": [1, 2], "s": ["a", None]}
    assert [(index, row, str(error)) for index, row, error in bad] == [
        (1, (None, "b"), "row 6: field 'n' must be int64 and not None, got None"),
        (2, 7, "row 7: must be a tuple, a dict or a dataclass, got 7"),
    ]
    assert TWO.sorted_out([(1, "a")]) == (TWO.batch([(1, "a")]), [])


@pytest.mark.parametrize("every", [1, 2, 3, 7, 100, 1000])
def test_rows_are_sorted_out_together_as_they_would_be_one_by_one(every: int) -> None:
    fields = [("n", pa.int64()), ("x", pa.float64()), ("s", pa.string()), ("t", pa.timestamp("us", tz="UTC"))]
    schema = Schema.of(pa.schema([*fields, ("p", pa.struct([pa.field("a", pa.int32(), nullable=False)]))]))
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    faults: list[Any] = [
        ("x", 1.0, "", moment, {"a": 1}),
        (2**70, 1.0, "", moment, {"a": 1}),
        (1, "y", b"both", moment, {"a": 1}),
        (1, 1.0, "\udc80", moment, {"a": 1}),
        (1, 1.0, "", moment.replace(tzinfo=None), {"a": 1}),
        (1, 1.0, "", moment, {"b": 1}),
        (1, 1.0, "", moment, {"a": None}),
        (1, 1.0),
        {"n": 1},
        7,
    ]
    rows: list[Any] = [
        faults[number // every % len(faults)] if number % every == 0 else (number, 0.5, "s", None, None)
        for number in range(1000)
    ]
    batch, bad = schema.sorted_out(rows, first=5)
    good, alone = [], []
    for number, row in enumerate(rows, 5):
        try:
            schema.batch((row,), number)
            good.append(row)
        except SchemaError as error:
            alone.append((row, str(error), error.row, error.field, error.expected))
    assert batch == schema.batch(good)
    assert [(row, str(error), error.row, error.field, error.expected) for _, row, error in bad] == alone
    assert alone


def test_a_batch_is_fitted_by_name_where_nothing_is_lost() -> None:
    given = pa.RecordBatch.from_pydict({"s": pa.array(["a"], pa.large_string()), "n": pa.array([1], pa.int32())})
    fitted = TWO.fitted(given)
    assert fitted.schema == TWO.arrow
    assert fitted.to_pydict() == {"n": [1], "s": ["a"]}
    assert TWO.fitted(fitted) is fitted


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"n": [1]}, "batch: field 's' must be in the batch, got fields ['n']"),
        ({"n": [1], "s": ["a"], "z": [1]}, "batch: field 'z' must be in the schema, got fields ['n', 's', 'z']"),
        ({"n": [None], "s": ["a"]}, "batch: field 'n' must be int64 and not None, got None"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(columns: dict[str, Any], message: str) -> None:
    with refused(message):
        TWO.fitted(pa.RecordBatch.from_pydict(columns))


def test_a_batch_is_not_bent_to_fit() -> None:
    with pytest.raises(SchemaError, match=r"^batch: field 'n' must be int64 and not None, got double: .*truncated.*$"):
        TWO.fitted(pa.RecordBatch.from_pydict({"n": [1.5], "s": ["a"]}))


# Batches to rows.


def test_a_dataclass_goes_there_and_back() -> None:
    schema = Schema.of(Everything)
    assert list(schema.reader()(schema.batch([EVERYTHING, EVERYTHING]))) == [EVERYTHING, EVERYTHING]


def test_a_named_tuple_class_and_keyword_only_fields_go_there_and_back() -> None:
    for row in (Departure("JFK", None), Keyword(1, b="x")):
        schema = Schema.of(type(row))
        (back,) = schema.reader()(schema.batch([row]))
        assert (back, type(back)) == (row, type(row))


def test_rows_are_read_as_named_tuples_or_plain_ones() -> None:
    batch = TWO.batch([(1, "a")])
    (named,) = TWO.reader()(batch)
    (plain,) = TWO.reader("tuple")(batch)
    assert (named.n, named.s, tuple(named)) == (1, "a", (1, "a"))
    assert type(plain) is tuple
    copy = pickle.loads(pickle.dumps(named))
    assert (copy, type(copy)) == (named, type(named))


def test_names_that_are_no_identifiers_are_read_by_place() -> None:
    schema = Schema.of(pa.schema([("count(1)", pa.int64()), ("n", pa.int64())]))
    (row,) = schema.reader("named")(schema.batch([(1, 2)]))
    assert (row[0], row.n, getattr(row, "count(1)")) == (1, 2, 1)
    assert pickle.loads(pickle.dumps(row)) == row


def test_a_name_that_begins_with_an_underscore_is_that_of_its_column() -> None:
    schema = Schema.of(pa.schema([(name, pa.int64()) for name in ("_1", "_2", "class", "_fields")]))
    (row,) = schema.reader("named")(schema.batch([(10, 20, 30, 40)]))
    assert (row._1, row._2, getattr(row, "class"), row[3]) == (10, 20, 30, 40)
    assert row._asdict() == {"_1": 10, "_2": 20, "class": 30, "_fields": 40}
    assert row._replace(_1=11) == (11, 20, 30, 40)
    assert repr(row) == "Row(_1=10, _2=20, class=30, _fields=40)"
    assert type(pickle.loads(pickle.dumps(row))) is type(row)
    with pytest.raises(ValueError, match=r"^row: fields must be of \['_1', '_2', 'class', '_fields'\], got \['_0'\]$"):
        row._replace(_0=1)


def test_a_form_that_does_not_fit_is_refused() -> None:
    with refused("schema: rows must have the fields ['n', 's'], got ['x', 'label'] of Point"):
        TWO.reader(Point)
    with refused("schema: rows must be 'named', 'tuple' or a dataclass, got 'list'"):
        TWO.reader("list")  # type: ignore[arg-type]


MOMENTS = st.datetimes(timezones=st.just(dt.UTC))
ROWS = st.builds(
    Everything,
    whole=st.integers(-(2**63), 2**63 - 1),
    real=st.floats(allow_nan=False),
    text=st.text(),
    flag=st.booleans(),
    raw=st.binary(),
    at=MOMENTS,
    day=st.dates(),
    span=st.timedeltas(dt.timedelta(-10000), dt.timedelta(10000)),
    price=st.decimals(-(10**18), 10**18, places=6),
    maybe=st.none() | st.integers(-5, 5),
    many=st.lists(st.integers(-5, 5)),
    pair=st.lists(st.text()).map(tuple),
    named=st.dictionaries(st.text(), st.floats(allow_nan=False)),
    point=st.builds(Point, st.integers(-5, 5), st.none() | st.text()),
    points=st.lists(st.builds(Point, st.integers(-5, 5), st.none() | st.text())),
    small=st.integers(-(2**15), 2**15 - 1),
    single=st.none() | st.floats(width=32, allow_nan=False),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(ROWS, max_size=5))
def test_any_rows_go_there_and_back(rows: list[Everything]) -> None:
    schema = Schema.of(Everything)
    assert list(schema.reader()(schema.batch(rows))) == rows


def test_a_reader_goes_where_the_hints_of_its_class_cannot_be_read(monkeypatch):
    away = ModuleType("away")
    monkeypatch.setitem(sys.modules, "away", away)
    text = """
from __future__ import annotations
import datetime as dt
from typing import NamedTuple

class Day(NamedTuple):
    day: dt.date

class Trip(NamedTuple):
    at: dt.datetime
    days: list[Day]
"""
    exec(text, vars(away))
    schema = Schema.of(away.Trip)
    trip = away.Trip(dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC), [away.Day(dt.date(2024, 5, 2))])
    cloudpickle.register_pickle_by_value(away)
    shipped = cloudpickle.dumps(schema.reader())
    cloudpickle.unregister_pickle_by_value(away)
    monkeypatch.delitem(sys.modules, "away")
    (back,) = cloudpickle.loads(shipped)(schema.batch([trip]))
    assert back == trip
    assert type(back.days[0]).__name__ == "Day"
