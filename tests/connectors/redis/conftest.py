"""conftest: one redis-server for all tests of this folder, and a stream for each."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.connectors.redis.server import RedisServer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def key() -> str:
    """Return the name of a stream."""
    return f"stream-{uuid4().hex[:12]}"
