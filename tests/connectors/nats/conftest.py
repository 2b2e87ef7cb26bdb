"""conftest: one nats-server for all tests of this folder, and a stream for each."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.connectors.nats.server import NatsServer


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture
def stream(nats_server: NatsServer) -> Iterator[str]:
    """Return the name of a stream that is removed after the test."""
    name = f"T{uuid4().hex[:12]}"
    nats_server.make(name)
    yield name
    if name in nats_server.ask(lambda js: _names(js)):
        nats_server.ask(lambda js: js.delete_stream(name))


async def _names(js: object) -> set[str]:
    return {each.config.name for each in await js.streams_info()}  # type: ignore[attr-defined]
