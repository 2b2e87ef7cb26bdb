"""nats: a consumer that is killed in the middle, ten times."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.connectors.nats.consumer import LINE, WINDOW, noted
from tests.connectors.nats.server import NatsServer, until
from tests.connectors.nats.test_source import numbers

COUNT = 20_000
KILLS = 10


def size(file: Path) -> int:
    return file.stat().st_size // LINE if file.exists() else 0


def killed_ten_times(server: NatsServer, stream: str, file: Path, *durable: str) -> list[int]:
    """Have a process note all messages, and kill it ten times on the way."""
    server.fill(stream, numbers(COUNT))
    command = [sys.executable, "-m", "tests.connectors.nats.consumer", server.url, stream, str(file), *durable]
    chance = random.Random(14)
    for life in range(KILLS + 1):
        last = life == KILLS
        process = subprocess.Popen(command)
        try:
            # Somewhere in the next part of the stream, and in the end when every message has been noted.
            enough = size(file) + chance.randint(1, COUNT // (KILLS + 5))
            until(lambda: len(set(noted(file))) == COUNT if last else size(file) >= enough, "progress")  # noqa: B023
        finally:
            process.kill()
            process.wait()
    return noted(file)


@pytest.mark.slow
@pytest.mark.proves(
    "nats.source", "kill -9 of the consumer, ten times", "nothing lost; what was not committed comes again"
)
def test_a_durable_consumer_is_killed_ten_times(nats_server: NatsServer, stream: str, tmp_path: Path) -> None:
    found = killed_ten_times(nats_server, stream, tmp_path / "noted", "d")
    assert set(found) == set(range(1, COUNT + 1))
    assert len(found) - COUNT <= KILLS * WINDOW


@pytest.mark.slow
@pytest.mark.proves(
    "nats.source",
    "kill -9 of the consumer, ten times, the position kept with the results",
    "nothing lost, nothing twice",
)
def test_a_consumer_that_keeps_its_position_is_killed_ten_times(
    nats_server: NatsServer, stream: str, tmp_path: Path
) -> None:
    assert killed_ten_times(nats_server, stream, tmp_path / "noted") == list(range(1, COUNT + 1))
