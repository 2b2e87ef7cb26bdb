"""killed_consumer: a member of a group that writes what it reads to a file, to be killed at any moment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from penstock import Sink
from penstock.connectors import kafka
from tests.connectors.kafka.server import OPTIONS

WINDOW = 500
"""How many records may be uncommitted, and so may be written again by the next member."""


def main(servers: str, topic: str, group: str, path: str) -> None:
    """Read until killed."""
    file = os.open(Path(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(values: list[bytes]) -> None:
        os.write(file, b"".join(values))  # one call, so that a line is there whole or not at all

    records = kafka.source(topic, servers=servers, group=group, window=WINDOW, options=OPTIONS)
    lines = records.map(lambda record: b"%d %s\n" % (record.partition, record.value or b""))
    (lines | Sink.foreach_batch(write, 50, 0.05)).run().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
