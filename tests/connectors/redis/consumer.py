"""consumer: a process that notes the entries of a Redis stream in a file, to be killed at any moment.

`python -m tests.connectors.redis.consumer URL KEY FILE` runs a pipeline with the connector of the guide.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from examples.redis_streams import Entry, from_redis
from penstock import Sink


def main(url: str, key: str, file: str) -> None:
    """Note entries until killed."""
    written = os.open(Path(file), os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(entry: Entry) -> None:
        os.write(written, b"%7d\n" % int(entry.fields[b"n"]))

    (from_redis(url, key, "group", "me") | Sink.for_each(note)).run().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
