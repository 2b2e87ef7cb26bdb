"""schema: one description of rows for Python, Arrow and Spark, and the way between rows and record batches."""

from __future__ import annotations

import datetime as dt
import decimal
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import types as spark

from penstock.bridges.shared.columns import SchemaError, array_of, short
from penstock.bridges.shared.hints import hints_of, is_record, name_of, without_none
from penstock.bridges.shared.rows import AsRecords, as_tuples, columns_of
from penstock.spark.versions.arrow_types import TIME, arrow_schema, spark_struct, spark_type
from penstock.spark.wire.ddl import struct_of
from penstock.spark.wire.rows import AsNamed, row_type
from penstock.spark.wire.sorting import sort_out

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Described: TypeAlias = "Schema | type[Any] | pa.Schema | spark.StructType | str"
"""What a schema can be made from: a dataclass or NamedTuple, an Arrow or a Spark schema, or `name type, ...`."""

Form: TypeAlias = 'Literal["named", "tuple"] | type[Any]'
"""How rows are handed to Python code: as named tuples, as plain tuples, or as a dataclass."""

_PLAIN: dict[object, Callable[[], spark.DataType]] = {
    bool: spark.BooleanType,
    int: spark.LongType,
    float: spark.DoubleType,
    str: spark.StringType,
    bytes: spark.BinaryType,
    dt.datetime: spark.TimestampType,
    dt.date: spark.DateType,
    **({} if TIME is None else {dt.time: TIME}),
    dt.timedelta: spark.DayTimeIntervalType,
    decimal.Decimal: lambda: spark.DecimalType(38, 18),
}


