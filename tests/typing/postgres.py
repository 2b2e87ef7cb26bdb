"""postgres: what comes out of the sources of PostgreSQL, and what the sinks give."""

from __future__ import annotations

from typing import Any, assert_type

from psycopg.rows import dict_row

from penstock import Sink, Stream
from penstock.connectors.postgres import Change, Notified, changes, copy_into, notifications, query, upsert

assert_type(query("", "select 1"), Stream[tuple[Any, ...]])
assert_type(query("", "select 1", row_factory=dict_row), Stream[dict[str, Any]])
assert_type(changes("", slot="s", publication="p"), Stream[Change])
assert_type(notifications("", "c"), Stream[Notified])
assert_type(copy_into("", "t"), Sink[Any, int])
assert_type(upsert("", "t", key="id"), Sink[Any, int])
assert_type((changes("", slot="s", publication="p") | upsert("", "t", key="id")).run().wait(), int)
