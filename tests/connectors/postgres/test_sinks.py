"""sinks: copy_into appends, upsert makes rows be as elements say; a batch is there whole or not at all."""

from __future__ import annotations

import datetime as dt
import pickle
from itertools import combinations, permutations
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from penstock import Sink, Stream
from penstock.connectors.postgres import Bookmark, Change, Gone, Marked, copy_into, query, upsert
from penstock.connectors.postgres.copying import OpenCopy
from tests.connectors.postgres.server import CONNECTIONS, Server

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def run(stream: Stream[Any], sink: Sink[Any, int]) -> int:
    return (stream | sink).run().wait()


def change(kind: Any, row: Any, old: Any = None, index: int = 0, unsent: tuple[str, ...] = ()) -> Change:
    return Change(kind, "public", "t", row, old, f"0/{index + 1:X}", 0, 1, NOW, unsent)


# copy_into.


def test_rows_are_appended(server: Server) -> None:
    server.run("create table t (id int, name text)")
    assert run(Stream.range(2500).map(lambda n: (n, f"row {n}")), copy_into(server.conninfo, "t")) == 2500
    assert server.value("select count(*) from t where name = 'row ' || id") == 2500


def test_each_batch_is_one_transaction(server: Server) -> None:
    server.run("create table t (id int)")
    run(Stream.range(25).map(lambda n: (n,)), copy_into(server.conninfo, "t", size=10, seconds=None))
    assert server.rows("select count(*) from t group by xmin order by min(id)") == [(10,), (10,), (5,)]


def test_rows_are_sequences_or_mappings_of_the_columns(server: Server) -> None:
    server.run('create table "A b" (id int, name text, at timestamptz default now())')
    rows: list[Any] = [(1, "one"), [2, "two"], {"name": "three", "id": 3, "more": 0}]
    assert run(Stream.from_iterable(rows), copy_into(server.conninfo, "public.A b", ["id", "name"])) == 3
    assert server.rows('select id, name from "A b" where at is not null') == [(1, "one"), (2, "two"), (3, "three")]


def test_values_of_many_types_come_back_as_they_were(server: Server) -> None:
    server.run("create table t (a jsonb, b json, c int[], d bytea, e timestamptz, f text)")
    rows = [
        ({"k": [1, None]}, [1, "x"], [1, None], b"\x00\t\n", NOW, "a\tb\\N\n%"),
        ("text", 1.5, [], b"", None, ""),
        (None, None, None, None, None, None),
        (Jsonb([1]), [], None, None, None, None),
    ]
    run(Stream.from_iterable(rows), copy_into(server.conninfo, "t"))
    rows[3] = ([1], [], None, None, None, None)
    assert server.rows("select * from t") == rows


def test_a_generated_column_is_left_to_the_table(server: Server) -> None:
    server.run("create table t (id int, twice int generated always as (id * 2) stored)")
    run(Stream.just((2,)), copy_into(server.conninfo, "t"))
    assert server.rows("select * from t") == [(2, 4)]


def test_the_sink_is_a_value_and_shows_no_password(server: Server) -> None:
    opens = OpenCopy(server.conninfo, "t", None, Bookmark(server.conninfo, "b"), None)
    assert pickle.loads(pickle.dumps(opens)) == opens
    assert server.password not in repr(opens)


@pytest.mark.proves("postgres.copy_into", "bad credentials", "a clear error")
def test_bad_credentials_are_refused(server: Server) -> None:
    wrong = make_conninfo(server.conninfo, password="wrong")
    with pytest.raises(psycopg.OperationalError, match='password authentication failed for user "owner"'):
        run(Stream.just((1,)), copy_into(wrong, "t"))


@pytest.mark.parametrize("sink", [lambda at: copy_into(at, "t"), lambda at: upsert(at, "t", key="id")])
def test_a_table_that_is_missing_is_named(server: Server, sink: Any) -> None:
    with pytest.raises(LookupError, match=r"^(copy_into|upsert): there is no table 't' in database 'postgres'$"):
        run(Stream.just({"id": 1}), sink(server.conninfo))


