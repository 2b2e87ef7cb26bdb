"""nats_to_parquet: readings of sensors, each joined with what a slow web service knows, in Parquet files, once each.

    python examples/nats_to_parquet.py SERVER STREAM SERVICE FOLDER

Messages come from a stream of NATS JetStream as they are asked for. A web service is asked about each, 50 at a time,
and again where it fails. Results go into Parquet files, and a file says in its name which messages it has: it appears
whole or not at all, so the names of the files are the position of the program. Killed at any moment and started again,
it reads on behind the last file. No message is missing, and none is there twice.

The stream is read without a durable consumer. A durable one sends a message again, out of order, if it was not
acknowledged in time, and then a file with later messages would stand for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import Pipeline
from penstock.connectors import writing
from penstock.connectors.nats import Message, from_jetstream

AT_ONCE = 50
"""Questions that the service is asked at a time."""
ROWS = 100
"""Rows of a file at most."""
ATTEMPTS = 8
"""How often the service is asked about one reading before the program gives up."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading with the place of its sensor."""

    sequence: int
    sensor: str
    celsius: float
    place: str


@dataclass(frozen=True, slots=True)
class Enriching:
    """Questions to the service about the sensors of messages."""

    client: httpx.AsyncClient
    service: str

    async def __call__(self, message: Message) -> Reading:
        """Ask about one message, and again after a failure, each time after a longer pause."""
        found = json.loads(message.data)
        for attempt in range(ATTEMPTS):
            try:
                answer = await self.client.get(f"{self.service}/{found['sensor']}")
                answer.raise_for_status()
            except httpx.HTTPError:
                if attempt == ATTEMPTS - 1:
                    raise
                await asyncio.sleep(0.01 * 2**attempt)
            else:
                break
        return Reading(message.sequence, found["sensor"], found["celsius"], answer.text)


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """A folder of files whose names say which messages they have."""

    path: Path

    async def __call__(self) -> ParquetFolder:
        """Remove what a killed run has not finished."""
        for part in self.path.glob("*.part"):
            part.unlink()
        return self

    @property
    def last(self) -> int:
        """Return the sequence of the last message that is in a file, 0 if there is none."""
        return max((int(file.stem.partition("-")[2]) for file in self.path.glob("*.parquet")), default=0)

    async def write(self, batch: list[Reading], /) -> None:
        """Write a file, which is there when this returns and was not before."""
        await asyncio.to_thread(self._write, batch)

    def _write(self, batch: list[Reading]) -> None:
        file = self.path / f"{batch[0].sequence:012}-{batch[-1].sequence:012}.parquet"
        part = file.with_suffix(".part")
        with part.open("wb") as opened:
            names = list(Reading.__slots__)
            table = pa.table({name: [getattr(reading, name) for reading in batch] for name in names})
            pq.write_table(table, opened)
            opened.flush()
            os.fsync(opened.fileno())
        part.replace(file)
        folder = os.open(self.path, os.O_RDONLY)
        os.fsync(folder)  # the name is on the disk as well
        os.close(folder)

    async def close(self, error: BaseException | None, /) -> None:
        """Do nothing: each file is closed."""


def pipeline(server: str, stream: str, enriching: Enriching, folder: ParquetFolder) -> Pipeline[int]:
    """Return the whole: messages behind the last file, questions, files."""
    messages = from_jetstream(stream, after=folder.last, servers=server)
    return messages.map_async(enriching, concurrency=AT_ONCE) | writing(folder, size=ROWS)


async def main(server: str, stream: str, service: str, path: str) -> None:
    """Run until killed, or cancelled."""
    folder = ParquetFolder(Path(path))
    folder.path.mkdir(parents=True, exist_ok=True)
    limits = httpx.Limits(max_connections=AT_ONCE)
    async with httpx.AsyncClient(limits=limits, timeout=30, trust_env=False) as client:
        await pipeline(server, stream, Enriching(client, service), folder).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
