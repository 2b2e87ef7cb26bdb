"""moving: a cursor of the server that is moved over its rows, by the next batch while this one is being worked on.

The client's own `fetchmany` composes its statement anew, takes a lock and waits in a future for each piece of an answer
that the socket has; here an answer that has come whole is taken without waiting at all. libpq takes one statement at a
time, so that at most one is ahead of what was asked for.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from psycopg import AsyncServerCursor, Error, OperationalError, pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

from penstock.connectors.postgres.connecting import Connection

_CANCEL = 5.0
"""Seconds in which the server may answer that it ends what it works on."""


class MovingCursor:
    """An open cursor and the one statement that it works on, if there is one."""

    def __init__(self, connection: Connection, cursor: AsyncServerCursor[tuple[Any, ...]]) -> None:
        assert cursor.pgresult is not None
        self._connection = connection
        self._cursor = cursor
        self._wire = connection.pgconn
        self._name = cursor.name
        self._loading = Transformer(cursor)
        self._loading.set_pgresult(cursor.pgresult, format=cursor.format)  # which says the types of the columns
        self._owed = 0
        """How many rows the server was asked for that have not come."""
        self._at_end = False

    async def rows(self, most: int, more: int) -> list[tuple[Any, ...]]:
        """Return the next rows, none at the end.

        Args:
            most: How many rows are returned at most.
            more: How many of the rows behind them the server may be asked for already.
        """
        if self._at_end:
            return []
        if not self._owed:
            self._ask(most)
        owed = self._owed
        result = await self._answer()
        self._at_end = result.ntuples < owed
        if more and not self._at_end:
            self._ask(more)  # so that the server works on them while these become rows, and are worked on
        self._loading.set_pgresult(result, set_loaders=False)
        return self._loading.load_rows(0, result.ntuples, tuple)

    def _ask(self, count: int) -> None:
        self._wire.send_query(b'FETCH FORWARD %d FROM "%s"' % (count, self._name.encode()))
        self._wire.flush()
        self._owed = count

    async def _answer(self) -> pq.abc.PGresult:
        wire = self._wire
        result: pq.abc.PGresult | None = None
        wire.consume_input()
        while True:
            if wire.is_busy():
                try:
                    await self._readable()
                except OperationalError:
                    if result is None:
                        raise
                    break  # the server has said before why it closes the connection
            found = wire.get_result()
            if found is None:
                break
            result = found
        self._owed = 0
        if result is None:
            raise OperationalError(wire.get_error_message())
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise error_from_result(result)
        return result

    async def _readable(self) -> None:
        """Wait until the next part of the answer is whole; the loop calls libpq, and this task once at the end."""
        loop, wire = asyncio.get_running_loop(), self._wire
        whole: asyncio.Future[None] = loop.create_future()
        socket = wire.socket

        def look() -> None:
            try:
                wire.consume_input()
                if not wire.flush():
                    loop.remove_writer(socket)
                if not wire.is_busy() and not whole.done():
                    whole.set_result(None)
            except Exception as error:  # noqa: BLE001  raised in the task
                if not whole.done():
                    whole.set_exception(error)

        loop.add_reader(socket, look)
        if wire.flush():  # hardly ever: a statement is short
            loop.add_writer(socket, look)
        try:
            await whole
        finally:
            loop.remove_reader(socket)
            loop.remove_writer(socket)

    async def close(self) -> None:
        """Let go of the cursor and the connection; the server ends what it works on."""
        with suppress(Error):  # a connection that is lost has nothing under way
            if self._owed:
                self._wire.consume_input()
                if self._wire.is_busy():
                    await self._connection.cancel_safe(timeout=_CANCEL)
        await self._connection.close()  # and with it, at the server, the cursor
        await self._cursor.close()


__all__ = ["MovingCursor"]
