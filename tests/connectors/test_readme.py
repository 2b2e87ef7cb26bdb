"""The pipeline of the README from NATS into PostgreSQL runs as it is shown."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Run
from penstock.connectors.nats import Message
from tests.connectors.nats.server import NatsServer, until
from tests.connectors.postgres.server import Server
from tests.test_docs import ROOT, shown_blocks


@pytest.fixture
def database() -> Iterator[Server]:
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.stop()


def parsed(message: Message) -> dict[str, Any]:
    return dict(json.loads(message.data))


async def enriched(order: dict[str, Any]) -> dict[str, Any]:
    return {**order, "total": 2 * order["total"]}


def test_messages_are_acknowledged_when_they_are_in_the_table(database: Server, tmp_path: Path) -> None:
    database.run("create table orders (id int primary key, total int)")
    (block,) = shown_blocks(ROOT / "README.md")
    *statements, last = ast.parse(block).body
    assert isinstance(last, ast.Expr)
    with NatsServer(tmp_path / "nats") as broker:
        broker.make("orders")
        broker.fill("orders", (json.dumps({"id": n, "total": n}).encode() for n in range(1000)))
        names = {"NATS": broker.url, "CONNINFO": database.conninfo, "parsed": parsed, "enriched": enriched}
        exec(compile(ast.Module(statements, []), "README.md", "exec"), names)
        run: Run[int] = eval(compile(ast.Expression(last.value), "README.md", "eval"), names)
        database.eventually("select count(*) from orders where total = 2 * id", 1000)
        until(lambda: broker.consumer("orders", "billing").ack_floor.stream_seq == 1000, "all acknowledged")
        run.stop()
        assert run.wait() == 1000
