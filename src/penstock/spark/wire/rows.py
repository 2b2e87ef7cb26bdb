"""rows: collect rows column by column, and read them as named tuples."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.bridges.shared.rows import as_tuples, columns_of

_OWN_WORDS = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
"""What named tuples have themselves; a column of that name is read by its position."""


class Columns:
    """Rows collected column by column, so that the rows themselves can go.

    Ten thousand rows that are kept are looked at by the garbage collector again and again; numbers and texts are not.
    """

    __slots__ = ("_names", "count", "values")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.values: list[list[Any]] = [[] for _ in names]
        self.count = 0

    def add(self, rows: Sequence[Any], first: int, kinds: set[type]) -> None:
        """Take rows of some classes apart; `first` is the number of the first row that was ever added."""
        for column, more in zip(self.values, columns_of(self._names, rows, first + self.count, kinds), strict=True):
            column.extend(more)
        self.count += len(rows)


@lru_cache(maxsize=256)
def row_type(names: tuple[str, ...]) -> type[Any]:
    """Return the named tuple class for these names; its rows pickle wherever penstock is installed."""
    plain: Any = namedtuple("Row", list(names), rename=True)  # type: ignore[misc]  # names known only now

    class Row(plain):
        """One row, by name and by position."""

        __slots__ = ()
        _fields = names  # type: ignore[assignment]  # names known only now

        def __reduce__(self) -> tuple[Callable[..., Any], tuple[tuple[str, ...], tuple[Any, ...]]]:
            return (_row, (names, tuple(self)))

    return Row if plain._fields == names else _renamed(Row, names)


def _renamed(row: type[Any], names: tuple[str, ...]) -> type[Any]:
    """Let a class have names that a named tuple cannot have, such as Spark's own `_1`, in place of its numbers."""

    class Row(row):  # type: ignore[misc]  # a class known only now
        """One row, by name and by position."""

        __slots__ = ()

        def _replace(self, /, **values: Any) -> Any:
            made = self._make(map(values.pop, names, self))
            if values:
                raise ValueError(f"row: fields must be of {list(names)}, got {list(values)}")
            return made

        def __repr__(self) -> str:
            return f"Row({', '.join(map('{}={!r}'.format, names, self))})"

    for place, name in enumerate(names):
        if name not in _OWN_WORDS and not name.startswith("__"):
            setattr(Row, name, property(itemgetter(place)))
    return Row


def _row(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return tuple.__new__(row_type(names), values)


@dataclass(frozen=True)
class AsNamed:
    """A reader of rows as named tuples."""

    names: tuple[str, ...]

    def __call__(self, batch: pa.RecordBatch) -> Iterator[Any]:
        new: Any = tuple.__new__  # without the checks of the class: the columns have the same length
        return map(new, repeat(row_type(self.names)), as_tuples(batch))
