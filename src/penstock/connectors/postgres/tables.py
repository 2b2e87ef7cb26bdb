"""tables: what a sink must know of the table that it writes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql
from psycopg.types.json import Json, Jsonb

from penstock.connectors.postgres.change import JSON, JSONB, JsonText
from penstock.connectors.postgres.connecting import Connection

_JSON: dict[int, type[Json | Jsonb]] = {JSON: Json, JSONB: Jsonb}


def identifier(table: str) -> sql.Identifier:
    """Return a table as SQL, with its schema if that is named.

    >>> identifier("sales.orders").as_string()
    '"sales"."orders"'
    """
    return sql.Identifier(*table.split(".", 1))


def listed(columns: Sequence[str]) -> sql.Composed:
    """Return columns as SQL, with commas between them."""
    return sql.SQL(", ").join(map(sql.Identifier, columns))


@dataclass(frozen=True, slots=True)
class WritableColumns:
    """The columns of a table that can be written, and how values of those that hold JSON are handed over."""

    table: str
    names: tuple[str, ...]
    json: dict[str, type[Json | Jsonb]]

    def known(self, function: str, names: Sequence[str]) -> None:
        """Refuse a column that the table does not have.

        Args:
            function: What refuses it.
            names: The columns.
        """
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise LookupError(f"{function}: {self.table} has no column {unknown[0]!r}, only {', '.join(self.names)}")

    def wrap(self, columns: Sequence[str]) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
        """Return what makes JSON of the values that are to be, if any column is.

        Args:
            columns: The columns that the values are of.
        """
        wrapped = [(each, self.json[name]) for each, name in enumerate(columns) if name in self.json]
        if not wrapped:
            return None

        def wrap(values: Sequence[Any]) -> Sequence[Any]:
            given = list(values)
            for each, kind in wrapped:
                if given[each] is not None and not isinstance(given[each], Json | Jsonb | JsonText):
                    given[each] = kind(given[each])
            return given

        return wrap


async def columns_of(function: str, connection: Connection, table: str) -> WritableColumns:
    """Return the columns of a table, and refuse one that is not there."""
    found = await connection.execute(
        "SELECT attname, atttypid::int8 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0"
        " AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
        (identifier(table).as_string(connection),),
    )
    rows = await found.fetchall()
    if not rows:
        raise LookupError(f"{function}: there is no table {table!r} in database {connection.info.dbname!r}")
    return WritableColumns(
        table, tuple(name for name, _ in rows), {name: _JSON[kind] for name, kind in rows if kind in _JSON}
    )


__all__ = ["WritableColumns", "columns_of", "identifier", "listed"]
