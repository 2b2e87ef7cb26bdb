"""consumer: a process that notes the messages of a stream in a file, to be killed at any moment.

`python -m tests.connectors.nats.consumer URL STREAM FILE [DURABLE]` appends the sequence of each message as a line, one
write for each batch. With a durable consumer the server is told what has been written; without one the last line of the
file says where to go on.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from penstock.connectors.nats.link import Address
from penstock.connectors.nats.source import OpenJetStream

LINE = 8
"""Bytes of a line, so that a file has only whole ones if it has a multiple of them."""
BATCH = 100
"""Messages that are fetched, written and committed at a time at most."""


def noted(file: Path) -> list[int]:
    """Return what was noted so far."""
    return [int(line) for line in file.read_bytes().split()] if file.exists() else []


async def work(url: str, stream: str, file: Path, durable: str | None) -> None:
    """Note messages until killed."""
    after = noted(file)[-1:] if durable is None else []
    opened = OpenJetStream(Address((url,)), stream, durable=durable, ack_wait=1.0)
    reader = await opened(after[0] if after else None)
    written = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    while True:
        pairs = await reader.fetch(BATCH)
        os.write(written, b"".join(b"%7d\n" % position for position, _ in pairs))
        await reader.commit(pairs[-1][0])


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None))
