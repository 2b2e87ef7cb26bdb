"""batches: write each batch in one transaction, with its bookmark, and set aside the rows that the server refuses."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from psycopg import DataError, IntegrityError, ProgrammingError

from penstock.connectors.postgres.bookmark import Bookmarked
from penstock.connectors.postgres.change import Marked
from penstock.connectors.postgres.connecting import Connection
from penstock.engine.words.arguments import count_given

OnRefused = Callable[[Any, Exception], Awaitable[object] | object]

# What is wrong with a row, and not with the table or the connection. psycopg has a ProgrammingError for a value of a
# type that it knows no way to write; the server has others, which have a code.
_OF_ROWS = (DataError, IntegrityError, TypeError, ValueError, KeyError)


class Putting(Protocol):
    """A way to write rows."""

    async def prepared(self, rows: list[Any], /) -> Callable[[], Awaitable[None]]:
        """Do what needs no transaction; return what writes them in one."""
        ...


class BatchWriter:
    """A connection that writes batches, each in a transaction."""

    def __init__(
        self,
        connection: Connection,
        putting: Putting,
        *,
        table: str,
        bookmarked: Bookmarked | None,
        on_refused: OnRefused | None,
    ) -> None:
        self._connection = connection
        self._putting = putting
        self._table = table
        self._bookmarked = bookmarked
        self._on_refused = on_refused

    async def write(self, batch: list[Any], /) -> None:
        """Write a batch; it is committed when this returns."""
        if self._bookmarked is None:
            await self._write(batch)
            return
        fresh = self._bookmarked.new(batch)
        if fresh:
            await self._write(fresh)

    async def _write(self, batch: list[Any]) -> None:
        try:
            await self._commit(batch, batch[-1])
        except Exception as error:
            if not _of_a_row(error):
                error.add_note(f"postgres: a batch of {len(batch)} for {self._table}; nothing of it was written")
                raise
            if self._on_refused is None:
                error.add_note(
                    f"postgres: {self._table} refused a batch of {len(batch)}, nothing of it was written;"
                    " on_refused= is given such rows and lets the others through"
                )
                raise
            await self._divide(batch, self._on_refused, error)

    async def _divide(self, batch: list[Any], on_refused: OnRefused, error: Exception) -> None:
        """Write a refused batch in halves; hand over the row that is refused alone."""
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._write(batch[:middle])
            await self._write(batch[middle:])
            return
        given = on_refused(batch[0], error)
        if inspect.isawaitable(given):
            await given
        if self._bookmarked is not None:
            await self._commit([], batch[0])

    async def _commit(self, batch: list[Any], last: Any) -> None:
        """Write a batch, and the position of an element with it, in one transaction."""
        bookmarked = self._bookmarked
        if bookmarked is None:
            put = await self._putting.prepared(batch)
            async with self._connection.transaction():
                await put()
            return
        rows = [element.row if isinstance(element, Marked) else element for element in batch]
        prepared = await self._putting.prepared(rows) if rows else None
        async with self._connection.transaction():
            # First, so that another run that writes it is waited for, and not overtaken.
            await bookmarked.bookmark.move(self._connection, bookmarked.at, last.position)
            if prepared is not None:
                await prepared()
        bookmarked.at = last.position

    async def close(self, error: BaseException | None, /) -> None:
        """Let go of the connection; what was not committed is undone by the server."""
        await self._connection.close()


def _of_a_row(error: Exception) -> bool:
    if isinstance(error, ProgrammingError):
        return error.sqlstate is None
    return isinstance(error, _OF_ROWS)


def options_given(function: str, on_refused: object, size: object) -> None:
    """Refuse wrong options that the sinks share."""
    if on_refused is not None and not callable(on_refused):
        raise TypeError(f"{function}: on_refused must be callable, got {on_refused!r}")
    count_given(function, "size", size, 1)


__all__ = ["BatchWriter", "OnRefused", "Putting", "options_given"]
