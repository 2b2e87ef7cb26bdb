"""end to end: NATS, a slow web service with retries, Parquet; the consumer is killed, each message is there once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from examples.nats_to_parquet import AT_ONCE, ParquetFolder
from tests.connectors.nats.server import NatsServer, until
from tests.connectors.nats.service import Places

COUNT = 1200
KILLS = 5


@pytest.mark.slow
@pytest.mark.proves(
    "nats.source", "into Parquet through a slow service, the consumer killed", "nothing lost, nothing twice"
)
def test_each_message_is_in_the_files_once(nats_server: NatsServer, stream: str, tmp_path: Path) -> None:
    readings = [{"sensor": f"s{number % 97}", "celsius": number / 10} for number in range(COUNT)]
    nats_server.fill(stream, (json.dumps(reading).encode() for reading in readings))
    folder = ParquetFolder(tmp_path / "files")
    chance = random.Random(14)
    with Places() as service:
        command = [
            sys.executable,
            "-m",
            "examples.nats_to_parquet",
            nats_server.url,
            stream,
            service.url,
            str(folder.path),
        ]
        for life in range(KILLS + 1):
            process = subprocess.Popen(command)
            try:
                # Somewhere behind the next file: the service is asked about messages that are in none yet.
                asked = service.questions
                enough = COUNT if life == KILLS else folder.last + 1
                until(lambda: folder.last >= enough, "files")  # noqa: B023  called here
                more = service.questions + chance.randint(1, 100)
                until(lambda: life == KILLS or service.questions >= min(more, asked + COUNT), "questions")  # noqa: B023
            finally:
                process.kill()
                process.wait()
    files = sorted(folder.path.glob("*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert rows == [
        {"sequence": number, **reading, "place": Places.of(str(reading["sensor"]))}
        for number, reading in enumerate(readings, 1)
    ]
    assert len(files) > KILLS
    assert service.failures > 0
    assert 1 < service.most_at_once <= 2 * AT_ONCE  # those of a killed process may still be worked on