def test_a_column_that_is_missing_is_named(server: Server) -> None:
    server.run("create table t (id int primary key, name text)")
    with pytest.raises(LookupError, match=r"^copy_into: t has no column 'x', only id, name$"):
        run(Stream.just((1,)), copy_into(server.conninfo, "t", ["x"]))
    with pytest.raises(LookupError, match=r"^upsert: t has no column 'x', only id, name"):
        run(Stream.just({"id": 1, "x": 2}), upsert(server.conninfo, "t", key="id"))


@pytest.mark.proves("postgres.copy_into", "a dropped table", "a clear error, nothing of the batch is written")
@pytest.mark.proves("postgres.upsert", "a dropped table", "a clear error, nothing of the batch is written")
@pytest.mark.parametrize("sink", [copy_into, upsert])
def test_a_table_that_is_dropped_meanwhile_fails_the_run(server: Server, sink: Any) -> None:
    server.run("create table t (id int primary key)")
    options = {"key": "id"} if sink is upsert else {}

    def rows() -> Any:
        yield {"id": 1}
        server.eventually("select count(*) from t", 1)
        server.run("drop table t")
        yield {"id": 2}

    with pytest.raises(psycopg.errors.UndefinedTable, match='"t" does not exist') as caught:
        run(Stream.from_iterable(rows()), sink(server.conninfo, "t", size=1, **options))
    assert "postgres: a batch of 1 for t; nothing of it was written" in caught.value.__notes__


@pytest.mark.proves("postgres.copy_into", "a poison row", "a clear error, nothing of the batch; or dead letters")
def test_a_row_that_is_refused_fails_the_batch_and_names_its_place(server: Server) -> None:
    server.run("create table t (id int check (id <> 7))")
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        run(Stream.range(20).map(lambda n: (n,)), copy_into(server.conninfo, "t", size=5, seconds=None))
    assert any(
        note.startswith("postgres: t refused a batch of 5, nothing of it was written; on_refused= is given such rows")
        for note in caught.value.__notes__
    )
    assert server.rows("select * from t order by 1") == [(n,) for n in range(5)]


@pytest.mark.parametrize("awaited", [False, True])
def test_rows_that_are_refused_are_set_aside(server: Server, awaited: bool) -> None:
    server.run("create table t (id int check (id <> 7))")
    letters: list[tuple[Any, str]] = []

    def refused(row: Any, error: Exception) -> None:
        letters.append((row, type(error).__name__))

    async def refused_later(row: Any, error: Exception) -> None:
        refused(row, error)

    rows: list[Any] = [*((n,) for n in range(10)), ("x",), (object(),), "no row", (10,)]
    sink = copy_into(server.conninfo, "t", on_refused=refused_later if awaited else refused)
    assert run(Stream.from_iterable(rows), sink) == 14
    assert server.rows("select * from t order by 1") == [(n,) for n in range(11) if n != 7]
    assert [name for _, name in letters] == [
        "CheckViolation", "InvalidTextRepresentation", "ProgrammingError", "TypeError",
    ]  # fmt: skip
    assert letters[0][0] == (7,)


@pytest.mark.proves("postgres.copy_into", "a full disk", "a clear error; it goes on once there is room")
def test_a_disk_that_takes_no_more_fails_the_batch_alone() -> None:
    """The system lets no file of the server grow beyond 16 MiB, the size of a piece of its log.

    To fill a disk takes one to spare, or the right to mount a small one, which tests do not have everywhere.
    """
    server = Server()
    rows = Stream.range(4000).map(lambda n: Marked(n, (n, "x" * 7000)))
    bookmark = Bookmark(server.conninfo, "rows")
    sink = copy_into(server.conninfo, "t", bookmark=bookmark, size=200, seconds=None)
    try:
        server.start(largest_file=16 << 20)
        server.run("create table t (id int, filling text)", "alter table t alter filling set storage plain")
        with pytest.raises(psycopg.Error, match="could not extend file") as caught:
            run(rows, sink)
        assert "postgres: a batch of 200 for t; nothing of it was written" in caught.value.__notes__
        there = server.value("select count(*) from t")
        assert 200 <= there < 4000
        assert bookmark.position() == there - 1
        server.halt()
        server.start()
        run(rows, sink)
        assert server.rows("select count(*), count(distinct id), max(id) from t") == [(4000, 4000, 3999)]
    finally:
        server.stop()


