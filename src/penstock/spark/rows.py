"""rows: take rows apart into columns, and put columns together as rows."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Row as SparkRow

from penstock.spark.columns import SchemaError, short, values_of

TOGETHER = 500
"""Rows that are turned into columns at a time; with more of them it takes twice as long, for want of cache."""


def is_record(given: object) -> typing.TypeGuard[type[Any]]:
    """Return whether something is a dataclass or a NamedTuple class."""
    return isinstance(given, type) and (
        dataclasses.is_dataclass(given) or (issubclass(given, tuple) and hasattr(given, "_fields"))
    )


def name_of(given: object) -> str:
    """Return the name of a class, or the text of another hint."""
    return getattr(given, "__name__", None) or str(given)


def hints_of(record: Any) -> dict[str, Any]:
    """Return the hints of a record's fields, in the order in which its rows are made."""
    return _hints(record)


@lru_cache(maxsize=256)
def _hints(record: Any) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(record, include_extras=True)
    except NameError as error:
        raise SchemaError(f"schema: {name_of(record)}: {error}; its annotations must be found in its module") from error
    if not dataclasses.is_dataclass(record):
        return {name: hints.get(name, Any) for name in record._fields}
    return {field.name: hints[field.name] for field in dataclasses.fields(record) if field.init}


def without_none(hint: Any) -> tuple[Any, bool]:
    """Return what a hint says besides None, and whether it allows None."""
    if typing.get_origin(hint) not in {typing.Union, types.UnionType}:
        return hint, False
    rest = [one for one in typing.get_args(hint) if one is not type(None)]
    return (rest[0] if len(rest) == 1 else hint), len(rest) < len(typing.get_args(hint))


def _fields(kind: type[Any]) -> tuple[str, ...] | None:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, tuple):
        return getattr(kind, "_fields", None)
    return None


def columns_of(names: tuple[str, ...], rows: Sequence[Any], first: int) -> Sequence[Sequence[Any]]:
    """Take rows apart into columns; rows of one class, as they mostly are, are looked at together."""
    if not rows:
        return [()] * len(names)
    kinds = set(map(type, rows))
    if len(kinds) > 1:
        parts = [columns_of(names, (row,), index) for index, row in enumerate(rows, first)]
        return [[part[index][0] for part in parts] for index in range(len(names))]
    kind: type[Any] = kinds.pop()
    if issubclass(kind, SparkRow) and all(hasattr(row, "__fields__") for row in rows):
        return columns_of(names, [row.asDict() for row in rows], first)  # each row has names of its own
    if issubclass(kind, Mapping):
        if set(map(len, rows)) == {len(names)}:
            with suppress(KeyError):
                return [[row[name] for row in rows] for name in names]
        index, row = next((index, row) for index, row in enumerate(rows, first) if set(row) != set(names))
        _refuse_names(names, tuple(row), row, index)
    own = _fields(kind)
    if own is not None:
        if tuple(own) != names and set(own) != set(names):
            _refuse_names(names, tuple(own), rows[0], first)
        if dataclasses.is_dataclass(kind):
            return [list(map(attrgetter(name), rows)) for name in names]
        turned = _turned(rows)
        return [turned[place] for place in map(list(own).index, names)]
    if issubclass(kind, tuple | list):
        try:
            turned = _turned(rows)
        except ValueError:
            turned = []
        if len(turned) != len(names):
            index, row = next((index, row) for index, row in enumerate(rows, first) if len(row) != len(names))
            expected = f"{len(names)} field{'s' * (len(names) > 1)} ({', '.join(names)})"
            raise SchemaError(
                f"row {index}: must have {expected}, got {len(row)}: {short(row)}",
                row=index,
                expected=expected,
                value=row,
            )
        return turned
    if len(names) == 1:
        return [rows]
    expected = "a tuple, a dict or a dataclass"
    message = f"row {first}: must be {expected}, got {short(rows[0])}"
    raise SchemaError(message, row=first, expected=expected, value=rows[0])


