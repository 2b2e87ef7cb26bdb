"""changes: what is committed in tables, decoded, acknowledged and resumable within a transaction."""

from __future__ import annotations

import asyncio
import datetime as dt
import pickle
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import Sink, Stream
from penstock.connectors.postgres import Change, changes, drop_slot, upsert
from penstock.connectors.postgres.lsn import lsn_number
from penstock.connectors.postgres.replication import Replication
from penstock.connectors.postgres.slots import OpenChanges
from penstock.run.resumption import Resumption
from tests.connectors.postgres.server import CONNECTIONS, Server

CONFIRMED = "select confirmed_flush_lsn::text from pg_replication_slots where slot_name = 'slot'"


def tables(server: Server, *statements: str) -> Stream[Change]:
    """Make tables, a publication of them and a slot; return its changes."""
    server.run(*statements, "create publication publication for all tables")
    server.run("select pg_create_logical_replication_slot('slot', 'pgoutput')")
    return changes(server.conninfo, slot="slot", publication="publication")


def first(stream: Stream[Change], count: int) -> list[Change]:
    return list(stream.take(count))


def seen(found: list[Change]) -> list[tuple[Any, ...]]:
    return [(each.kind, each.table, each.row, each.old) for each in found]


def confirmed(server: Server) -> int:
    return lsn_number(server.value(CONFIRMED))


def with_reader(
    server: Server, use: Callable[[Replication], Awaitable[Any]], after: Any = None, convert: bool = True
) -> Any:
    """Read the slot without a stream around it."""

    async def used() -> Any:
        reader = await OpenChanges(server.conninfo, "slot", ("publication",), None, convert, 10.0)(after)
        try:
            return await use(reader)
        finally:
            await reader.close()

    return asyncio.run(used())


async def taken(reader: Replication, count: int, at_once: int = 1000) -> list[tuple[Any, Change]]:
    pairs: list[tuple[Any, Change]] = []
    while len(pairs) < count:
        pairs += await reader.fetch(min(at_once, count - len(pairs)))
    return pairs


def test_inserts_updates_deletes_and_truncates_are_told(server: Server) -> None:
    stream = tables(server, "create table t (id int primary key, name text)", "create table u (id int primary key)")
    server.run(
        "insert into t values (1, 'one'), (2, null)",
        "update t set name = 'two' where id = 2",
        "update t set id = 3 where id = 2",
        "delete from t where id = 1",
        "truncate t, u",
    )
    found = first(stream, 7)
    assert seen(found) == [
        ("insert", "t", {"id": 1, "name": "one"}, None),
        ("insert", "t", {"id": 2, "name": None}, None),
        ("update", "t", {"id": 2, "name": "two"}, None),
        ("update", "t", {"id": 3, "name": "two"}, {"id": 2}),
        ("delete", "t", None, {"id": 1}),
        ("truncate", "t", None, None),
        ("truncate", "u", None, None),
    ]
    assert [each.index for each in found] == [0, 1, 0, 0, 0, 0, 1]
    assert len({each.transaction for each in found}) == len({each.lsn for each in found}) == 5
    assert {each.schema for each in found} == {"public"}
    assert abs(found[0].committed_at - dt.datetime.now(dt.UTC)) < dt.timedelta(hours=1)
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_truncate_of_more_tables_than_are_asked_for_comes_in_parts(server: Server) -> None:
    tables(server, "create table t (id int)", "create table u (id int)", "create table v (id int)")
    server.run("truncate t, u, v", "insert into t values (1)")
    found = with_reader(server, lambda reader: taken(reader, 4, at_once=1))
    assert [(change.kind, change.index) for _, change in found] == [
        ("truncate", 0), ("truncate", 1), ("truncate", 2), ("insert", 0),
    ]  # fmt: skip


def test_a_table_with_full_identity_tells_the_row_before(server: Server) -> None:
    stream = tables(server, "create table t (id int, name text)", "alter table t replica identity full")
    server.run("insert into t values (1, repeat('x', 3))", "update t set id = 2", "delete from t")
    assert seen(first(stream, 3))[1:] == [
        ("update", "t", {"id": 2, "name": "xxx"}, {"id": 1, "name": "xxx"}),
        ("delete", "t", None, {"id": 2, "name": "xxx"}),
    ]


