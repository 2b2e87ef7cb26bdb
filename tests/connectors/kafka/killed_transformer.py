"""killed_transformer: a member of a group that writes what it makes of records, in transactions, until it is killed."""

from __future__ import annotations

import asyncio
import sys

from penstock.connectors import kafka
from tests.connectors.kafka.server import SOON

WIDTH = 3
"""How many records are written for each one that is read, unless its number is one of those that are left out."""
LEFT_OUT = 7


async def looked_up(record: kafka.Record) -> int:
    """Return the number of a record; some take longer, so that others overtake them."""
    number = int(record.value or b"")
    await asyncio.sleep(0.002 if number % 10 == 0 else 0)
    return number


def made_of(number: int) -> list[bytes]:
    """Return what is written for a number."""
    return [] if number % LEFT_OUT == 0 else [b"%d.%d" % (number, n) for n in range(WIDTH)]


def main(servers: str, read: str, written: str, group: str) -> None:
    """Read, and write in transactions, until killed."""
    source = kafka.source(read, servers=servers, group=group, window=400, options=SOON)
    numbers = source.map_async(looked_up, concurrency=20, ordered=False)
    sink = kafka.sink(
        written, servers=servers, transactional_id=group, with_offsets=True, size=100, seconds=0.2, timeout=10
    )
    (numbers.flat_map(made_of) | sink).run().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
