"""slots: the changes of tables as a stream, from a replication slot that the server keeps."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import DuplicateObject, ObjectInUse

from penstock.connectors.postgres.bookmark import Bookmark
from penstock.connectors.postgres.change import Change
from penstock.connectors.postgres.connecting import Connection, connect, conninfo_given, name_of, names_of
from penstock.connectors.postgres.lsn import lsn_number, place
from penstock.connectors.postgres.replication import Position, Replication
from penstock.connectors.reading import MOST, reading
from penstock.engine.words.arguments import count_given
from penstock.stream import Stream

_NAME = re.compile(r"[a-z0-9_]{1,63}")
_LONGEST_BEAT = 10.0  # seconds between two signs of life; the server gives up after wal_sender_timeout, 60 s by default
_AGAIN = 0.1  # seconds between two tries to get a slot that another connection has


def changes(
    conninfo: str,
    *,
    slot: str,
    publication: str | Sequence[str],
    bookmark: Bookmark | None = None,
    convert: bool = True,
    patience: float = 10.0,
    most: int = MOST,
) -> Stream[Change]:
    """Emit the changes of the tables of a publication, in the order in which their transactions were committed.

    A stream that never ends by itself, and is resumable: a position is that of a change, exact within a transaction.
    The slot is made if it is missing, and gives what is committed from then on; the server keeps its log from the first
    change on that is not done, so a slot that is no longer wanted must be dropped, see `drop_slot`. What is done is
    told by runs of pipelines, and then never sent again.

    Backpressures by leaving on the server what is not asked for, but for the buffers of the connection. The server is
    told in time that the consumer lives, however slow it is.

    Args:
        conninfo: Where the server is, as libpq has it; the user needs the right to replicate.
        slot: The name of the slot; one run at a time may read it.
        publication: The name of the publication, or several.
        bookmark: Where the run begins if it begins at no other position: behind what a sink has noted with the rows.
        convert: Whether values are converted to Python's by the types of their columns; else they are the server's
            text.
        patience: How many seconds to wait for a slot that another connection holds still, such as that of a process
            which has just died.
        most: How many changes are given at a time at most.

    Raises:
        TypeError: A name is not a text.
        ValueError: `conninfo` is not one, `slot` is no name of a slot, or a number is too small.
    """
    conninfo_given("changes", conninfo)
    if not _NAME.fullmatch(name_of("changes", "slot", slot)):
        raise ValueError(f"changes: slot must be 1 to 63 lower case letters, digits and underscores, got {slot!r}")
    if not patience >= 0:
        raise ValueError(f"changes: patience must be >= 0, got {patience!r}")
    count_given("changes", "most", most, 1)
    publications = names_of("changes", "publication", publication)
    return reading(OpenChanges(conninfo, slot, publications, bookmark, convert, patience), most=most)


@dataclass(frozen=True, slots=True)
class OpenChanges:
    """What a run over a slot is opened by."""

    conninfo: str = field(repr=False)
    slot: str
    publications: tuple[str, ...]
    bookmark: Bookmark | None
    convert: bool
    patience: float

    async def __call__(self, after: Position | None) -> Replication:
        """Connect behind a position; without one behind the bookmark, and without that where the server remembers."""
        if after is None and self.bookmark is not None:
            after = await self.bookmark.read()
        if after is not None:
            place(after)  # refuse it before a slot is made for it
        connection = await connect(self.conninfo, replication="database", prepare_threshold=None)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(connection.close)
            started = await self._started(connection, after)
            stack.pop_all()
        return started

    async def _started(self, connection: Connection, after: Position | None) -> Replication:
        await self._have_publications(connection)
        confirmed = await self._have_slot(connection, after)
        stream = Replication(
            connection,
            slot=self.slot,
            confirmed=confirmed,
            after=after,
            convert=self.convert,
            beat=min(_LONGEST_BEAT, await _patience_of_the_server(connection) / 4),
        )
        quoted = (name.replace('"', '""').replace("'", "''") for name in self.publications)
        names = ",".join(f'"{name}"' for name in quoted)
        until = asyncio.get_running_loop().time() + self.patience
        while True:
            try:
                await stream.start(f"publication_names '{names}'")
            except ObjectInUse as error:
                if asyncio.get_running_loop().time() >= until:
                    error.add_note(f"postgres: one run at a time reads a slot; another one still reads {self.slot!r}")
                    raise
                await asyncio.sleep(_AGAIN)
            else:
                return stream

    async def _have_publications(self, connection: Connection) -> None:
        """Refuse a publication that is missing: the server would say so with the first change only."""
        known = {name for (name,) in await _rows(connection, sql.SQL("SELECT pubname FROM pg_publication"))}
        for name in self.publications:
            if name not in known:
                raise LookupError(
                    f"changes: there is no publication {name!r} in this database; make it before the slot,"
                    f" with CREATE PUBLICATION {name} FOR TABLE ..."
                )

    async def _have_slot(self, connection: Connection, after: Position | None) -> int:
        """Make the slot if it is missing; return how far it is done."""
        query = sql.SQL(
            "SELECT plugin, database = current_database(), confirmed_flush_lsn::text, wal_status FROM"
            " pg_replication_slots WHERE slot_name = {}"
        ).format(sql.Literal(self.slot))
        found = await _rows(connection, query)
        if not found:
            if after is not None:
                raise LookupError(
                    f"changes: there is no slot {self.slot!r} to go on behind {after!r}: it was dropped, and the"
                    " changes since then are lost to it; begin anew without a position, from a fresh copy of the tables"
                )
            make = sql.SQL("SELECT pg_create_logical_replication_slot({}, 'pgoutput')").format(sql.Literal(self.slot))
            with suppress(DuplicateObject):  # another run was faster
                await connection.execute(make)
            found = await _rows(connection, query)
        plugin, here, confirmed, state = found[0]
        if plugin != "pgoutput" or not here:
            raise ValueError(
                f"changes: slot {self.slot!r} belongs to another database or plugin ({plugin}); choose another name"
            )
        if state == "lost":
            raise LookupError(
                f"changes: the server has removed what slot {self.slot!r} still needed (max_slot_wal_keep_size);"
                " drop it and begin anew, from a fresh copy of the tables"
            )
        return lsn_number(confirmed)


async def _patience_of_the_server(connection: Connection) -> float:
    """Return after how many seconds without a word the server gives up; infinity if never."""
    rows = await _rows(connection, sql.SQL("SELECT setting::float8 FROM pg_settings WHERE name = 'wal_sender_timeout'"))
    return rows[0][0] / 1000 or float("inf")


async def _rows(connection: Connection, query: sql.SQL | sql.Composed) -> list[tuple[Any, ...]]:
    """Return the rows of a query that has its values in its text: this kind of connection takes no parameters."""
    return await (await connection.execute(query)).fetchall()


def drop_slot(conninfo: str, slot: str) -> bool:
    """Have the server forget a slot and what it keeps for it; return whether there was one.

    Args:
        conninfo: Where the server is.
        slot: The name of the slot; it must not be in use.

    Raises:
        ValueError: `conninfo` is not one.
        psycopg.errors.ObjectInUse: A run reads it.
    """
    conninfo_given("drop_slot", conninfo)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        dropped = connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
            (name_of("drop_slot", "slot", slot),),
        )
        return dropped.rowcount > 0


__all__ = ["OpenChanges", "changes", "drop_slot"]