@pytest.mark.parametrize("identity", ["default", "full"])
def test_a_long_value_that_stays_is_named_or_known_from_before(server: Server, identity: str) -> None:
    stream = tables(
        server, "create table t (id int primary key, long text, n int)", f"alter table t replica identity {identity}",
        "alter table t alter long set storage external",
    )  # fmt: skip
    server.run("insert into t values (1, repeat('x', 10000), 1)", "update t set n = 2")
    _, change = first(stream, 2)
    if identity == "full":
        assert change.row == {"id": 1, "long": "x" * 10000, "n": 2}
        assert change.unsent == ()
    else:
        assert change.row == {"id": 1, "n": 2}
        assert change.unsent == ("long",)


def test_values_are_converted_by_type(server: Server) -> None:
    stream = tables(
        server, "create type mood as enum ('well')",
        "create table t (a bigint, b numeric, c float8, d bool, e jsonb, f timestamptz, g int[], h bytea,"
        " i mood, j date)",
    )  # fmt: skip
    server.run(
        """insert into t values (1, 1.50, 0.1, true, '{"k": [1]}', '2026-01-01 01:00+01', '{1,null}', '\\x00ff',
           'well', '2026-02-03')"""
    )
    assert first(stream, 1)[0].row == {
        "a": 1, "b": Decimal("1.50"), "c": 0.1, "d": True, "e": {"k": [1]},
        "f": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "g": [1, None], "h": b"\x00\xff", "i": "well",
        "j": dt.date(2026, 2, 3),
    }  # fmt: skip


def test_values_as_text_are_written_as_they_were(server: Server) -> None:
    columns = "id int primary key, j json, k jsonb, n jsonb, s jsonb, m interval, a text[]"
    tables(server, f"create table t ({columns})", f"create table copied ({columns})")
    server.run(
        """insert into t values
           (1, '{"a":  [1, "\\u0041"]}', '{"b": 12345678901234567890.12}', 'null', '"text"', '1 mon', '{a,null}'),
           (2, null, null, null, null, null, null)"""
    )
    text = changes(server.conninfo, slot="slot", publication="publication", convert=False).take(2)
    assert (text | upsert(server.conninfo, "copied", key="id")).run().wait(60) == 2
    same = "select t::text from t order by id"
    assert server.rows(same.replace("t order", "copied t order")) == server.rows(same)


def test_columns_follow_the_table(server: Server) -> None:
    stream = tables(server, "create table t (id int primary key)")
    server.run(
        "insert into t values (1)", "alter table t add name text default 'x'", "insert into t values (2)",
        "alter table t drop name", "insert into t values (3)",
    )  # fmt: skip
    assert [each.row for each in first(stream, 3)] == [{"id": 1}, {"id": 2, "name": "x"}, {"id": 3}]


def test_a_publication_of_some_tables_is_kept_to(server: Server) -> None:
    server.run(
        "create table t (id int)", "create table u (id int)", "create publication one for table t",
        "create publication \"An 'other\" for table u",
    )  # fmt: skip
    stream = changes(server.conninfo, slot="slot", publication=["one", "An 'other"])
    only = changes(server.conninfo, slot="only", publication="one")
    made = only.take(1).to_list()
    running = (made | Sink.first()).run()
    server.eventually("select count(*) from pg_replication_slots where active", 1)
    with_some = (stream.take(2).to_list() | Sink.first()).run()
    server.eventually("select count(*) from pg_replication_slots where active", 2)
    server.run("insert into u values (1)", "insert into t values (2)")
    assert [(each.table, each.row) for each in running.wait()] == [("t", {"id": 2})]
    assert [(each.table, each.row) for each in with_some.wait()] == [("u", {"id": 1}), ("t", {"id": 2})]