def _turned(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Turn rows into columns; ValueError if they are not of the same length."""
    if len(rows) <= TOGETHER:
        return list(zip(*rows, strict=True))
    columns: list[Any] = [[] for _ in rows[0]]
    for at in range(0, len(rows), TOGETHER):
        for column, more in zip(columns, zip(*rows[at : at + TOGETHER], strict=True), strict=True):
            column.extend(more)
    return columns


class Columns:
    """Collect rows column by column, so that the rows themselves can go.

    Ten thousand rows that are kept are looked at by the garbage collector again and again; numbers and texts are not.
    """

    __slots__ = ("_names", "count", "values")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.values: list[list[Any]] = [[] for _ in names]
        self.count = 0

    def add(self, rows: Sequence[Any], first: int) -> None:
        """Take rows apart; `first` is the number of the first row that was ever added."""
        for column, more in zip(self.values, columns_of(self._names, rows, first + self.count), strict=True):
            column.extend(more)
        self.count += len(rows)


def _refuse_names(names: tuple[str, ...], own: tuple[str, ...], row: object, index: int) -> typing.NoReturn:
    """Raise about the first field that is missing, or else the first that is too many."""
    missing = next((name for name in names if name not in own), None)
    if missing is not None:
        message = f"row {index}: field {missing!r} must be given, got {short(row)}"
        raise SchemaError(message, row=index, field=missing, expected="given", value=row)
    extra = next(name for name in own if name not in names)
    message = f"row {index}: field {extra!r} must be in the schema, got {short(row)}"
    raise SchemaError(message, row=index, field=extra, expected="in the schema", value=row)


def as_tuples(batch: pa.RecordBatch) -> Iterator[Any]:
    """Iterate over the rows of a batch as plain tuples."""
    return zip(*map(values_of, batch.columns), strict=True)


@lru_cache(maxsize=256)
def row_type(names: tuple[str, ...]) -> type[Any]:
    """Return the named tuple class for these names; its rows pickle wherever penstock is installed."""
    plain: Any = namedtuple("Row", list(names), rename=True)  # type: ignore[misc]  # names known only now

    class Row(plain):
        """Be one row, by name and by position."""

        __slots__ = ()

        def __reduce__(self) -> tuple[Callable[..., Any], tuple[tuple[str, ...], tuple[Any, ...]]]:
            return (_row, (names, tuple(self)))

    return Row


def _row(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return tuple.__new__(row_type(names), values)


@dataclass(frozen=True)
class AsNamed:
    """Read rows as named tuples."""

    names: tuple[str, ...]

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Any]:
        new: Any = tuple.__new__  # without the checks of the class: the columns have the same length
        return map(new, repeat(row_type(self.names)), as_tuples(batch))


@dataclass(frozen=True)
class AsRecords:
    """Read rows as instances of a dataclass or NamedTuple class.

    What its hints ask for is found out where it is made: an executor may not know the module that they are read in.
    """

    record: type[Any]
    names: tuple[str, ...]
    fields: tuple[tuple[str, Callable[[Any], Any] | None], ...] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields = tuple((name, _reviver(hint)) for name, hint in hints_of(self.record).items())
        object.__setattr__(self, "fields", fields)

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Any]:
        columns: list[Any] = []
        for name, revive in self.fields:
            column = values_of(batch.column(self.names.index(name)))
            columns.append(column if revive is None else [None if one is None else revive(one) for one in column])
        if any(field.kw_only and field.init for field in getattr(self.record, "__dataclass_fields__", {}).values()):
            record, own = self.record, [name for name, _ in self.fields]
            return (record(**dict(zip(own, values, strict=True))) for values in zip(*columns, strict=True))
        return map(self.record, *columns)


@lru_cache(maxsize=1024)
def _reviver(hint: Any) -> Callable[[Any], Any] | None:
    """Return how to give a value read from Arrow the type of its hint, or None where it has that already."""
    hint, _ = without_none(hint)
    if typing.get_origin(hint) is typing.Annotated:
        hint, _ = without_none(hint.__origin__)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {list, tuple, set, frozenset}:
        inner = _reviver(arguments[0])
        if inner is None:
            return None if origin is list else origin
        return lambda values: origin(None if one is None else inner(one) for one in values)
    if origin is dict:
        inner_value = _reviver(arguments[1])
        if inner_value is None:
            return None
        return lambda pairs: {key: None if one is None else inner_value(one) for key, one in pairs.items()}
    if is_record(hint):
        revivers = {name: _reviver(inner) for name, inner in hints_of(hint).items()}

        def record(found: dict[str, Any]) -> Any:
            return hint(
                **{
                    name: value if (revive := revivers[name]) is None or value is None else revive(value)
                    for name, value in found.items()
                }
            )

        return record
    return None
