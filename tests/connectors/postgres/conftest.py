"""conftest: one server for all tests of this folder, empty for each of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.postgres.server import Server


@pytest.fixture(scope="session")
def running() -> Iterator[Server]:
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.clean()