@pytest.mark.proves("postgres.copy_into", "cancel", "the connection is released")
@pytest.mark.proves("postgres.upsert", "cancel", "the connection is released")
@pytest.mark.parametrize("sink", [copy_into, upsert])
def test_cancel_releases_the_connection(server: Server, sink: Any) -> None:
    server.run("create table t (id int primary key)")
    options = {"key": "id"} if sink is upsert else {}
    rows: Stream[Any] = Stream.concat(Stream.just({"id": 1}), Stream.never())
    pipeline = (rows | sink(server.conninfo, "t", seconds=0.01, **options)).run()
    server.eventually("select count(*) from t", 1)
    server.eventually(CONNECTIONS, 1)
    pipeline.cancel()
    server.eventually(CONNECTIONS, 0)


@pytest.mark.proves("postgres.upsert", "bad credentials", "a clear error")
def test_bad_credentials_are_refused_by_upsert(server: Server) -> None:
    wrong = make_conninfo(server.conninfo, password="wrong")
    with pytest.raises(psycopg.OperationalError, match='password authentication failed for user "owner"'):
        run(Stream.just({"id": 1}), upsert(wrong, "t", key="id"))


# upsert.


def upserted(server: Server, *elements: Any, size: int = 1000, table: str = "t", key: Any = "id") -> list[Any]:
    run(Stream.from_iterable(elements), upsert(server.conninfo, table, key=key, size=size))
    return server.rows(f"select * from {table} order by 1")


def test_rows_are_inserted_and_updated(server: Server) -> None:
    server.run("create table t (id int primary key, name text, n int default 5)", "insert into t values (1, 'old', 1)")
    assert upserted(server, {"id": 1, "name": "new"}, {"name": "two", "id": 2}) == [(1, "new", 1), (2, "two", 5)]


STAGED = "select count(*) from pg_class where relname like 'penstock_stage%'"


def staged(server: Server, rows: list[dict[str, Any]]) -> list[int]:
    """Upsert row by row; return how many temporary tables there were while each was written."""
    found: list[int] = []

    def look(row: dict[str, Any]) -> dict[str, Any]:
        found.append(server.value(STAGED))
        return row

    sink = upsert(server.conninfo, "t", key="id", size=1)
    run(Stream.from_iterable(rows).map(look), sink)
    return found


def test_one_temporary_table_serves_all_orders_of_columns(server: Server) -> None:
    server.run("create table t (id int primary key, a int, b int)")
    orders = [*permutations(("id", "a", "b"))] * 2
    rows = [{name: {"id": n, "a": 10 * n, "b": 100 * n}[name] for name in order} for n, order in enumerate(orders)]
    assert max(staged(server, rows)) == 1
    assert server.rows("select * from t order by 1") == [(n, 10 * n, 100 * n) for n in range(len(rows))]


