"""crashes: consumers and a server that are killed, and a million elements with a consumer that stops."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from penstock import Stream
from penstock.connectors.postgres import copy_into
from tests.connectors.postgres.consumer import once, same
from tests.connectors.postgres.server import PATIENCE, Server

ROOT = Path(__file__).parents[3]
MILLION = 1_000_000
EACH = 50  # rows of a transaction
LAG = "select pg_current_wal_lsn() - confirmed_flush_lsn from pg_replication_slots where slot_name = 'slot'"
INSERTED = "select count(*), count(distinct id), sum(id) from history where kind = 'insert'"
LOGGED = "select count(*) from history"
DIFFERENT = "select count(*) from source full join mirror using (id) where source.n is distinct from mirror.n"


@contextmanager
def consumer(server: Server, what: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run pipelines in a process that is killed in the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.connectors.postgres.consumer", what, server.conninfo, *arguments],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    until = time.monotonic() + 2 * PATIENCE
    while not condition():
        assert process is None or process.poll() is None, "the consumer has ended"
        assert time.monotonic() < until
        time.sleep(0.01)


def prepare(server: Server) -> None:
    server.run(
        "create table source (id int primary key, n int)",
        "create table mirror (like source including all)",
        "create table history (kind text, id int, n int)",
        "create publication publication for table source",
        "select pg_create_logical_replication_slot('once', 'pgoutput')",
        "select pg_create_logical_replication_slot('same', 'pgoutput')",
    )


def work(server: Server, first: int, count: int) -> None:
    """Insert rows, 50 in a transaction, which also updates one of them twice, gives one another key and deletes one."""
    with psycopg.connect(server.conninfo) as connection:
        for begin in range(first, first + count, EACH):
            connection.execute(
                "insert into source select n, 0 from generate_series(%s::int, %s) n", [begin, begin + 49]
            )
            connection.execute("update source set n = n + 1 where id = %s", (begin,))
            connection.execute("update source set n = n + 1 where id = %s", (begin,))
            connection.execute("update source set id = - id where id = %s", (begin + 1,))
            connection.execute("delete from source where id = %s", (begin + 2,))
            connection.commit()


def changes_of(count: int) -> int:
    """Return how many changes that makes of so many rows."""
    return count + 4 * count // EACH


def checked(server: Server, count: int) -> None:
    assert server.value(LOGGED) == changes_of(count)
    assert server.rows(INSERTED) == [(count, count, sum(range(count)))]  # no gaps, no doubles
    assert server.value("select count(*) from mirror") == count - count // EACH
    assert server.value(DIFFERENT) == 0


@pytest.mark.proves("postgres.changes", "kill -9 of the consumer, ten times", "nothing lost, nor doubled by bookmark")
@pytest.mark.proves("postgres.upsert", "kill -9 of the consumer, ten times", "both tables are equal")
@pytest.mark.proves("postgres.copy_into", "kill -9 of the consumer, ten times", "nothing lost, nor doubled by bookmark")
def test_a_consumer_that_is_killed_ten_times_loses_and_doubles_nothing(server: Server) -> None:
    prepare(server)
    dice, done, count = random.Random(14), 0, 0
    for _ in range(10):
        work(server, count, 1000)
        count += 1000
        enough = dice.randrange(done + 1, changes_of(count))
        with consumer(server, "mirror") as process:
            wait_for(lambda: server.value(LOGGED) >= enough, process)  # noqa: B023  it is called at once
            process.send_signal(signal.SIGKILL)
        server.eventually("select count(*) from pg_replication_slots where active", 0)
        done = min(server.value(LOGGED), changes_of(count) - 1)
    work(server, count, 1000)
    count += 1000
    with consumer(server, "mirror") as process:
        wait_for(lambda: server.value(LOGGED) >= changes_of(count) and server.value(DIFFERENT) == 0, process)
    checked(server, count)


@pytest.mark.proves("postgres.changes", "kill -9 of the server, once", "a clear error; nothing lost")
@pytest.mark.proves("postgres.upsert", "kill -9 of the server, once", "a clear error; both tables are equal in the end")
@pytest.mark.proves("postgres.copy_into", "kill -9 of the server, once", "a clear error; nothing doubled by bookmark")
def test_a_server_that_is_killed_loses_and_doubles_nothing(server: Server) -> None:
    count = 20_000
    prepare(server)
    work(server, 0, count)
    runs = [once(server.conninfo), same(server.conninfo)]
    wait_for(lambda: server.value(LOGGED) > 500)
    server.kill()
    for run in runs:
        with pytest.raises(psycopg.OperationalError):
            run.wait()
    server.start()
    assert 500 < server.value(LOGGED) < changes_of(count)
    runs = [once(server.conninfo), same(server.conninfo)]
    try:
        wait_for(lambda: server.value(LOGGED) >= changes_of(count) and server.value(DIFFERENT) == 0)
    finally:
        for run in runs:
            run.cancel()
    checked(server, count)


def go(process: subprocess.Popen[str]) -> tuple[int, int, int]:
    """Let a consumer go on; return what it has seen, and by how many KiB its memory grew."""
    assert process.stdin
    assert process.stdout
    process.stdin.write("go\n")
    process.stdin.flush()
    seen, total, grown = map(int, process.stdout.readline().split())
    return seen, total, grown


@pytest.mark.proves("postgres.copy_into", "a million rows", "all of them, in batches")
@pytest.mark.proves("postgres.query", "a million rows, a slow consumer", "flat memory, the server has the rest")
def test_a_million_rows_go_in_and_come_out_in_flat_memory(server: Server) -> None:
    server.run("create table big (id int, name text)")
    rows = Stream.range(MILLION).map(lambda n: (n, "some name"))
    assert (rows | copy_into(server.conninfo, "big", size=10_000)).run().wait() == MILLION
    server.run("create unique index on big (id)", "analyze big")
    with consumer(server, "query", str(MILLION)) as process:
        assert process.stdout
        assert process.stdout.readline() == "waiting\n"
        idle = "select state from pg_stat_activity where application_name = 'penstock'"
        server.eventually(idle, "idle in transaction")  # the cursor stands still
        seen, total, grown = go(process)
    assert (seen, total) == (MILLION, sum(range(MILLION)))
    assert grown < 20_000, f"memory grew by {grown} KiB"


@pytest.mark.proves("postgres.changes", "a million changes, a slow consumer", "flat memory, the server has the rest")
def test_a_million_changes_come_in_flat_memory_although_the_consumer_stops(server: Server) -> None:
    server.run(
        "create table big (id int)", "create publication publication for table big",
        "select pg_create_logical_replication_slot('slot', 'pgoutput')",
        *(f"insert into big select generate_series({n}, {n + 49_999})" for n in range(0, MILLION, 50_000)),
    )  # fmt: skip
    with consumer(server, "changes", str(MILLION)) as process:
        assert process.stdout
        assert process.stdout.readline() == "waiting\n"
        patience = server.value("select setting::float / 1000 from pg_settings where name = 'wal_sender_timeout'")
        begun = server.value("select now()")
        server.eventually(f"select now() > '{begun}'::timestamptz + interval '{2 * patience} s'", True)
        assert server.value("select active from pg_replication_slots")  # the server was told that it lives
        assert server.value(LAG) > 50 * MILLION
        seen, total, grown = go(process)
    assert (seen, total) == (MILLION, sum(range(MILLION)))
    assert grown < 20_000, f"memory grew by {grown} KiB"
