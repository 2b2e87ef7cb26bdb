"""rows: take rows apart into columns, and put columns together as rows."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.bridges.shared.columns import SchemaError, kinds_of, short, values_of
from penstock.bridges.shared.hints import hints_of, reviver

TOGETHER = 500
"""Rows that are turned into columns at a time; with more of them it takes twice as long, for want of cache."""


def fields_of(kind: type[Any]) -> tuple[str, ...] | None:
    """Return the names of the fields that a class of rows has, or None if it has no names for them."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    if issubclass(kind, tuple):
        return getattr(kind, "_fields", None)
    return None


def columns_of(
    names: tuple[str, ...], rows: Sequence[Any], first: int, kinds: set[type] | None = None
) -> Sequence[Sequence[Any]]:
    """Take rows apart into columns; rows of one class, as they mostly are, are looked at together.

    `kinds` are the classes that occur, where they are known.
    """
    if not rows:
        return [()] * len(names)
    kinds = kinds_of(rows) if kinds is None else kinds
    if len(kinds) > 1:
        parts = [columns_of(names, (row,), index) for index, row in enumerate(rows, first)]
        return [[part[index][0] for part in parts] for index in range(len(names))]
    (kind,) = kinds
    if issubclass(kind, tuple) and all(hasattr(row, "__fields__") for row in rows):
        return columns_of(names, [row.asDict() for row in rows], first)  # of Spark, each with its own names
    if issubclass(kind, Mapping):
        if set(map(len, rows)) == {len(names)}:
            with suppress(KeyError):
                return [[row[name] for row in rows] for name in names]
        index, row = next((index, row) for index, row in enumerate(rows, first) if set(row) != set(names))
        _refuse_names(names, tuple(row), row, index)
    own = fields_of(kind)
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
    return zip(*map(values_of, batch.columns), strict=True) if batch.num_columns else iter([()] * batch.num_rows)


@dataclass(frozen=True)
class AsRecords:
    """A function that reads the rows of a batch as instances of a dataclass, a NamedTuple class or a TypedDict.

    What its hints ask for is found out where it is made: an executor may not know the module that they are read in.
    """

    record: type[Any]
    names: tuple[str, ...]
    fields: tuple[tuple[str, Callable[[Any], Any] | None], ...] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields = tuple((name, reviver(hint)) for name, hint in hints_of(self.record).items())
        object.__setattr__(self, "fields", fields)

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Any]:
        columns: list[Any] = []
        for name, revive in self.fields:
            column = values_of(batch.column(self.names.index(name)))
            columns.append(column if revive is None else [None if one is None else revive(one) for one in column])
        if typing.is_typeddict(self.record) or any(
            field.kw_only and field.init for field in getattr(self.record, "__dataclass_fields__", {}).values()
        ):
            record, own = self.record, [name for name, _ in self.fields]
            return (record(**dict(zip(own, values, strict=True))) for values in zip(*columns, strict=True))
        return map(self.record, *columns)
