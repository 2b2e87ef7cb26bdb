"""consumer: a process that notes the messages of a stream in a file, to be killed at any moment.

`python -m tests.connectors.nats.consumer URL STREAM FILE [DURABLE]` runs a pipeline that appends the sequence of each
message as a line. With a durable consumer the server is told what has been noted; without one the last line of the file
says where to go on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from penstock import Sink
from penstock.connectors.nats import Message, from_jetstream

LINE = 8
"""Bytes of a line."""
WINDOW = 500
"""Messages that are not acknowledged at most."""


def noted(file: Path) -> list[int]:
    """Return what was noted so far."""
    return [int(line) for line in file.read_bytes().split()] if file.exists() else []


def main(url: str, stream: str, file: Path, durable: str | None = None) -> None:
    """Note messages until killed."""
    after = None if durable else [0, *noted(file)][-1]
    written = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(message: Message) -> None:
        os.write(written, b"%7d\n" % message.sequence)

    messages = from_jetstream(stream, durable=durable, after=after, servers=url, ack_wait=1.0, window=WINDOW)
    (messages | Sink.for_each(note)).run().wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
