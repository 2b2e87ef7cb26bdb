"""killed_writer: a sink in the middle of a transaction, to be killed there."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from typing import Any

from penstock.connectors.kafka.delivery import OpenTopic
from penstock.connectors.kafka.link import BrokerLink

COUNT = 50
NAME = "killed"


class Unending(list[Any]):
    """A batch that does not come to its end."""

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        threading.Event().wait()


def main(servers: str, topic: str, timeout: str) -> None:
    """Write a batch whole, and begin another one."""

    async def written() -> None:
        opens = OpenTopic(BrokerLink(servers), topic, NAME, idempotent=True, timeout=float(timeout), size=COUNT)
        writer = await opens()
        await writer.write([b"whole %d" % n for n in range(COUNT)])
        await writer.write(Unending([b"half %d" % n for n in range(COUNT)]))

    asyncio.run(written())


if __name__ == "__main__":
    main(*sys.argv[1:])
