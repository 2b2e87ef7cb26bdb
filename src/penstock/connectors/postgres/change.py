"""change: what became of a row, as logical replication tells it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Kind = Literal["insert", "update", "delete", "truncate"]


@dataclass(frozen=True, slots=True)
class Change:
    """A row that was inserted, updated or deleted, or a table that was truncated, in a committed transaction."""

    kind: Kind
    """What was done."""
    schema: str
    """The schema of the table."""
    table: str
    """The name of the table."""
    row: dict[str, Any] | None
    """The row as it is now, None if it was deleted. A long value that an update left as it was is not in it, but named
    in `unsent`, since the server does not send it unless the table has REPLICA IDENTITY FULL."""
    old: dict[str, Any] | None
    """What the server tells of the row before: its key, if it was deleted or its key has changed; the whole row, if the
    table has REPLICA IDENTITY FULL; else None."""
    lsn: str
    """Where in the log its transaction was committed, such as `'0/16B3748'`."""
    index: int
    """Which change of its transaction it is, counted from 0."""
    transaction: int
    """The number of its transaction."""
    committed_at: datetime
    """When its transaction was committed."""
    unsent: tuple[str, ...] = ()
    """The columns that are not in `row` because an update left their long values as they were."""

    @property
    def position(self) -> list[str | int]:
        """Return its position, which a stream of changes opens behind: it is exact within a transaction."""
        return [self.lsn, self.index]


@dataclass(frozen=True, slots=True)
class Gone:
    """A row that is to be deleted by its key; for `upsert`, where rows are no changes."""

    key: dict[str, Any]
    """The columns of the key with their values."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A row that was made of an element of a source, with the position of that element; for sinks with a bookmark."""

    position: Any
    """The position, such as `change.position`, or a number."""
    row: Any
    """What the sink takes without a bookmark."""


class JsonText(str):
    """A value of a column that holds JSON as the server's text, which a sink does not take for a text in JSON."""

    __slots__ = ()


JSON, JSONB = 114, 3802
"""The numbers by which the server knows the types of such columns."""

__all__ = ["JSON", "JSONB", "Change", "Gone", "JsonText", "Kind", "Marked"]
