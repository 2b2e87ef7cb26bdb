"""postgres_hourly: changes of PostgreSQL go through Spark into PostgreSQL, and both tables agree after random kills."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.connectors.postgres.server import Server

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    started.start()
    yield started
    started.stop()


@pytest.mark.slow
@pytest.mark.proves("postgres.changes", "kill -9 of a Spark driver, five times", "joined and windowed sums are exact")
@pytest.mark.proves("postgres.upsert", "kill -9 of a Spark driver, five times", "both tables are equal")
def test_both_tables_are_equal_after_five_random_kills(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = import_module("postgres_hourly")
    assert example.main(server.conninfo, kills=5, folder=tmp_path)
    assert capsys.readouterr().out.splitlines()[-1] == "the table of hours is equal to a query over all orders"
    assert server.value("select count(*) from pg_replication_slots") == 0