def test_temporary_tables_that_are_not_used_are_dropped(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.postgres.upserting.STAGES", 2)
    server.run("create table t (id int primary key, a int, b int, c int)")
    sets = [some for count in range(4) for some in combinations("abc", count)] * 3
    rows = [{"id": n, **dict.fromkeys(names, n)} for n, names in enumerate(sets)]
    assert max(staged(server, rows)) == 2
    whole = [(n, *(n if name in names else None for name in "abc")) for n, names in enumerate(sets)]
    assert server.rows("select * from t order by 1") == whole


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_last_of_each_key_counts(server: Server, size: int) -> None:
    server.run("create table t (id int primary key, name text, n int)")
    elements = [
        {"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "n": 1}, Gone({"id": 2}), {"id": 3, "name": "c"},
        Gone({"id": 3}), {"id": 3, "n": 3}, {"id": 4, "name": "d"}, Gone({"id": 4}), Gone({"id": 9}),
    ]  # fmt: skip
    assert upserted(server, *elements, size=size) == [(1, "a", 1), (3, None, 3)]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("again", [1, 2])
def test_changes_make_a_table_the_same(server: Server, size: int, again: int) -> None:
    server.run("create table t (id int primary key, name text, n int)", "insert into t values (8, 'x', 8)")
    found = [
        change("truncate", None),
        change("insert", {"id": 1, "name": "a", "n": 1}),
        change("insert", {"id": 2, "name": "b", "n": 2}),
        change("update", {"id": 1, "name": "A", "n": 1}),
        change("update", {"id": 3, "name": "A", "n": 1}, {"id": 1}),
        change("delete", None, {"id": 2}),
        change("insert", {"id": 1, "name": "new", "n": 0}),
    ]
    for _ in range(again):
        assert upserted(server, *found, size=size) == [(1, "new", 0), (3, "A", 1)]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_long_values_that_were_not_sent_stay(server: Server, size: int) -> None:
    server.run("create table t (id int primary key, long text not null, n int)")
    found = [
        change("insert", {"id": 1, "long": "long", "n": 1}),
        change("update", {"id": 1, "n": 2}, unsent=("long",)),
        change("update", {"id": 2, "n": 3}, {"id": 1}, unsent=("long",)),
        change("insert", {"id": 1, "long": "other", "n": 0}),
        change("insert", {"id": 5, "long": "gone", "n": 0}),
        change("update", {"id": 5, "n": 3}, unsent=("long",)),
        change("delete", None, {"id": 5}),
    ]
    expected = [(1, "other", 0), (2, "long", 3)]
    assert upserted(server, *found, size=size) == expected
    for begin in range(len(found)):  # a restart may begin anywhere before the end
        assert upserted(server, *found[begin:], size=size) == expected


def test_a_key_of_two_columns_and_a_table_that_is_all_key(server: Server) -> None:
    server.run("create table t (a int, b int, primary key (a, b))")
    rows = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 1}, Gone({"b": 2, "a": 1})]
    assert upserted(server, *rows, key=("a", "b")) == [(1, 1)]
    assert upserted(server, *rows, key=["a", "b"]) == [(1, 1)]


def test_json_arrays_and_identities_are_upserted(server: Server) -> None:
    server.run("create table t (id int generated always as identity primary key, j jsonb, a int[])")
    assert upserted(server, {"id": 7, "j": [1], "a": [1]}, {"id": 7, "j": {"k": 1}, "a": []}) == [(7, {"k": 1}, [])]


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ({"name": "x"}, "upsert: an element has no 'id', by which rows are found, got {'name': 'x'};"),
        (Gone({}), r"upsert: an element has no 'id', by which rows are found, got Gone\(key={}\);"),
    ],
)
def test_an_element_without_its_key_is_refused(server: Server, element: Any, message: str) -> None:
    server.run("create table t (id int primary key, name text)")
    with pytest.raises(ValueError, match=f"^{message}"):
        upserted(server, element)
    with pytest.raises(
        TypeError, match=r"^upsert: an element is a mapping, a NamedTuple, a dataclass, a Change or Gone, got 5"
    ):
        upserted(server, 5)


def test_a_key_without_a_constraint_is_refused(server: Server) -> None:
    server.run("create table t (id int)")
    with pytest.raises(psycopg.errors.InvalidColumnReference, match="no unique or exclusion constraint"):
        upserted(server, {"id": 1})


