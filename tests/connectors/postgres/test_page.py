"""page: what docs/connectors/postgres.md shows runs with a server, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.connectors.postgres.server import Server
from tests.test_docs import blocks

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "postgres.md"


def test_the_examples_of_the_page_do_what_it_says(server: Server) -> None:
    server.run(
        "create table orders (id int primary key, customer text, amount int)",
        "create table orders_copy (like orders including all)",
        "create table numbers (id int, name text)",
        "create table history (kind text, lsn pg_lsn, row jsonb)",
        "create publication orders for table orders",
        "select pg_create_logical_replication_slot('totals', 'pgoutput')",
        "select pg_create_logical_replication_slot('history', 'pgoutput')",
        "insert into orders values (1, 'a', 50), (2, 'b', 150), (3, 'c', 250)",
        "delete from orders where id = 1",
    )
    page: dict[str, Any] = {}
    for _, block in blocks(PAGE.read_text(encoding="utf-8")):
        exec(block.replace('"host=localhost dbname=shop"', repr(server.conninfo)), page)
    assert page["amounts"].get() == 400
    assert [change.row["id"] for change in page["large"].take(2)] == [2, 3]
    assert page["fill"].run().wait() == 100_000
    runs = [page["mirror"].run(), page["history"].run()]
    try:
        server.eventually("select count(*) from history", 4)
        server.eventually("select array_agg(id order by id) from orders_copy", [2, 3])
    finally:
        for run in runs:
            run.cancel()
    assert server.value("select count(*) from history where kind = 'delete'") == 1
    server.run("notify alarms")
    assert page["alarms"] is not None