@pytest.mark.proves("postgres.changes", "restart from any position", "the rest, exact within a transaction")
def test_goes_on_behind_any_change(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    server.run(
        "insert into t select generate_series(1, 3)", "insert into t values (4)",
        "insert into t select generate_series(5, 9)",
    )  # fmt: skip
    resumption = Resumption.of(stream)
    pairs = list(resumption.open().take(9))
    assert [change.row["id"] for _, change in pairs if change.row] == [*range(1, 10)]
    for count, (position, _) in enumerate(pairs[:-1], 1):
        assert list(resumption.open(position).take(9 - count)) == pairs[count:]


def test_transactions_come_in_the_order_of_their_commits(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    with psycopg.connect(server.conninfo) as slow:
        slow.execute("insert into t values (1)")
        server.run("insert into t values (2)")
        slow.execute("insert into t values (3)")
    server.run("begin; insert into t values (0); rollback", "insert into t values (4)")
    found = first(stream, 4)
    assert [each.row for each in found] == [{"id": 2}, {"id": 1}, {"id": 3}, {"id": 4}]
    places = [(lsn_number(each.lsn), each.index) for each in found]
    assert places == sorted(places)


# What is done.


def test_what_is_not_done_comes_again(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    server.run("insert into t select generate_series(1, 3)")
    assert first(stream, 3) == first(stream, 3)


def test_what_is_done_is_not_sent_again(server: Server) -> None:
    tables(server, "create table t (id int)")
    server.run("insert into t select generate_series(1, 3)", "insert into t values (4)")

    async def half(reader: Replication) -> Any:
        pairs = await taken(reader, 4)
        await reader.commit(pairs[1][0])
        return pairs

    async def rest(reader: Replication) -> Any:
        pairs = await taken(reader, 4)
        await reader.commit(pairs[2][0])
        return pairs

    pairs = with_reader(server, half)
    assert confirmed(server) == lsn_number(pairs[0][1].lsn)  # in the middle of a transaction, which stays
    assert with_reader(server, rest) == pairs
    assert lsn_number(pairs[2][1].lsn) < confirmed(server) <= lsn_number(pairs[3][1].lsn)
    assert with_reader(server, lambda reader: taken(reader, 1)) == pairs[3:]


def test_a_position_within_what_is_done_in_part_is_exact(server: Server) -> None:
    tables(server, "create table t (id int)")
    server.run("insert into t select generate_series(1, 3)")

    async def half(reader: Replication) -> Any:
        pairs = await taken(reader, 3)
        await reader.commit(pairs[1][0])
        return pairs

    pairs = with_reader(server, half)
    assert with_reader(server, lambda reader: taken(reader, 1), after=pairs[1][0]) == pairs[2:]


def test_a_pipeline_acknowledges_what_has_come_to_its_end(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    server.run("insert into t values (1)", "insert into t values (2)")
    end = server.value("select pg_current_wal_lsn()::text")
    run = (stream | Sink.for_each(lambda change: None)).run()
    try:
        server.eventually(f"select confirmed_flush_lsn >= '{end}' from pg_replication_slots", True)
    finally:
        run.cancel()


def test_the_log_is_let_go_while_other_tables_are_busy(server: Server) -> None:
    server.run("create table t (id int)", "create table busy (id int)", "create publication publication for table t")
    stream = changes(server.conninfo, slot="slot", publication="publication")
    run = (stream | Sink.for_each(lambda change: None)).run()
    try:
        server.eventually("select count(*) from pg_replication_slots where active", 1)
        server.run("insert into busy select generate_series(1, 1000)")
        end = server.value("select pg_current_wal_lsn()::text")
        server.eventually(f"select confirmed_flush_lsn >= '{end}' from pg_replication_slots", True)
    finally:
        run.cancel()


def test_a_commit_comes_back_although_the_reader_waits(server: Server) -> None:
    tables(server, "create table t (id int)")
    server.run("insert into t values (1)")

    async def commit_while_waiting(reader: Replication) -> None:
        ((position, _),) = await reader.fetch(5)
        waiting = asyncio.ensure_future(reader.fetch(5))
        await reader.commit(position)
        place = f"select confirmed_flush_lsn > '{position[0]}' from pg_replication_slots"
        await asyncio.to_thread(server.eventually, place, True)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])

    with_reader(server, commit_while_waiting)


# Where it fails.


@pytest.mark.proves("postgres.changes", "bad credentials", "a clear error")
def test_bad_credentials_are_refused(server: Server) -> None:
    wrong = make_conninfo(server.conninfo, password="wrong")
    with pytest.raises(psycopg.OperationalError, match='password authentication failed for user "owner"'):
        list(changes(wrong, slot="slot", publication="publication"))


def test_a_publication_that_is_missing_is_named_and_no_slot_is_made(server: Server) -> None:
    with pytest.raises(LookupError, match=r"^changes: there is no publication 'p' in this database; make it before"):
        list(changes(server.conninfo, slot="slot", publication="p"))
    assert server.rows("select * from pg_replication_slots") == []


def test_a_slot_that_was_dropped_is_not_made_anew_behind_a_position(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    server.run("insert into t values (1)")
    ((position, _),) = Resumption.of(stream).open().take(1)
    assert drop_slot(server.conninfo, "slot")
    assert not drop_slot(server.conninfo, "slot")
    with pytest.raises(LookupError, match=r"^changes: there is no slot 'slot' to go on behind \['0/"):
        list(Resumption.of(stream).open(position))


def test_a_slot_of_another_plugin_is_refused(server: Server) -> None:
    server.run("create publication publication for all tables")
    server.run("select pg_create_logical_replication_slot('slot', 'test_decoding')")
    with pytest.raises(
        ValueError, match=r"^changes: slot 'slot' belongs to another database or plugin \(test_decoding\)"
    ):
        list(changes(server.conninfo, slot="slot", publication="publication"))


def test_a_slot_in_use_is_waited_for_and_then_refused(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    run = (stream | Sink.for_each(print)).run()
    server.eventually("select count(*) from pg_replication_slots where active", 1)
    impatient = changes(server.conninfo, slot="slot", publication="publication", patience=0.2)
    with pytest.raises(psycopg.errors.ObjectInUse) as caught:
        list(impatient)
    assert "postgres: one run at a time reads a slot; another one still reads 'slot'" in caught.value.__notes__
    patient = (stream.take(1) | Sink.first()).run()
    run.cancel()
    server.run("insert into t values (1)")
    assert patient.wait().row == {"id": 1}


@pytest.mark.proves("postgres.changes", "a dropped table", "its changes still come")
def test_changes_of_a_table_that_was_dropped_still_come(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    server.run("insert into t values (1)", "drop table t", "create table t (name text)", "insert into t values ('x')")
    assert [each.row for each in first(stream, 2)] == [{"id": 1}, {"name": "x"}]


@pytest.mark.proves("postgres.changes", "a poison row", "a clear error behind the changes before it; text on request")
def test_a_value_that_cannot_be_converted_is_named_with_the_cure(server: Server) -> None:
    stream = tables(server, "create table t (at timestamptz)")
    server.run("insert into t values ('2026-01-01'), ('infinity')")
    got: list[Change] = []
    refused = (
        r"^postgres: column 'at' of public.t holds 'infinity', which cannot be converted: .*;"
        r" convert=False gives every value as the server's text$"
    )
    with pytest.raises(ValueError, match=refused):
        list(stream.tap(got.append))
    assert len(got) == 1
    text = changes(server.conninfo, slot="slot", publication="publication", convert=False)
    assert [each.row for each in first(text, 2)] == [{"at": "2026-01-01 00:00:00+00"}, {"at": "infinity"}]


@pytest.mark.proves("postgres.changes", "cancel", "the connection is released")
def test_cancel_releases_the_slot_and_the_connection(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    run = (stream | Sink.for_each(print)).run()
    server.eventually(CONNECTIONS, 1)
    run.cancel()
    server.eventually(CONNECTIONS, 0)
    server.eventually("select active from pg_replication_slots", False)


@pytest.mark.proves("postgres.changes", "the connection is ended by the server", "a clear error")
def test_a_connection_that_the_server_ends_fails_the_stream(server: Server) -> None:
    stream = tables(server, "create table t (id int)")
    run = (stream | Sink.for_each(print)).run()
    server.eventually("select count(*) from pg_replication_slots where active", 1)
    server.run("select pg_terminate_backend(active_pid) from pg_replication_slots")
    with pytest.raises(psycopg.OperationalError, match=r"due to administrator command|closed"):
        run.wait()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slot": "Slot"}, "changes: slot must be 1 to 63 lower case letters, digits and underscores, got 'Slot'"),
        ({"patience": -1}, "changes: patience must be >= 0, got -1"),
        ({"publication": ""}, "changes: publication must not be empty"),
        ({"most": 0}, "changes: most must be >= 1, got 0"),
    ],
)
def test_wrong_options_are_refused_at_the_call(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        changes(**{"conninfo": "", "slot": "slot", "publication": "p", **arguments})


@pytest.mark.parametrize("position", ["0/1", ["0/1"], ["x", 1], ["0/1", -1], [1, 1]])
def test_what_is_no_position_is_refused(server: Server, position: Any) -> None:
    server.run("create publication publication for all tables")
    with pytest.raises(ValueError, match=r"^postgres: a (position of a change|place in the log) looks like "):
        with_reader(server, lambda reader: reader.fetch(1), after=position)
