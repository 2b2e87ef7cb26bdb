"""bookmark: the position of a source, kept in the sink's database, in the transaction of the rows it belongs to.

A sink that writes a batch and is killed before the source hears of it gets that batch again. With a bookmark it knows:
rows and position are there both or not at all, a run begins behind the position, and what comes again is left out.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import DuplicateTable, UndefinedTable, UniqueViolation

from penstock.connectors.postgres.connecting import Connection, connect, conninfo_given, name_of
from penstock.connectors.postgres.lsn import place

_TABLE = "penstock_bookmarks"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A named position in a table of the database that a sink writes to.

    Args:
        conninfo: Where the server is, as libpq has it.
        name: What the position is of, such as the name of the pipeline; one run at a time writes it.
        table: The table that holds it, made with the first use.

    Raises:
        TypeError: A name is not a text.
        ValueError: `conninfo` is not one, or a name is empty.
    """

    conninfo: str = field(repr=False)
    name: str
    table: str = _TABLE

    def __post_init__(self) -> None:
        conninfo_given("Bookmark", self.conninfo)
        name_of("Bookmark", "name", self.name)
        name_of("Bookmark", "table", self.table)

    def position(self) -> Any:
        """Return the position, None if there is none yet; it blocks."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            try:
                found = connection.execute(self._query(), (self.name,)).fetchone()
            except UndefinedTable:
                return None
            return None if found is None else json.loads(found[0])

    async def read(self) -> Any:
        """Return the position, None if there is none yet."""
        async with await connect(self.conninfo) as connection:
            return await self.read_with(connection)

    async def read_with(self, connection: Connection) -> Any:
        """Return the position, None if there is none yet.

        Args:
            connection: The connection to read it with.
        """
        try:
            found = await (await connection.execute(self._query(), (self.name,))).fetchone()
        except UndefinedTable:
            return None
        return None if found is None else json.loads(found[0])

    def _query(self) -> sql.Composed:
        return sql.SQL("SELECT position::text FROM {} WHERE name = %s").format(sql.Identifier(self.table))

    async def have_table(self, connection: Connection) -> None:
        """Make the table if it is missing.

        Args:
            connection: The connection to make it with.
        """
        make = sql.SQL(
            "CREATE TABLE IF NOT EXISTS {} (name text PRIMARY KEY, position jsonb NOT NULL, at timestamptz NOT NULL)"
        )
        with suppress(DuplicateTable, UniqueViolation):  # another run was faster, in spite of IF NOT EXISTS
            await connection.execute(make.format(sql.Identifier(self.table)))

    async def move(self, connection: Connection, before: Any, after: Any) -> None:
        """Note a new position, in the transaction that is open; refuse it where another run has noted one meanwhile.

        Args:
            connection: The connection whose transaction it belongs to.
            before: The position that is there now.
            after: The new position.
        """
        query = sql.SQL(
            "INSERT INTO {table} AS known VALUES (%(name)s, %(after)s::jsonb, now()) ON CONFLICT (name) DO UPDATE"
            " SET position = excluded.position, at = excluded.at WHERE known.position = %(before)s::jsonb"
        )
        values = {"name": self.name, "before": json.dumps(before), "after": json.dumps(after)}
        moved = await connection.execute(query.format(table=sql.Identifier(self.table)), values)
        if moved.rowcount != 1:
            raise RuntimeError(
                f"Bookmark: {self.name!r} is no longer at {before!r}: another run writes it, and nothing was written"
                " here; give another pipeline another name, and run this one once at a time"
            )


class Bookmarked:
    """The place of one run in its bookmark: what of a batch is new, and what the next position is."""

    def __init__(self, bookmark: Bookmark, at: Any) -> None:
        self.bookmark = bookmark
        self.at = at
        self._begun_at = None if at is None else ordered(at)
        self._last = self._begun_at

    def new(self, batch: list[Any]) -> list[Any]:
        """Return the elements that were not written before.

        Args:
            batch: Elements that have a position.
        """
        fresh: list[Any] = []
        last = self._last
        for element in batch:
            position = position_of(element)
            here = ordered(position)
            if self._begun_at is not None and here <= self._begun_at:
                continue
            if last is not None and here <= last:
                raise ValueError(
                    f"Bookmark: positions must grow, and {position!r} came behind one that is not before it; keep the"
                    " order of the source, and let at most one element become of each"
                )
            last = here
            fresh.append(element)
        self._last = last
        return fresh


async def bookmarked_with(connection: Connection, bookmark: Bookmark | None) -> Bookmarked | None:
    """Return where a run is in its bookmark, if it has one."""
    if bookmark is None:
        return None
    await bookmark.have_table(connection)
    return Bookmarked(bookmark, await bookmark.read_with(connection))


def position_of(element: Any) -> Any:
    """Return the position of an element."""
    try:
        return element.position
    except AttributeError:
        raise TypeError(
            f"Bookmark: an element needs a position, as a Change or a Marked row has, got {element!r:.100}"
        ) from None


def ordered(position: Any) -> Any:
    """Return what a position is compared by: the position of a change, or a number or text as it is."""
    return place(position) if isinstance(position, list | tuple) else position


__all__ = ["Bookmark", "Bookmarked", "bookmarked_with"]
