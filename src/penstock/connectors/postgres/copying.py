"""copying: append rows to a table, each batch by one COPY in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from psycopg import sql

from penstock.connectors.postgres.batches import BatchWriter, OnRefused, options_given
from penstock.connectors.postgres.bookmark import Bookmark, bookmarked_with
from penstock.connectors.postgres.connecting import Connection, connect, conninfo_given, name_of, names_of
from penstock.connectors.postgres.merging import as_mapping
from penstock.connectors.postgres.tables import WritableColumns, columns_of, identifier, listed
from penstock.connectors.writing import SIZE, writing
from penstock.sinks.sink import Sink


def copy_into(
    conninfo: str,
    table: str,
    columns: Sequence[str] | None = None,
    *,
    bookmark: Bookmark | None = None,
    on_refused: OnRefused | None = None,
    size: int = SIZE,
    seconds: float | None = 1.0,
) -> Sink[Any, int]:
    """Append rows to a table; the result is how many elements came.

    A row is a sequence of values in the order of the columns, or a mapping from their names. Each batch is one COPY in
    one transaction: it is in the table whole, or not at all. After a crash the batch that was under way may come again,
    and be there twice: `bookmark` is for that, and so is `upsert`.

    Args:
        conninfo: Where the server is, as libpq has it.
        table: The table, with its schema if need be: `sales.orders`.
        columns: The columns that rows have; all of the table if they are not named.
        bookmark: Where the position of the last row is kept, in the transaction of the rows; elements are then `Marked`
            rows, and those that were written before are left out.
        on_refused: Called with a row that the server refuses and its error, while the others are written; awaited if it
            gives an awaitable. Without it the run fails.
        size: How many rows a batch has at most.
        seconds: How long the first row of a batch waits for others; with None until the batch is full.

    Raises:
        TypeError: A name is not a text, or `on_refused` is not callable.
        ValueError: `conninfo` is not one, a name is empty, or a number is too small.
    """
    conninfo_given("copy_into", conninfo)
    name_of("copy_into", "table", table)
    options_given("copy_into", on_refused, size)
    named = None if columns is None else names_of("copy_into", "columns", columns)
    return writing(OpenCopy(conninfo, table, named, bookmark, on_refused), size=size, seconds=seconds)


@dataclass(frozen=True, slots=True)
class OpenCopy:
    """What a run that copies is opened by."""

    conninfo: str = field(repr=False)
    table: str
    columns: tuple[str, ...] | None
    bookmark: Bookmark | None
    on_refused: OnRefused | None

    async def __call__(self) -> BatchWriter:
        """Connect, and look at the table."""
        connection = await connect(self.conninfo)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(connection.close)
            known = await columns_of("copy_into", connection, self.table)
            columns = self.columns or known.names
            known.known("copy_into", columns)
            writer = BatchWriter(
                connection,
                _Copying(connection, known, columns),
                table=self.table,
                bookmarked=await bookmarked_with(connection, self.bookmark),
                on_refused=self.on_refused,
            )
            stack.pop_all()
        return writer


class _Copying:
    """Rows that are appended."""

    def __init__(self, connection: Connection, known: WritableColumns, columns: tuple[str, ...]) -> None:
        self._connection = connection
        self._columns = columns
        self._wrap = known.wrap(columns)
        self._copy = sql.SQL("COPY {} ({}) FROM STDIN").format(identifier(known.table), listed(columns))

    async def prepared(self, rows: list[Any], /) -> Callable[[], Awaitable[None]]:
        given = rows if {*map(type, rows)} == {tuple} else [self._values(row) for row in rows]
        return partial(copied, self._connection, self._copy, given if self._wrap is None else map(self._wrap, given))

    def _values(self, row: Any) -> Sequence[Any]:
        if isinstance(row, Sequence) and not isinstance(row, str | bytes):
            return row
        named = as_mapping(row)
        if named is None:
            raise TypeError(f"copy_into: a row is a sequence, a mapping or a dataclass, got {row!r:.200}")
        missing = [name for name in self._columns if name not in named]
        if missing:
            raise ValueError(f"copy_into: a row has no {missing[0]!r}, got {dict(named)!r:.200}")
        return [named[name] for name in self._columns]


async def copied(connection: Connection, copy: sql.Composed, rows: Any) -> None:
    """Write rows by one COPY."""
    async with connection.cursor().copy(copy) as into:
        write = into.write_row
        for row in rows:
            await write(row)


__all__ = ["OpenCopy", "copied", "copy_into"]
