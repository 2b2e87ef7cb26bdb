"""elements: what the elements of a Flow are, as far as its annotations say so."""

from __future__ import annotations

import datetime as dt
import decimal
from dataclasses import dataclass, make_dataclass, replace
from operator import itemgetter
from typing import Any

from penstock.bridges.shared.hints import is_record, name_of
from penstock.flow import flow
from penstock.spark.wire.schema import Form, Schema
from penstock.stream import Stream

_PLAIN = (bool, int, float, str, bytes, dt.datetime, dt.date, decimal.Decimal)


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements on one side of a Flow: the schema of their rows, or of their one `bare` column."""

    schema: Schema
    bare: bool = False

    @property
    def form(self) -> Form | None:
        """Return how rows are read."""
        return "tuple" if self.bare else self.schema.row


def elements_of(given: Any) -> Elements | None:
    """Return what an annotation says about elements, or None if it says nothing that Spark could use."""
    if given in _PLAIN:
        named = Schema.of(make_dataclass("Value", [("value", given)]))
        return Elements(replace(named, row=None), bare=True)
    return Elements(Schema.of(given)) if is_record(given) else None


def said(given: Any) -> str:
    """Return an annotation as people read it."""
    return "no annotation" if given is None else name_of(given)


@flow
def unwrapped(rows: Stream[Any]) -> Stream[Any]:
    """Take the value out of a row of one column."""
    return rows.map(itemgetter(0))


__all__ = ["Elements", "elements_of", "said", "unwrapped"]
