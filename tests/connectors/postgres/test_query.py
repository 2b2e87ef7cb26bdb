"""query: rows come as they are asked for, and a key makes the stream resumable."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import pickle
import re
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from penstock import Sink
from penstock.connectors.postgres import query, querying
from penstock.connectors.postgres.querying import _OpenKeyed
from penstock.testing import Probe, check_resumable
from tests.connectors.postgres.server import CONNECTIONS, Server

NUMBERS = "select n, 'row ' || n as name from generate_series(1, 2500) n"


def test_rows_are_tuples(server: Server) -> None:
    rows = list(query(server.conninfo, NUMBERS))
    assert rows[:2] == [(1, "row 1"), (2, "row 2")]
    assert len(rows) == 2500


def test_rows_are_what_the_factory_makes_of_them(server: Server) -> None:
    found = query(server.conninfo, "select 1 as a, %(b)s::text as b", {"b": "x"}, row_factory=dict_row)
    assert list(found) == [{"a": 1, "b": "x"}]
    keyed = query(server.conninfo, "select n from generate_series(1, 2) n", key="n", row_factory=dict_row)
    assert list(keyed) == [{"n": 1}, {"n": 2}]


def test_a_query_without_rows_completes(server: Server) -> None:
    assert list(query(server.conninfo, "select 1 where false")) == []
    assert list(query(server.conninfo, "select 1 as n where false", key="n")) == []


def test_async_for_reads_it_too(server: Server) -> None:
    async def collected() -> list[Any]:
        return [row async for row in query(server.conninfo, NUMBERS)]

    assert len(asyncio.run(collected())) == 2500


def test_the_stream_is_a_value_and_shows_no_password(server: Server) -> None:
    one, same = (query(server.conninfo, NUMBERS, key="n") for _ in range(2))
    assert pickle.loads(pickle.dumps(one))._chain == one._chain == same._chain
    assert server.password not in repr(one) + repr(one._chain)


@pytest.mark.proves("postgres.query", "restart from any position", "the rest, by the key")
def test_goes_on_behind_any_key(server: Server) -> None:
    server.run("create table words (word text primary key)", "insert into words values ('a'), ('b%'), ('c\\'), ('d''')")
    check_resumable(lambda: query(server.conninfo, "select word from words where word <> %s;", ["a"], key="word"))
    check_resumable(lambda: query(server.conninfo, "select word from words where word like '%'  -- all", key="word"))


@pytest.mark.parametrize(
    "values",
    [
        "generate_series(1, 3) n",
        "generate_series(0.5, 2.5) n",
        "generate_series(timestamptz '2026-01-01 00:00+02', '2026-01-03', '7 hours 1 microsecond') n",
        "generate_series(timestamp '2026-01-01', '2026-01-03', '1 day') n",
        "(values (date '2026-01-01'), ('2026-03-29')) as x(n)",
        "(values (gen_random_uuid()), (gen_random_uuid())) as x(n)",
        "(values (1.5::float8), (0.1::float8), (-1e300)) as x(n)",
        "(values (0.1::float4), (0.2::float4), ('-Infinity'::float4)) as x(n)",
    ],
)
def test_keys_of_many_types_are_positions(server: Server, values: str) -> None:
    server.run(f"create table kept as select n from {values}")
    check_resumable(lambda: query(server.conninfo, "select n from kept", key="n"))


def test_a_key_of_two_columns_is_compared_as_one(server: Server) -> None:
    text = "select a, b from generate_series(1, 3) a, generate_series(1, 2) b"
    check_resumable(lambda: query(server.conninfo, text, key=("a", "b")))

    async def behind() -> Any:
        reader = await _OpenKeyed(server.conninfo, text, None, ("a", "b"), None)([2, 1])
        try:
            return list(await reader.fetch(2) or ())
        finally:
            await reader.close()

    assert asyncio.run(behind()) == [([2, 2], (2, 2)), ([3, 1], (3, 1))]


def test_positions_are_json(server: Server) -> None:
    async def first() -> Any:
        reader = await _OpenKeyed(server.conninfo, "select timestamptz '2026-01-01 UTC' as n", None, ("n",), None)(None)
        try:
            return list(await reader.fetch(1) or ())
        finally:
            await reader.close()

    ((position, (value,)),) = asyncio.run(first())
    assert json.loads(json.dumps(position)) == "2026-01-01T00:00:00+00:00"
    assert value == dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "select n / 2 as n from generate_series(2, 5) n",
            "query: two rows have the same n; a key has each value once, so add columns to it",
        ),
        (
            "select nullif(n, 3) as n from generate_series(1, 3) n",
            "query: a row has NULL for n, which is no place in an order; leave such rows out",
        ),
        (
            "select null::int as n",
            "query: a row has NULL for n, which is no place in an order; leave such rows out",
        ),
    ],
)
@pytest.mark.parametrize("most", [1, 1000])
def test_a_key_that_would_lose_rows_is_refused(server: Server, text: str, message: str, most: int) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        list(query(server.conninfo, text, key="n", most=most))


def test_a_key_that_cannot_be_a_position_is_refused(server: Server) -> None:
    with pytest.raises(TypeError, match=r"^query: n has b'x', and a position is a number, .*; cast it in the query$"):
        list(query(server.conninfo, "select 'x'::bytea as n", key="n"))


def test_a_key_that_is_no_column_is_refused(server: Server) -> None:
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        list(query(server.conninfo, "select 1 as n", key="m"))
    assert "query: the rows must have the columns of the key, m" in caught.value.__notes__


def test_a_query_that_writes_is_refused(server: Server) -> None:
    server.run("create sequence counted")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        list(query(server.conninfo, "select nextval('counted')"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conninfo": "hosts=here"}, 'query: conninfo cannot be read: invalid connection option "hosts"'),
        ({"conninfo": "password=my secret"}, 'query: conninfo cannot be read: missing "=" after ...'),
        (
            {"conninfo": "postgresql://u:se%cret@h"},
            "query: conninfo cannot be read: invalid percent-encoded token: ...",
        ),
        ({"query": ""}, "query: query must not be empty"),
        ({"key": []}, r"query: key must name at least one, got \[\]"),
        ({"most": 0}, "query: most must be >= 1, got 0"),
    ],
)
def test_wrong_options_are_refused_at_the_call(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        query(**{"conninfo": "", "query": "select 1", **arguments})


def test_fetches_what_is_asked_for(server: Server) -> None:
    """The server tells what its session was told last."""
    with query(server.conninfo, "select n from generate_series(1, 100000) n").limit_rate(10).open() as rows:
        taken = iter(rows)
        assert [next(taken) for _ in range(5)] == [(n,) for n in range(1, 6)]
        last = server.value("select query from pg_stat_activity where application_name = 'penstock'")
    assert re.fullmatch('FETCH FORWARD ([1-9]|10) FROM "penstock"', last)


SLEEPING = "select count(*) from pg_stat_activity where application_name = 'penstock' and wait_event = 'PgSleep'"


def test_the_server_works_on_the_next_batch_while_this_one_is_worked_on(server: Server) -> None:
    """The third batch is under way when the first row of the second is seen."""
    text = "select n, case when n > 20 then pg_sleep(600) end from generate_series(1, 30) n"
    seen: list[int] = []

    def see(row: tuple[Any, ...]) -> None:
        if row[0] == 11:
            server.eventually(SLEEPING, 1)
        seen.append(row[0])

    run = (query(server.conninfo, text, most=10) | Sink.for_each(see)).run()
    server.eventually(SLEEPING, 1)
    run.cancel()
    server.eventually(CONNECTIONS, 0)
    assert seen == list(range(1, len(seen) + 1))


@pytest.mark.parametrize(("took", "state"), [(0.01, "active"), (0.2, "idle in transaction")])
def test_a_slow_run_has_nothing_under_way(
    server: Server, monkeypatch: pytest.MonkeyPatch, took: float, state: str
) -> None:
    """A server that waits until somebody reads what it sends would come to its statement_timeout."""
    now = [0.0]
    monkeypatch.setattr(querying, "monotonic", lambda: now[0])
    text = "select case when n > 20 then pg_sleep(600) end from generate_series(1, 30) n"

    async def read() -> None:
        reader = await querying._OpenQuery(server.conninfo, text, None, None)()
        try:
            for _ in range(2):
                reader.ahead(10)
                assert len(await reader.fetch(10) or ()) == 10
                now[0] += took
            server.eventually("select state from pg_stat_activity where application_name = 'penstock'", state)
        finally:
            await reader.close()

    asyncio.run(read())
    server.eventually(CONNECTIONS, 0)


def test_nothing_is_fetched_ahead_of_demand(server: Server) -> None:
    """A row behind those that are asked for would divide by zero."""
    text = "select 1 / (20 - n) from generate_series(1, 30) n"
    probe = Probe[Any](19)
    query(server.conninfo, text, most=10).subscribe(probe)
    assert len(probe.wait_for(19)) == 19
    probe.request(1)
    probe.wait_for_end()
    assert isinstance(probe.error, psycopg.errors.DivisionByZero)


def test_a_failure_of_the_next_batch_comes_behind_this_one(server: Server) -> None:
    got: list[Any] = []
    text = "select n, 1 / (15 - n) from generate_series(1, 30) n"
    with pytest.raises(psycopg.errors.DivisionByZero):
        list(query(server.conninfo, text, most=5).tap(got.append))
    assert [row[0] for row in got] == list(range(1, 11))
    server.eventually(CONNECTIONS, 0)


def test_rows_may_be_left_while_others_are_under_way(server: Server) -> None:
    rows = query(server.conninfo, "select n from generate_series(1, 100000) n", most=10)
    assert rows.take_while(lambda row: row[0] < 15).count().get() == 14
    server.eventually(CONNECTIONS, 0)


def test_rows_that_are_larger_than_the_buffers_come_whole(server: Server) -> None:
    text = "select n, repeat(chr(64 + n), 1000000) from generate_series(1, 6) n"
    rows = list(query(server.conninfo, text, most=2))
    assert [(n, len(value), value[-1]) for n, value in rows] == [(n, 1_000_000, chr(64 + n)) for n in range(1, 7)]


def test_a_connection_that_the_server_ends_is_a_clear_error(server: Server) -> None:
    end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'penstock'"
    with query(server.conninfo, "select n, pg_sleep(0) from generate_series(1, 1000) n").limit_rate(10).open() as rows:
        taken = iter(rows)
        assert next(taken)[0] == 1
        assert server.value(end) is True
        with pytest.raises(psycopg.OperationalError, match=r"terminat|closed"):
            list(taken)


@pytest.mark.proves("postgres.query", "cancel", "the connection is released")
def test_cancel_ends_a_query_that_the_server_still_works_on(server: Server) -> None:
    run = (query(server.conninfo, "select pg_sleep(600)") | Sink.count()).run()
    server.eventually("select count(*) from pg_stat_activity where wait_event = 'PgSleep'", 1)
    run.cancel()
    server.eventually(CONNECTIONS, 0)


@pytest.mark.proves("postgres.query", "bad credentials", "a clear error")
def test_bad_credentials_are_refused(server: Server) -> None:
    wrong = make_conninfo(server.conninfo, password="wrong")
    with pytest.raises(psycopg.OperationalError, match='password authentication failed for user "owner"'):
        list(query(wrong, "select 1"))


@pytest.mark.proves("postgres.query", "a dropped table", "a clear error")
def test_a_table_that_is_not_there_is_named(server: Server) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable, match='relation "missing" does not exist'):
        list(query(server.conninfo, "select * from missing", key="id"))


@pytest.mark.proves("postgres.query", "a poison row", "a clear error behind the rows before it")
def test_a_row_that_cannot_be_converted_comes_as_an_error(server: Server) -> None:
    text = "select '2026-01-01'::timestamp + n * interval '100000 years' from generate_series(0, 2) n"
    got: list[Any] = []
    rows = query(server.conninfo, text, most=1).tap(got.append)
    with pytest.raises(psycopg.DataError, match="timestamp too large"):
        list(rows)
    assert len(got) == 1
