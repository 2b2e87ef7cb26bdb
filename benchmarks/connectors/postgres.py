"""postgres: what penstock adds to the loops over psycopg that do the same with the same batch size.

`python -m benchmarks.connectors.postgres` prints ratios of times, paired in one run, against a real server on loopback.
For changes there is no loop over the client to compare with, since psycopg has none: the loop by hand reads the same
socket with the same decoder, without a stream around it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from aiostream import pipe, stream
from psycopg import AsyncConnection

from benchmarks.connectors import pairs
from penstock import Sink, Stream
from penstock.connectors.postgres import changes, copy_into, query, upsert
from penstock.connectors.postgres.slots import OpenChanges
from tests.connectors.postgres.server import Server

SIZE = 1000
SELECT = "select id, name, amount from filled"
COPY = "copy written (id, name, amount) from stdin"
UPSERT = (
    "insert into upserted (id, name, amount) select id, name, amount from stage"
    " on conflict (id) do update set name = excluded.name, amount = excluded.amount"
)


def rows(count: int) -> list[tuple[int, str, float]]:
    return [(n, f"row {n}", n * 1.5) for n in range(count)]


def mappings(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"row {n}", "amount": n * 1.5} for n in range(count)]


async def _connected(server: Server) -> AsyncConnection[tuple[Any, ...]]:
    return await AsyncConnection.connect(server.conninfo, autocommit=True)


def query_by_hand(server: Server, count: int) -> int:
    """Fetch from the server's cursor in a loop."""

    async def read() -> int:
        total = 0
        async with (
            await _connected(server) as connection,
            connection.transaction(),
            connection.cursor("by_hand") as cursor,
        ):
            await cursor.execute(SELECT)
            while found := await cursor.fetchmany(SIZE):
                for _row in found:
                    total += 1
        return total

    return asyncio.run(read())


def query_by_aiostream(server: Server, count: int) -> int:
    """Count what an asynchronous generator over the same cursor gives, with the peer's own operators."""

    async def fetched() -> AsyncIterator[tuple[Any, ...]]:
        async with (
            await _connected(server) as connection,
            connection.transaction(),
            connection.cursor("by_aiostream") as cursor,
        ):
            await cursor.execute(SELECT)
            while found := await cursor.fetchmany(SIZE):
                for row in found:
                    yield row

    async def counted() -> int:
        return await (stream.iterate(fetched()) | pipe.reduce(lambda total, _: total + 1, initializer=0))

    return asyncio.run(counted())


def query_by_penstock(server: Server, count: int) -> int:
    return query(server.conninfo, SELECT, most=SIZE).count().get()


def copy_by_hand(server: Server, count: int) -> int:
    """Write batches by COPY in a loop."""

    async def write() -> int:
        given = rows(count)
        async with await _connected(server) as connection:
            for begin in range(0, count, SIZE):
                async with connection.transaction(), connection.cursor().copy(COPY) as copy:
                    for row in given[begin : begin + SIZE]:
                        await copy.write_row(row)
        return count

    return asyncio.run(write())


def copy_by_penstock(server: Server, count: int) -> int:
    sink = copy_into(server.conninfo, "written", size=SIZE, seconds=None)
    return (Stream.from_iterable(rows(count)) | sink).run().wait()


def upsert_by_hand(server: Server, count: int) -> int:
    """Write batches by COPY into a temporary table and from there, in a loop."""

    async def write() -> int:
        given = mappings(count)
        async with await _connected(server) as connection:
            await connection.execute(
                "create temporary table stage on commit delete rows as select * from upserted with no data"
            )
            for begin in range(0, count, SIZE):
                async with connection.transaction():
                    async with connection.cursor().copy("copy stage from stdin") as copy:
                        for row in given[begin : begin + SIZE]:
                            await copy.write_row((row["id"], row["name"], row["amount"]))
                    await connection.execute(UPSERT)
        return count

    return asyncio.run(write())


def upsert_by_penstock(server: Server, count: int) -> int:
    given = mappings(count)
    sink = upsert(server.conninfo, "upserted", key="id", size=SIZE, seconds=None)
    return (Stream.from_iterable(given) | sink).run().wait()


def changes_by_hand(server: Server, count: int) -> int:
    """Read the slot in a loop, acknowledging each batch."""

    async def read() -> int:
        reader = await OpenChanges(server.conninfo, "by_hand", ("publication",), None, True, 10.0)(None)
        total = 0
        while total < count:
            found = await reader.fetch(SIZE)
            for _position, _change in found:
                total += 1
            await reader.commit(found[-1][0])
        await reader.close()
        return total

    return asyncio.run(read())


def changes_by_penstock(server: Server, count: int) -> int:
    found = changes(server.conninfo, slot="by_penstock", publication="publication", most=SIZE)
    return (found.take(count) | Sink.count()).run().wait()


PAIRS: dict[str, tuple[Callable[[Server, int], int], Callable[[Server, int], int]]] = {
    "query": (query_by_hand, query_by_penstock),
    "query, of aiostream": (query_by_aiostream, query_by_penstock),
    "copy_into": (copy_by_hand, copy_by_penstock),
    "upsert": (upsert_by_hand, upsert_by_penstock),
    "changes": (changes_by_hand, changes_by_penstock),
}


def prepare(server: Server, count: int) -> None:
    """Make the tables, and fill the one that is read."""
    columns = "(id int primary key, name text, amount float8)"
    server.run(
        f"create table filled {columns}", f"create table upserted {columns}", f"create table changed {columns}",
        "create table written (id int, name text, amount float8)",
        "create publication publication for table changed with (publish = 'insert')",
        "select pg_create_logical_replication_slot('by_hand', 'pgoutput')",
        "select pg_create_logical_replication_slot('by_penstock', 'pgoutput')",
        f"insert into filled select n, 'row ' || n, n * 1.5 from generate_series(1, {count}) n",
    )  # fmt: skip


def main(count: int = 100_000, rounds: int = 5) -> None:
    server = Server()
    try:
        server.start()
        prepare(server, count)
        for name, (by_hand, by_penstock) in PAIRS.items():
            if name == "changes":  # what was acknowledged does not come again
                many = count * rounds
                server.run(f"insert into changed select n, 'row ' || n, n * 1.5 from generate_series(1, {many}) n")
            both = (partial(_whole, fn, server, count) for fn in (by_hand, by_penstock))
            print(f"{name}:", pairs(*both, rounds), flush=True)
    finally:
        server.stop()


def _whole(fn: Callable[[Server, int], int], server: Server, count: int) -> None:
    found = fn(server, count)
    assert found >= count, f"{fn.__name__} gave {found} of {count}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
