"""pgoutput: the messages of logical replication as changes.

The protocol is version 1 of PostgreSQL's built-in plugin: transactions come whole and in the order of their commits,
each from its Begin to its Commit; a Relation describes a table before its first change and after each alteration.
Values are text, converted by psycopg's loaders for the types of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from struct import Struct
from typing import Any

from psycopg import pq
from psycopg.abc import AdaptContext
from psycopg.adapt import Transformer

from penstock.connectors.postgres.change import JSON, JSONB, Change, JsonText, Kind
from penstock.connectors.postgres.lsn import lsn_text

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_BEGIN = Struct(">QqI")  # the commit's place, its time in microseconds since 2000, the transaction's number
_COMMIT = Struct(">BQQq")  # flags, the commit's place, the end of the transaction, its time
_COUNT = Struct(">H")
_LENGTH = Struct(">I")
_INSERT, _UPDATE, _DELETE, _TRUNCATE = b"IUDT"
_NULL, _UNCHANGED, _TEXT = b"nut"


class _Left:
    """The mark of a long value that an update left as it was."""


_LEFT = _Left()


class Table:
    """What is known of a table since its last Relation message."""

    def __init__(self, message: bytes, context: AdaptContext, *, convert: bool) -> None:
        self.schema, at = _word(message, 5)
        self.name, at = _word(message, at)
        (count,) = _COUNT.unpack_from(message, at + 1)
        at += 3
        columns: list[str] = []
        kinds: list[int] = []
        keys: list[str] = []
        for _ in range(count):
            is_key = message[at] & 1
            column, at = _word(message, at + 1)
            columns.append(column)
            kinds.append(_LENGTH.unpack_from(message, at)[0])
            at += 8
            if is_key:
                keys.append(column)
        self.columns = tuple(columns)
        self.keys = frozenset(keys)
        self._kinds = kinds
        self._transformer = Transformer(context)
        self._load: Callable[[Sequence[Any]], Sequence[Any]]
        if not convert:
            self._load = partial(_as_text, [JsonText if kind in (JSON, JSONB) else str for kind in kinds])
        else:
            self._transformer.set_loader_types(kinds, pq.Format.TEXT)
            self._load = self._transformer.load_sequence

    def row(self, values: list[Any]) -> dict[str, Any]:
        """Return a row as a dictionary."""
        try:
            return dict(zip(self.columns, self._load(values), strict=True))
        except Exception as error:
            raise self._refusal(values, error) from error

    def key(self, values: list[Any]) -> dict[str, Any]:
        """Return the columns of the key alone: the others of such a row are empty."""
        return {name: value for name, value in self.row(values).items() if name in self.keys}

    def sent(self, values: list[Any]) -> dict[str, Any]:
        """Return a row without what was left as it was."""
        row = self.row([None if value is _LEFT else value for value in values])
        return {name: row[name] for name, value in zip(self.columns, values, strict=True) if value is not _LEFT}

    def _refusal(self, values: list[Any], error: Exception) -> ValueError:
        for name, kind, value in zip(self.columns, self._kinds, values, strict=True):
            if value is None:
                continue
            try:
                self._transformer.get_loader(kind, pq.Format.TEXT).load(value)
            except Exception:  # noqa: BLE001  it is the column that is asked for
                text = bytes(value).decode()
                return ValueError(
                    f"postgres: column {name!r} of {self.schema}.{self.name} holds {text!r:.100}, which"
                    f" cannot be converted: {error}; convert=False gives every value as the server's text"
                )
        return ValueError(f"postgres: a row of {self.schema}.{self.name} cannot be converted: {error}")


def _as_text(makes: Sequence[Callable[[str], str]], values: Sequence[Any]) -> Sequence[Any]:
    return [None if value is None else make(value.decode()) for make, value in zip(makes, values, strict=True)]


def _word(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(0, at)
    return message[at:end].decode(), end + 1


def _values(message: bytes, at: int) -> tuple[list[Any], int]:
    """Read a row from a message; return its values and where it ends."""
    (count,) = _COUNT.unpack_from(message, at)
    at += 2
    values: list[Any] = []
    for _ in range(count):
        kind = message[at]
        if kind == _TEXT:
            start = at + 5
            at = start + _LENGTH.unpack_from(message, at + 1)[0]
            values.append(message[start:at])
        else:
            at += 1
            values.append(None if kind == _NULL else _LEFT)
    return values, at


class Decoder:
    """The transactions of a slot, message by message."""

    def __init__(self, context: AdaptContext, *, convert: bool) -> None:
        self._context = context
        self._convert = convert
        self._tables: dict[int, Table] = {}
        self._lsn = ""
        self._transaction = 0
        self._committed_at = _EPOCH
        self.commit = 0
        """Where the transaction that is being read was committed."""
        self.end = 0
        """Where the transaction that was read last ends in the log."""
        self.inside = False
        """Whether a transaction has begun and not ended."""
        self.index = -1
        """Which of its changes was read last, -1 before the first."""

    def changes(self, message: bytes) -> Sequence[Change]:
        """Return the changes of a message: one, of a TRUNCATE one for each table, mostly none of the others."""
        kind = message[0]
        if kind == _INSERT:
            table = self._tables[_LENGTH.unpack_from(message, 1)[0]]
            return (self._change("insert", table, table.row(_values(message, 6)[0]), None),)
        if kind == _UPDATE:
            return (self._update(message),)
        if kind == _DELETE:
            table = self._tables[_LENGTH.unpack_from(message, 1)[0]]
            read = table.key if message[5:6] == b"K" else table.row
            return (self._change("delete", table, None, read(_values(message, 6)[0])),)
        if kind == _TRUNCATE:
            (count,) = _LENGTH.unpack_from(message, 1)
            tables = [self._tables[_LENGTH.unpack_from(message, 6 + 4 * each)[0]] for each in range(count)]
            return [self._change("truncate", table, None, None) for table in tables]
        self._note(message)
        return ()

    def _note(self, message: bytes) -> None:
        kind = message[:1]
        if kind == b"B":
            self.commit, since, self._transaction = _BEGIN.unpack_from(message, 1)
            self._lsn = lsn_text(self.commit)
            self._committed_at = _EPOCH + timedelta(microseconds=since)
            self.inside, self.index = True, -1
        elif kind == b"C":
            _, _, self.end, _ = _COMMIT.unpack_from(message, 1)
            self.inside = False
        elif kind == b"R":
            self._tables[_LENGTH.unpack_from(message, 1)[0]] = Table(message, self._context, convert=self._convert)
        # Others name an origin or a type, which no change needs.

    def _update(self, message: bytes) -> Change:
        table = self._tables[_LENGTH.unpack_from(message, 1)[0]]
        told, old, at = message[5:6], None, 6
        before: list[Any] = []
        if told != b"N":
            before, at = _values(message, 6)
            old = (table.key if told == b"K" else table.row)(before)
            at += 1
        values, _ = _values(message, at)
        if told == b"O":
            values = [was if value is _LEFT else value for was, value in zip(before, values, strict=True)]
        if _LEFT not in values:
            return self._change("update", table, table.row(values), old)
        unsent = tuple(name for name, value in zip(table.columns, values, strict=True) if value is _LEFT)
        return self._change("update", table, table.sent(values), old, unsent)

    def _change(
        self,
        kind: Kind,
        table: Table,
        row: dict[str, Any] | None,
        old: dict[str, Any] | None,
        unsent: tuple[str, ...] = (),
    ) -> Change:
        self.index += 1
        lsn, at = self._lsn, self._committed_at
        return Change(kind, table.schema, table.name, row, old, lsn, self.index, self._transaction, at, unsent)


__all__ = ["Decoder", "Table"]
