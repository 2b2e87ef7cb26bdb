"""postgres_types: what type checkers make of the sources and sinks of PostgreSQL."""

from __future__ import annotations

from typing import Any, assert_type

from psycopg.rows import dict_row

from penstock import Sink, Stream
from penstock.connectors.postgres import Change, Notified, changes, copy_into, notifications, query, upsert
from penstock.flow import Pipeline


def test_sources_say_what_they_give() -> None:
    assert_type(query("", "select 1"), Stream[tuple[Any, ...]])
    assert_type(query("", "select 1", row_factory=dict_row), Stream[dict[str, Any]])
    assert_type(changes("", slot="s", publication="p"), Stream[Change])
    assert_type(notifications("", "c"), Stream[Notified])


def test_sinks_count() -> None:
    assert_type(copy_into("", "t"), Sink[Any, int])
    assert_type(upsert("", "t", key="id"), Sink[Any, int])
    assert_type(changes("", slot="s", publication="p") | upsert("", "t", key="id"), Pipeline[int])