@pytest.mark.proves("postgres.upsert", "a poison row", "a clear error, nothing of the batch; or dead letters")
def test_elements_that_are_refused_are_set_aside(server: Server) -> None:
    server.run("create table t (id int primary key, name text not null)")
    letters: list[Any] = []
    elements = [{"id": n, "name": None if n == 5 else str(n)} for n in range(9)]
    sink = upsert(server.conninfo, "t", key="id", on_refused=lambda element, error: letters.append(element))
    assert run(Stream.from_iterable([*elements, 5, Gone({"id": 1})]), sink) == 11
    assert [n for n, _ in server.rows("select * from t order by 1")] == [0, 2, 3, 4, 6, 7, 8]
    assert letters == [{"id": 5, "name": None}, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": ""}, "upsert: table must not be empty"),
        ({"key": ()}, r"upsert: key must name at least one, got \(\)"),
        ({"size": 0}, "upsert: size must be >= 1, got 0"),
        ({"seconds": 0}, "writing: seconds must be > 0 and finite, got 0"),
    ],
)
def test_wrong_options_are_refused_at_the_call(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        upsert(**{"conninfo": "", "table": "t", "key": "id", **arguments})
    with pytest.raises(TypeError, match=r"^upsert: on_refused must be callable, got 5$"):
        upsert("", "t", key="id", on_refused=5)  # type: ignore[arg-type]


# Bookmarks.


def marked(*numbers: int) -> Stream[Marked]:
    return Stream.from_iterable([Marked(n, (n,)) for n in numbers])


def test_rows_and_their_position_are_there_together(server: Server) -> None:
    server.run("create table t (id int check (id <> 25))")
    bookmark = Bookmark(server.conninfo, "numbers")
    assert bookmark.position() is None
    sink = copy_into(server.conninfo, "t", bookmark=bookmark, size=10, seconds=None)
    with pytest.raises(psycopg.errors.CheckViolation):
        run(marked(*range(40)), sink)
    assert bookmark.position() == 19
    assert server.value("select count(*) from t") == 20
    server.run("alter table t drop constraint t_id_check")
    assert run(marked(*range(15, 40)), sink) == 25
    assert bookmark.position() == 39
    assert server.rows("select id from t order by 1") == [(n,) for n in range(40)]


def test_positions_of_changes_are_compared_as_places_in_the_log(server: Server) -> None:
    server.run("create table t (id int primary key)")
    bookmark = Bookmark(server.conninfo, "changes")
    found = [Change("insert", "public", "t", {"id": n}, None, lsn, 0, 1, NOW) for n, lsn in enumerate(["0/9", "0/10"])]
    run(Stream.from_iterable(found), upsert(server.conninfo, "t", key="id", bookmark=bookmark))
    assert bookmark.position() == ["0/10", 0]
    server.run("delete from t")
    run(Stream.from_iterable(found), upsert(server.conninfo, "t", key="id", bookmark=bookmark))
    assert server.rows("select * from t") == []


def test_what_is_refused_is_passed_by_the_bookmark(server: Server) -> None:
    server.run("create table t (id int check (id % 2 = 0))")
    bookmark, letters = Bookmark(server.conninfo, "numbers"), []
    sink = copy_into(
        server.conninfo, "t", bookmark=bookmark, on_refused=lambda row, error: letters.append(row.position)
    )
    run(marked(*range(10)), sink)
    assert letters == [1, 3, 5, 7, 9]
    assert bookmark.position() == 9


def test_positions_that_do_not_grow_are_refused(server: Server) -> None:
    server.run("create table t (id int)")
    sink = copy_into(server.conninfo, "t", bookmark=Bookmark(server.conninfo, "numbers"), size=1)
    with pytest.raises(
        ValueError, match=r"^Bookmark: positions must grow, and 1 came behind one that is not before it; "
    ):
        run(marked(1, 1), sink)
    with pytest.raises(TypeError, match=r"^Bookmark: an element needs a position, as a Change or a Marked row has"):
        run(Stream.just((1,)), sink)


@pytest.mark.proves("postgres.copy_into", "two runs of one bookmark", "the second one is refused, nothing is doubled")
def test_a_second_run_is_refused(server: Server) -> None:
    server.run("create table t (id int)")
    bookmark = Bookmark(server.conninfo, "numbers")
    sink = copy_into(server.conninfo, "t", bookmark=bookmark, size=1, seconds=0.01)

    def rows() -> Any:
        yield Marked(1, (1,))
        server.eventually("select count(*) from t", 1)
        server.run("insert into t values (2)", "update penstock_bookmarks set position = '2'")  # as another run does
        yield Marked(2, (2,))

    with pytest.raises(RuntimeError, match=r"^Bookmark: 'numbers' is no longer at 1: another run writes it, "):
        run(Stream.from_iterable(rows()), sink)
    assert server.rows("select id from t order by 1") == [(1,), (2,)]


def test_a_query_goes_on_behind_a_bookmark(server: Server) -> None:
    """A key is a position as well: what a query gives can be appended once, however often the run is restarted."""
    server.run("create table t (id int)")
    bookmark = Bookmark(server.conninfo, "numbers")
    for _ in range(2):
        source = query(server.conninfo, "select n from generate_series(1, 100) n", key="n")
        run(source.map(lambda row: Marked(row[0], row)), copy_into(server.conninfo, "t", bookmark=bookmark))
    assert server.value("select count(*) from t") == 100
