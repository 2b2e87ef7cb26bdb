"""upserting: make rows of a table be as the elements say, however often they say it.

A batch goes through a temporary table: COPY into it and one INSERT ... ON CONFLICT from it are faster than a statement
for each row, also in pipeline mode, and than arrays that are unnested (which cannot hold arrays, either).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from psycopg import sql

from penstock.connectors.postgres.batches import BatchWriter, OnRefused, options_given
from penstock.connectors.postgres.bookmark import Bookmark, bookmarked_with
from penstock.connectors.postgres.connecting import Connection, connect, conninfo_given, name_of, names_of
from penstock.connectors.postgres.copying import copied
from penstock.connectors.postgres.merging import MergedRows, merged
from penstock.connectors.postgres.tables import WritableColumns, columns_of, identifier, listed
from penstock.connectors.writing import SIZE, writing
from penstock.sinks.sink import Sink


def upsert(
    conninfo: str,
    table: str,
    *,
    key: str | Sequence[str],
    bookmark: Bookmark | None = None,
    on_refused: OnRefused | None = None,
    size: int = SIZE,
    seconds: float | None = 1.0,
) -> Sink[Any, int]:
    """Insert rows into a table or update those that are there, by their key; the result is how many elements came.

    An element is a mapping from columns to values, a NamedTuple, a row of Spark's or an object of a dataclass with the
    names of the columns, a `Change` of a table with the same columns, or `Gone` for a row to be deleted. Each batch is
    one transaction. To write a batch again changes nothing, so a run that is restarted a few elements back ends with
    the same table. Of several elements with one key in a batch the last one counts.

    Args:
        conninfo: Where the server is, as libpq has it.
        table: The table, with its schema if need be: `sales.orders`.
        key: The column, or the columns, of a unique constraint of the table.
        bookmark: Where the position of the last element is kept, in the transaction of the rows; elements are then
            changes or `Marked`, and those that were written before are left out.
        on_refused: Called with an element that the server refuses and its error, while the others are written; awaited
            if it gives an awaitable. Without it the run fails.
        size: How many elements a batch has at most.
        seconds: How long the first element of a batch waits for others; with None until the batch is full.

    Raises:
        TypeError: A name is not a text, or `on_refused` is not callable.
        ValueError: `conninfo` is not one, a name is empty, or a number is too small.
    """
    conninfo_given("upsert", conninfo)
    name_of("upsert", "table", table)
    options_given("upsert", on_refused, size)
    keys = names_of("upsert", "key", key)
    return writing(OpenUpsert(conninfo, table, keys, bookmark, on_refused), size=size, seconds=seconds)


STAGES = 32
"""How many temporary tables a connection keeps, one for each set of columns; a batch that has more keeps as many."""


@dataclass(frozen=True, slots=True)
class OpenUpsert:
    """What a run that upserts is opened by."""

    conninfo: str = field(repr=False)
    table: str
    keys: tuple[str, ...]
    bookmark: Bookmark | None
    on_refused: OnRefused | None

    async def __call__(self) -> BatchWriter:
        """Connect, and look at the table."""
        connection = await connect(self.conninfo)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(connection.close)
            known = await columns_of("upsert", connection, self.table)
            known.known("upsert", self.keys)
            writer = BatchWriter(
                connection,
                _Upserting(connection, known, self.keys),
                table=self.table,
                bookmarked=await bookmarked_with(connection, self.bookmark),
                on_refused=self.on_refused,
            )
            stack.pop_all()
        return writer


@dataclass(frozen=True, slots=True)
class _Statements:
    """What is done with rows of the same columns."""

    stage: sql.Identifier
    columns: tuple[str, ...]
    copy: sql.Composed
    upsert: sql.Composed
    update: sql.Composed
    delete: sql.Composed
    wrap: Callable[[Sequence[Any]], Sequence[Any]] | None


class _Upserting:
    """Rows that are inserted, updated or deleted by their key."""

    def __init__(self, connection: Connection, known: WritableColumns, keys: tuple[str, ...]) -> None:
        self._connection = connection
        self._known = known
        self._keys = keys
        self._table = identifier(known.table)
        self._statements: dict[tuple[str, ...], _Statements] = {}
        """What there is by columns, that which was used last at the end."""
        self._made = 0

    async def prepared(self, rows: list[Any], /) -> Callable[[], Awaitable[None]]:
        steps = merged(self._keys, rows)
        wanted: dict[tuple[str, ...], None] = {}
        for step in steps:
            if step.gone:
                wanted[self._keys] = None
            wanted.update(dict.fromkeys((*step.upserts, *step.updates)))
        for columns in wanted:
            await self._have(columns)
        await self._forget(wanted)
        return partial(self._put, steps)

    async def _forget(self, wanted: Collection[tuple[str, ...]]) -> None:
        """Drop the tables that were not used for longest, if there are too many."""
        for columns in [each for each in self._statements if each not in wanted]:
            if len(self._statements) <= STAGES:
                return
            statements = self._statements.pop(columns)
            await self._connection.execute(sql.SQL("DROP TABLE {}").format(statements.stage))

    async def _have(self, columns: tuple[str, ...]) -> None:
        """Make the temporary table for rows of these columns, which lives as long as the connection."""
        if columns in self._statements:
            self._statements[columns] = self._statements.pop(columns)
            return
        self._known.known("upsert", columns)
        stage = sql.Identifier(f"penstock_stage_{self._made}")
        self._made += 1
        make = sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DELETE ROWS AS SELECT {} FROM {} WITH NO DATA")
        await self._connection.execute(make.format(stage, listed(columns), self._table))
        same = sql.SQL(" AND ").join(
            sql.SQL("target.{0} = stage.{0}").format(sql.Identifier(name)) for name in self._keys
        )
        others = [sql.Identifier(name) for name in columns if name not in self._keys]
        excluded = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(name) for name in others)
        staged = sql.SQL(", ").join(sql.SQL("{0} = stage.{0}").format(name) for name in others)
        parts = {
            "table": self._table,
            "stage": stage,
            "columns": listed(columns),
            "keys": listed(self._keys),
            "same": same,
            "do": sql.SQL("UPDATE SET {}").format(excluded) if others else sql.SQL("NOTHING"),
            "set": staged,
        }
        self._statements[columns] = _Statements(
            stage,
            columns,
            copy=sql.SQL("COPY {stage} ({columns}) FROM STDIN").format(**parts),
            upsert=sql.SQL(
                "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {stage}"
                " ON CONFLICT ({keys}) DO {do}"
            ).format(**parts),
            update=sql.SQL("UPDATE {table} AS target SET {set} FROM {stage} AS stage WHERE {same}").format(**parts),
            delete=sql.SQL("DELETE FROM {table} AS target USING {stage} AS stage WHERE {same}").format(**parts),
            wrap=self._known.wrap(columns),
        )

    async def _put(self, steps: list[MergedRows]) -> None:
        used: set[tuple[str, ...]] = set()
        for step in steps:
            if step.truncate:
                await self._connection.execute(sql.SQL("TRUNCATE {}").format(self._table))
            for old, new in step.moves:
                await self._move(old, new)
            if step.gone:
                await self._through(self._keys, [tuple(key) for key in step.gone], "delete", used)
            for columns, rows in step.upserts.items():
                await self._through(columns, rows, "upsert", used)
            for columns, rows in step.updates.items():
                if set(columns) - set(self._keys):
                    await self._through(columns, rows, "update", used)

    async def _through(
        self, columns: tuple[str, ...], rows: list[tuple[Any, ...]], what: str, used: set[tuple[str, ...]]
    ) -> None:
        statements = self._statements[columns]
        if columns in used:
            await self._connection.execute(sql.SQL("TRUNCATE {}").format(statements.stage))
        used.add(columns)
        given = rows if statements.wrap is None else map(statements.wrap, rows)
        await copied(self._connection, statements.copy, given)
        await self._connection.execute(getattr(statements, what))

    async def _move(self, old: tuple[Any, ...], new: tuple[Any, ...]) -> None:
        """Give a row another key, where not all of it is known; unless that has happened before."""
        match = sql.SQL(" AND ")
        at = match.join(sql.SQL("target.{} = %s").format(sql.Identifier(name)) for name in self._keys)
        there = match.join(sql.SQL("other.{} = %s").format(sql.Identifier(name)) for name in self._keys)
        query = sql.SQL(
            "UPDATE {table} AS target SET {set} WHERE {at} AND NOT EXISTS (SELECT FROM {table} AS other WHERE {there})"
        ).format(
            table=self._table,
            set=sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(name)) for name in self._keys),
            at=at,
            there=there,
        )
        await self._connection.execute(query, (*new, *old, *new))


__all__ = ["OpenUpsert", "upsert"]
