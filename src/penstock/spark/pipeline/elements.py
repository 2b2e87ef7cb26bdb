"""elements: what the elements of a Flow are, as far as its annotations say so."""

from __future__ import annotations

import datetime as dt
import decimal
import typing
from dataclasses import dataclass, make_dataclass, replace
from operator import itemgetter
from typing import Any

from penstock.bridges.shared.columns import SchemaError
from penstock.bridges.shared.hints import is_record, name_of, reviver
from penstock.flow import flow
from penstock.spark.wire.schema import Form, Schema
from penstock.stream import Stream

_PLAIN = (bool, int, float, str, bytes, dt.datetime, dt.date, dt.time, dt.timedelta, decimal.Decimal)
KINDS = "a dataclass, a NamedTuple, a TypedDict, a tuple of plain types or one of str, int, float, bool"
"""What the elements of a Flow may be, as an error says it."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements on one side of a Flow: the schema of their rows, or of their one `bare` column."""

    schema: Schema
    bare: bool = False

    @property
    def unnamed(self) -> bool:
        """Tell whether they are tuples, whose columns have names only because Spark's must."""
        return not self.bare and self.schema.row is None

    @property
    def form(self) -> Form:
        """Return how rows are read."""
        return self.schema.row or "tuple"


def elements_of(given: Any) -> Elements | None:
    """Return what an annotation says about elements, or None if it says nothing that Spark could use."""
    if given in _PLAIN:
        return Elements(_unnamed({"value": given}), bare=True)
    if is_record(given):
        return Elements(Schema.of(given))
    hints = typing.get_args(given) if typing.get_origin(given) is tuple else ()
    if not hints or ... in hints or any(reviver(hint) is not None for hint in hints):
        return None  # what is no tuple, has no length, or would come back as something else
    try:
        return Elements(_unnamed({f"_{place}": hint for place, hint in enumerate(hints, 1)}))  # as Spark names them
    except SchemaError:
        return None


def _unnamed(fields: dict[str, Any]) -> Schema:
    """Return the schema of columns whose rows are of no class."""
    return replace(Schema.of(make_dataclass("Value", fields.items())), row=None)


def said(given: Any) -> str:
    """Return an annotation as people read it."""
    return "no annotation" if given is None else name_of(given)


@flow
def unwrapped(rows: Stream[Any]) -> Stream[Any]:
    """Take the value out of a row of one column."""
    return rows.map(itemgetter(0))


def _plain(row: Any) -> Any:
    return tuple(row) if isinstance(row, tuple) and type(row) is not tuple else row


@flow
def positioned(rows: Stream[Any]) -> Stream[Any]:
    """Take the names from rows that count by their positions alone."""
    return rows.map(_plain)


__all__ = ["KINDS", "Elements", "elements_of", "positioned", "said", "unwrapped"]
