"""querying: the rows of a query as a stream, through a cursor that the server holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from operator import eq, itemgetter
from time import monotonic
from types import NoneType
from typing import Any, TypeVar, overload
from uuid import UUID

from psycopg import sql
from psycopg.errors import UndefinedColumn
from psycopg.rows import AsyncRowFactory

from penstock.connectors.postgres.connecting import connect, conninfo_given, name_of, names_of
from penstock.connectors.postgres.moving import MovingCursor
from penstock.connectors.reading import MOST, Positioned, feeding, reading
from penstock.engine.words.arguments import count_given
from penstock.stream import Stream

R = TypeVar("R")

_QUICK = 0.1
"""Seconds in which a batch is worked on if the next one may be under way.

A server that waits for long until what it sends is read would come to its `statement_timeout`.
"""

Params = Sequence[Any] | Mapping[str, Any] | None


@overload
def query(
    conninfo: str,
    query: str,
    params: Params = None,
    *,
    key: str | Sequence[str] | None = None,
    row_factory: None = None,
    most: int = MOST,
) -> Stream[tuple[Any, ...]]: ...
@overload
def query(
    conninfo: str,
    query: str,
    params: Params = None,
    *,
    key: str | Sequence[str] | None = None,
    row_factory: AsyncRowFactory[R],
    most: int = MOST,
) -> Stream[R]: ...
def query(
    conninfo: str,
    query: str,
    params: Params = None,
    *,
    key: str | Sequence[str] | None = None,
    row_factory: AsyncRowFactory[Any] | None = None,
    most: int = MOST,
) -> Stream[Any]:
    """Emit the rows of a query, which the server's cursor is moved over by as many as are asked for.

    A run sees the tables as they were when it began, in a transaction that only reads and lasts as long as the run.
    With `key` rows come in the order of the key, and the stream is resumable: it goes on behind the last key.

    Backpressures by fetching no more than is asked for. The server works on the next `most` rows while those before are
    worked on, if as many are asked for and the batch before those took less than 0.1 seconds.

    Args:
        conninfo: Where the server is, as libpq has it.
        query: A SELECT, or VALUES.
        params: What its placeholders stand for, `%s` or `%(name)s`.
        key: The column, or the columns, whose values are in one row each, and never NULL; an index on them makes the
            beginning fast.
        row_factory: What rows are made by, such as `psycopg.rows.dict_row`; without it they are tuples.
        most: How many rows are fetched at a time at most.

    Raises:
        TypeError: `query` or a key is not a text.
        ValueError: `conninfo` is not one, `query` is empty, or `most` is below 1.
    """
    conninfo_given("query", conninfo)
    name_of("query", "query", query)
    count_given("query", "most", most, 1)
    given = tuple(params) if isinstance(params, list) else params
    if key is None:
        return feeding(_OpenQuery(conninfo, query, given, row_factory), most=most)
    opened = _OpenKeyed(conninfo, query, given, names_of("query", "key", key), row_factory)
    return reading(opened, most=most, notes=False)


@dataclass(frozen=True, slots=True)
class _OpenQuery:
    """What a run of a query is opened by."""

    conninfo: str = field(repr=False)
    query: str
    params: Params
    row_factory: AsyncRowFactory[Any] | None

    async def __call__(self) -> Rows:
        return await _opened(self.conninfo, self.query.encode(), self.params, self.row_factory)


@dataclass(frozen=True, slots=True)
class _OpenKeyed:
    """What a run of a query in the order of its key is opened by."""

    conninfo: str = field(repr=False)
    query: str
    params: Params
    keys: tuple[str, ...]
    row_factory: AsyncRowFactory[Any] | None

    async def __call__(self, after: Any) -> KeyedRows:
        """Begin behind a position."""
        columns = sql.SQL(", ").join(map(sql.Identifier, self.keys)).as_string()
        order = f" ORDER BY {columns}"
        if after is not None:
            order = f" WHERE ({columns}) > ({self._values(after)}){order}"
        if self.params is not None:
            order = order.replace("%", "%%")  # else it would begin a placeholder
        inner = self.query.rstrip().rstrip(";")
        text = f"SELECT * FROM (\n{inner}\n) AS penstock_query{order}".encode()
        try:
            rows = await _opened(self.conninfo, text, self.params, self.row_factory)
        except UndefinedColumn as error:
            error.add_note(f"query: the rows must have the columns of the key, {', '.join(self.keys)}")
            raise
        return KeyedRows(rows, self.keys)

    def _values(self, after: Any) -> str:
        values = after if isinstance(after, list | tuple) else [after]
        if len(values) != len(self.keys):
            raise ValueError(f"query: {after!r:.100} is no position of a key of {len(self.keys)} columns")
        # A text is of no type in SQL until it is compared: it becomes a time where the column has times.
        # So does a float, which would be compared as a double with a column of less precision, and come again.
        texts = [str(value) if isinstance(value, float) else value for value in values]
        return ", ".join(sql.Literal(value).as_string() for value in texts)


async def _opened(conninfo: str, text: bytes, params: Params, row_factory: AsyncRowFactory[Any] | None) -> Rows:
    connection = await connect(conninfo, autocommit=False)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(connection.close)
        await connection.set_read_only(True)
        cursor = await stack.enter_async_context(connection.cursor("penstock"))
        await cursor.execute(text, params)
        make = None if row_factory is None else row_factory(cursor)
        moving = MovingCursor(connection, cursor)
        columns = [column.name for column in cursor.description or ()]
        stack.pop_all()
    return Rows(moving, columns, make)


class Rows:
    """The rows of one run."""

    def __init__(self, cursor: MovingCursor, columns: list[str], make: Callable[[Sequence[Any]], Any] | None) -> None:
        self._cursor = cursor
        self._more = 0
        self._gave: float | None = None
        """When the last rows were given, by the monotonic clock."""
        self.columns = columns
        self.make = make

    def ahead(self, more: int, /) -> None:
        """Be told how many rows behind those of the next fetch are asked for already."""
        self._more = more

    async def tuples(self, most: int, /) -> list[tuple[Any, ...]] | None:
        """Return the next rows as they are."""
        quick = self._gave is not None and monotonic() - self._gave < _QUICK
        # A smaller batch would cost the server and us more than is gained by not waiting for it.
        rows = await self._cursor.rows(most, most if quick and self._more >= most else 0)
        self._gave = monotonic()
        return rows or None

    async def fetch(self, most: int, /) -> list[Any] | None:
        """Return the next rows, at most so many."""
        rows = await self.tuples(most)
        return rows if rows is None or self.make is None else list(map(self.make, rows))

    async def close(self) -> None:
        """Let go of the cursor and the connection."""
        await self._cursor.close()


class KeyedRows:
    """The cursor of one run in the order of its key, whose values are the positions."""

    def __init__(self, rows: Rows, keys: tuple[str, ...]) -> None:
        self._rows = rows
        self._keys = keys
        self._places = [rows.columns.index(key) for key in keys]
        self._last: Any = None

    def ahead(self, more: int, /) -> None:
        """Be told how many rows behind those of the next fetch are asked for already."""
        self._rows.ahead(more)

    async def fetch(self, most: int, /) -> Positioned[Any, Any] | None:
        """Return the next rows with their keys, at most so many."""
        rows = await self._rows.tuples(most)
        if rows is None:
            return None
        places, make = self._places, self._rows.make
        if len(places) == 1:
            values: list[Any] = list(map(itemgetter(places[0]), rows))
            kinds = {*map(type, values)}
            self._check(values, has_null=NoneType in kinds)
            positions = values if kinds <= _PLAIN else [_position(self._keys[0], value) for value in values]
        else:
            values = list(map(itemgetter(*places), rows))
            self._check(values, has_null=any(None in value for value in values))
            positions = [[_position(*pair) for pair in zip(self._keys, each, strict=True)] for each in values]
        return Positioned(rows if make is None else list(map(make, rows)), positions)

    def _check(self, values: list[Any], *, has_null: bool) -> None:
        """Refuse a key that two rows have, or none: behind such a position a row would be lost."""
        said = ", ".join(self._keys)
        if has_null:
            raise ValueError(f"query: a row has NULL for {said}, which is no place in an order; leave such rows out")
        if self._last in values[:1] or any(map(eq, values, islice(values, 1, None))):
            raise ValueError(f"query: two rows have the same {said}; a key has each value once, so add columns to it")
        self._last = values[-1]

    async def commit(self, position: Any, /) -> None:
        """Take note of nothing: a table keeps its rows."""

    async def close(self) -> None:
        """Let go of the cursor and the connection."""
        await self._rows.close()


_PLAIN = frozenset({int, str, float})


def _position(key: str, value: Any) -> Any:
    """Return a value of a key as a JSON value that the server compares with the key."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    raise TypeError(
        f"query: {key} has {value!r:.100}, and a position is a number, a text, a time, a Decimal or a UUID;"
        " cast it in the query"
    )


__all__ = ["query"]
