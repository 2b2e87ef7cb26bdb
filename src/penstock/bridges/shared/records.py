"""records: rows of Arrow as Python's dicts, tuples, dataclasses and NamedTuples, and back."""

from __future__ import annotations

import datetime as dt
import decimal
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.bridges.shared.columns import SchemaError, array_of, has_map, short
from penstock.bridges.shared.hints import hints_of, is_record, name_of, without_none
from penstock.bridges.shared.rows import AsRecords, as_tuples, columns_of

_PLAIN: dict[object, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    dt.datetime: pa.timestamp("us", tz="UTC"),
    dt.date: pa.date32(),
    dt.time: pa.time64("us"),
    dt.timedelta: pa.duration("us"),
    decimal.Decimal: pa.decimal128(38, 18),
}


# Schemas.


def schema_of(function: str, given: Any) -> pa.Schema:
    """Return the Arrow schema that was given, or that of a dataclass or NamedTuple class."""
    if isinstance(given, pa.Schema):
        twice = sorted({name for name in given.names if given.names.count(name) > 1})
        if twice:
            raise SchemaError(f"{function}: names of a schema must be unique, got {twice[0]!r} twice", field=twice[0])
        return given
    if is_record(given):
        return pa.schema(_fields(given, ()))
    raise TypeError(
        f"{function}: schema must be a pyarrow.Schema, a dataclass or a NamedTuple class, got {short(given)}"
    )


def _fields(record: Any, within: tuple[Any, ...]) -> list[pa.Field]:
    if record in within:
        raise SchemaError(f"schema: {record.__name__} must not contain itself")
    return [
        _field(name, hint, f"{record.__name__}.{name}", (*within, record)) for name, hint in hints_of(record).items()
    ]


def _field(name: str, hint: Any, where: str, within: tuple[Any, ...]) -> pa.Field:
    hint, nullable = without_none(hint)
    if typing.get_origin(hint) is typing.Annotated:
        named = [extra for extra in hint.__metadata__ if isinstance(extra, pa.DataType)]
        if named:
            return pa.field(name, named[0], nullable)
        hint = hint.__origin__
    return pa.field(name, _type(hint, where, within), nullable)


def _type(hint: Any, where: str, within: tuple[Any, ...]) -> pa.DataType:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {list, set, frozenset, Sequence} or (origin is tuple and arguments[1:] == (...,)):
        return pa.list_(_field("item", arguments[0], f"{where}[]", within))
    if origin in {dict, Mapping}:
        key = _field("key", arguments[0], f"{where}.key", within).type
        return pa.map_(key, _field("value", arguments[1], f"{where}.value", within))
    if is_record(hint):
        return pa.struct(_fields(hint, within))
    raise SchemaError(
        f"schema: {where}: must be annotated with a type Arrow has, got {name_of(hint)}; "
        "name it with Annotated[..., pa.int32()]"
    )


# Rows to batches.


def batch_of(schema: pa.Schema, rows: Sequence[Any], first: int) -> pa.RecordBatch:
    """Make a record batch of rows; SchemaError names the row, the field and the value that do not fit."""
    columns = columns_of(tuple(schema.names), rows, first)
    arrays = [array_of(field, column, first) for field, column in zip(schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def fitted(schema: pa.Schema, batch: pa.RecordBatch, index: int) -> pa.RecordBatch:
    """Return a batch in exactly this schema: columns by name, converted only where nothing is lost."""
    if batch.schema.equals(schema):
        return batch
    names = batch.schema.names
    for name in (*schema.names, *names):
        if names.count(name) != schema.names.count(name):
            expected = "in the batch" if name in schema.names else "in the schema"
            message = f"batch {index}: field {name!r} must be {expected}, got fields {names!r}"
            raise SchemaError(message, field=name, expected=expected)
    return pa.RecordBatch.from_arrays(
        [_cast(batch.column(field.name), field, index) for field in schema], schema=schema
    )


def _cast(array: pa.Array, field: pa.Field, index: int) -> pa.Array:
    expected = str(field.type) if field.nullable else f"{field.type} and not None"
    found = "None" if array.null_count and not field.nullable else str(array.type)
    try:
        if found != "None":
            return array.cast(field.type, safe=True)
    except pa.ArrowException as error:
        found = f"{found}: {error}"
    message = f"batch {index}: field {field.name!r} must be {expected}, got {found}"
    raise SchemaError(message, field=field.name, expected=expected)


def inferred(function: str, rows: Sequence[Any]) -> pa.Table:
    """Make a table of rows that say themselves what they are."""
    if not rows:
        return pa.table({})
    kind = type(rows[0])
    if issubclass(kind, pa.RecordBatch):
        return pa.Table.from_batches([fitted(rows[0].schema, batch, index) for index, batch in enumerate(rows)])
    if is_record(kind):
        schema = schema_of(function, kind)
        return pa.Table.from_batches([batch_of(schema, rows, 0)])
    if not issubclass(kind, Mapping):
        raise SchemaError(
            f"{function}: schema must be given for rows that have no names, got {short(rows[0])}", row=0, value=rows[0]
        )
    names = tuple(rows[0])
    columns = columns_of(names, rows, 0)
    return pa.table([_guessed(name, column) for name, column in zip(names, columns, strict=True)], names=names)


def _guessed(name: str, column: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(column)
    except (pa.ArrowException, OverflowError) as error:
        known = pa.array([value for value in column if value is not None][:1])
        array_of(pa.field(name, known.type), column, 0)  # says which row does not fit with the first
        raise SchemaError(f"field {name!r}: {error}", field=name) from error


# Batches to rows.

Rows = Callable[[pa.RecordBatch], Iterable[Any]]


def rows_as(function: str, element: Any) -> Rows:
    """Return how to make the rows of a batch of the class that was asked for."""
    if element is dict:
        return _dicts
    if element is tuple:
        return as_tuples
    if is_record(element):
        return lambda batch: _records(element, batch)
    raise TypeError(
        f"{function}: element must be dict, tuple, a dataclass or a NamedTuple class, or RecordBatch, got {element!r}"
    )


def _dicts(batch: pa.RecordBatch) -> Iterable[Any]:
    kinds, names = batch.schema.types, batch.schema.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"from_arrow: names must be unique in dicts, got {twice!r} twice; take tuples", field=twice)
    if any(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in kinds) or any(map(has_map, kinds)):
        return map(dict, map(zip, repeat(names), as_tuples(batch)))
    return batch.to_pylist()  # type: ignore[no-any-return]  # quicker, but not with those


def _records(record: Any, batch: pa.RecordBatch) -> Iterator[Any]:
    names, own = tuple(batch.schema.names), hints_of(record)
    if set(own) != set(names):
        raise SchemaError(
            f"from_arrow: element must have the fields {list(names)}, got {list(own)} of {record.__name__}"
        )
    return AsRecords(record, names)(batch)
