"""sorting: part the rows that fit a schema from those that do not, column by column.

Only what is wrong is looked at row by row; the rest is converted together, as if all of it had fitted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.bridges.shared.columns import SchemaError, array_of, misfits
from penstock.bridges.shared.rows import columns_of

Misfits = dict[int, SchemaError]
"""What is wrong with which of some rows."""


def sort_out(schema: pa.Schema, rows: Sequence[Any], first: int) -> tuple[pa.RecordBatch, Misfits]:
    """Make one record batch of the rows that fit; `first` is the number of the first row."""
    names = tuple(schema.names)
    bad = _misshapen(names, rows, first)
    places = [place for place in range(len(rows)) if place not in bad]
    columns = columns_of(names, [rows[place] for place in places], first)
    for at, field in enumerate(schema):
        found = misfits(field, columns[at], [first + place for place in places])
        if found:
            bad.update((places[place], error) for place, error in found.items())
            places = [place for index, place in enumerate(places) if index not in found]
            columns = [[value for index, value in enumerate(column) if index not in found] for column in columns]
    arrays = [array_of(field, column, first) for field, column in zip(schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema), dict(sorted(bad.items()))


def _misshapen(names: tuple[str, ...], rows: Sequence[Any], first: int) -> Misfits:
    """Return the rows that have not the right fields."""
    kinds: dict[type[Any], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        kinds[type(row)].append(place)
    bad: Misfits = {}
    for kind, places in kinds.items():
        try:
            columns_of(names, [rows[place] for place in places], first)
        except SchemaError:
            for place in _doubtful(kind, names, rows, places):
                try:
                    columns_of(names, (rows[place],), first + place)
                except SchemaError as error:
                    bad[place] = error
    return bad


def _doubtful(kind: type[Any], names: tuple[str, ...], rows: Sequence[Any], places: list[int]) -> list[int]:
    """Return those of some rows of one class that may not have the right fields."""
    if kind is tuple or kind is list:
        return [place for place in places if len(rows[place]) != len(names)]
    if issubclass(kind, Mapping):
        wanted = set(names)
        return [place for place in places if rows[place].keys() != wanted]
    return places


__all__ = ["Misfits", "sort_out"]