@dataclass(frozen=True, slots=True)
class Schema:
    """A description of rows for Arrow and for Spark; `row` is the dataclass or NamedTuple it was made from, if any."""

    arrow: pa.Schema
    struct: spark.StructType
    row: type[Any] | None = None

    @staticmethod
    def of(given: Described) -> Schema:
        """Make a schema from a dataclass, a NamedTuple, an Arrow schema, a Spark schema or a DDL string.

        Args:
            given: One of these, or a schema.
        """
        if isinstance(given, Schema):
            return given
        if isinstance(given, spark.StructType):
            return _of_struct(given, None)
        if isinstance(given, pa.Schema):
            return _of_arrow(given)
        if isinstance(given, str):
            return _of_struct(struct_of(given), None)
        if is_record(given):
            return _of_struct(_struct_of(given, ()), given)
        raise SchemaError(
            "schema: must be a dataclass, a NamedTuple class, a pyarrow.Schema, a StructType or a DDL string,"
            f" got {short(given)}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the fields, in order."""
        return tuple(self.arrow.names)

    def batch(self, rows: Sequence[Any], first: int = 0) -> pa.RecordBatch:
        """Make one record batch of rows (tuples, dicts, dataclasses); `first` is the number of the first row.

        With a schema of one field a row may also be that field's bare value.
        """
        return self.batch_of(columns_of(self.names, rows, first), first)

    def batch_of(self, columns: Sequence[Sequence[Any]], first: int = 0) -> pa.RecordBatch:
        """Make one record batch of columns; `first` is the number of the first row."""
        arrays = [array_of(field, column, first) for field, column in zip(self.arrow, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.arrow)

    def sorted_out(
        self, rows: Sequence[Any], first: int = 0
    ) -> tuple[pa.RecordBatch, list[tuple[int, Any, SchemaError]]]:
        """Make one record batch of the rows that fit; return it with the others: which, the row, what is wrong.

        Args:
            rows: The rows.
            first: The number of the first of them.
        """
        try:
            return self.batch(rows, first), []
        except SchemaError:
            batch, bad = sort_out(self.arrow, rows, first)
            return batch, [(place, rows[place], error) for place, error in bad.items()]

    def fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a record batch in exactly this schema: columns by name, converted only where nothing is lost."""
        if batch.schema.equals(self.arrow):
            return batch
        names = batch.schema.names
        for name in (*self.names, *names):
            if names.count(name) != self.names.count(name):
                expected = "in the batch" if name in self.names else "in the schema"
                raise SchemaError(
                    f"batch: field {name!r} must be {expected}, got fields {names!r}", field=name, expected=expected
                )
        arrays = [_cast(batch.column(names.index(field.name)), field) for field in self.arrow]
        return pa.RecordBatch.from_arrays(arrays, schema=self.arrow)

    def reader(self, form: Form | None = None) -> Callable[[pa.RecordBatch], Iterator[Any]]:
        """Return a function that iterates over a batch's rows, made column by column.

        Without a form rows are of the class the schema was made from, or named tuples.
        """
        if form is None:
            form = self.row or "named"
        if form in {"tuple", tuple}:
            return as_tuples
        if form == "named":
            return AsNamed(self.names)
        if not is_record(form):
            raise SchemaError(f"schema: rows must be 'named', 'tuple' or a dataclass, got {short(form)}")
        own = tuple(hints_of(form))
        if set(own) != set(self.names):
            raise SchemaError(
                f"schema: rows must have the fields {list(self.names)}, got {list(own)} of {name_of(form)}"
            )
        return AsRecords(form, self.names)


def addressed(df: DataFrame) -> DataFrame:
    """Return a DataFrame whose columns PySpark can address by their names, where rows are read by position.

    It takes a dot in a name for a way into a struct and backticks for quotes, and does not tell `a` from `A`.
    """
    columns = df.columns
    plain = not any("." in name or "`" in name for name in columns)
    if plain and len({name.lower() for name in columns}) == len(columns):
        return df
    return df.toDF(*map("column{}".format, range(len(columns))))


# Describing.


def _of_struct(struct: spark.StructType, row: type[Any] | None) -> Schema:
    names = struct.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(
            f"schema: names must be unique, got {twice[0]!r} twice; rename one of them, or drop it, as after a join",
            field=twice[0],
        )
    if not names:
        raise SchemaError("schema: must have at least one field, got none")
    try:
        return Schema(arrow_schema(struct), struct, row)
    except PySparkException as error:
        raise SchemaError(f"schema: {error.getMessage()}") from error


def _of_arrow(given: pa.Schema) -> Schema:
    try:
        struct = spark_struct(given)
    except PySparkException as error:
        raise SchemaError(f"schema: {error.getMessage()}") from error
    return _of_struct(struct, None)


def _struct_of(record: type[Any], within: tuple[type[Any], ...]) -> spark.StructType:
    if record in within:
        raise SchemaError(f"schema: {name_of(record)}: must not contain itself")
    fields: list[spark.StructField] = []
    for name, hint in hints_of(record).items():
        kind, nullable = _type_of(hint, f"{name_of(record)}.{name}", (*within, record))
        fields.append(spark.StructField(name, kind, nullable))
    return spark.StructType(fields)


def _type_of(hint: Any, where: str, within: tuple[type[Any], ...]) -> tuple[spark.DataType, bool]:
    hint, nullable = without_none(hint)
    if typing.get_origin(hint) is typing.Annotated:
        extras = hint.__metadata__
        hint, inner = without_none(hint.__origin__)
        nullable = nullable or inner
        for extra in extras:
            if isinstance(extra, spark.DataType):
                return extra, nullable
            if isinstance(extra, pa.DataType):
                return spark_type(extra), nullable
    if hint in _PLAIN:
        return _PLAIN[hint](), nullable
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {list, set, frozenset, Sequence} or (origin is tuple and arguments[1:] == (...,)):
        kind, holes = _type_of(arguments[0], f"{where}[]", within)
        return spark.ArrayType(kind, holes), nullable
    if origin in {dict, Mapping}:
        key, _ = _type_of(arguments[0], f"{where}.key", within)
        item, holes = _type_of(arguments[1], f"{where}.value", within)
        return spark.MapType(key, item, holes), nullable
    if is_record(hint):
        return _struct_of(hint, within), nullable
    raise SchemaError(
        f"schema: {where}: must be annotated with a type Spark has, got {name_of(hint)};"
        " name it yourself with Annotated[..., IntegerType()]"
    )


def _cast(array: pa.Array, field: pa.Field) -> pa.Array:
    expected = str(field.type) if field.nullable else f"{field.type} and not None"
    if array.null_count and not field.nullable:
        raise SchemaError(
            f"batch: field {field.name!r} must be {expected}, got None", field=field.name, expected=expected
        )
    try:
        return array.cast(field.type, safe=True)
    except pa.ArrowException as error:
        message = f"batch: field {field.name!r} must be {expected}, got {array.type}: {error}"
        raise SchemaError(message, field=field.name, expected=expected) from error


__all__ = ["Described", "Form", "Schema", "SchemaError", "addressed", "is_record", "row_type"]
