"""websocket_feed: a live feed from a websocket through Spark; a subscriber that takes its time slows the server down.

A server on loopback sends departures as fast as its socket takes them. They enter Spark through a pipeline that may be
CAPACITY rows ahead. While nobody asks for rows the pipeline reads no messages, the buffers of the two sockets fill, and
the server has to wait: demand reaches across the network, without a broker between. Run it with
`python examples/websocket_feed.py`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from flights import departures, rows
from websockets.asyncio.client import connect
from websockets.asyncio.server import Server, ServerConnection, serve

from penstock import Sink, Stream, flow
from penstock.run.display import display
from penstock.spark import Spark, entry

CAPACITY = 500
"""Rows that the feed may be ahead of Spark."""
BUFFER = 16_384
"""Bytes of each buffer of a socket; the usual megabytes would hide what is to be seen here."""
PLAIN: dict[str, Any] = {"compression": None, "ping_timeout": None}
"""How both ends talk: a reader that takes its time does not answer pings, and is not dead for that."""


@dataclass(frozen=True)
class Delay:
    """Be a departure that was late."""

    origin: str
    minutes: int


def read(message: str) -> Delay:
    """Read a message."""
    found = json.loads(message)
    return Delay(found["origin"], found["delay"] or 0)


@flow
def late(messages: Stream[str]) -> Stream[Delay]:
    """Read messages and keep those of flights that left late; runs on the executors."""
    return messages.map(read).filter(lambda delay: delay.minutes > 0)


class Departures:
    """Serve departures to whoever connects, as fast as they are taken; to be used in a `with`."""

    def __init__(self, days: int) -> None:
        self.messages = [
            json.dumps({"origin": row.origin, "hour": row.hour.isoformat(), "delay": row.delay, "tail": row.tail})
            for row in rows(departures(days))
        ]
        self.sent = 0
        self.url = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="websocket-server")

    def __enter__(self) -> Departures:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server: Server
        async with serve(self._send, "127.0.0.1", 0, write_limit=BUFFER, **PLAIN) as server:
            self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._over.wait()

    async def _send(self, connection: ServerConnection) -> None:
        connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        for message in self.messages:
            await connection.send(message)  # waits while the buffers are full
            self.sent += 1


async def messages(url: str) -> AsyncIterator[str]:
    """Read messages, one whenever one is asked for."""
    host, _, port = url.removeprefix("ws://").partition(":")
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    narrow.connect((host, int(port)))
    async with connect(url, sock=narrow, proxy=None, **PLAIN) as connection:
        async for message in connection:
            yield str(message)


@dataclass
class Board:
    """Take delays one at a time, and not in a hurry; watch how far the server is ahead."""

    server: Departures
    pause: float
    taken: int = 0
    minutes: int = 0
    sent_before_the_first: int = 0

    def show(self, delay: Delay) -> None:
        if not self.taken:
            self.sent_before_the_first = self.server.sent
        time.sleep(self.pause)
        self.taken += 1
        self.minutes += delay.minutes


def main(days: int = 7, pause: float = 0.001, spark: Spark | None = None) -> Board:
    """Run it and say what was seen."""
    with Departures(days) as server:
        board = Board(server, pause)
        pipeline = (
            Stream.from_async_iterable(messages(server.url))
            | entry(capacity=CAPACITY)
            | late
            | Sink.for_each(board.show)
        )
        with Spark() if spark is None else nullcontext(spark) as running:
            run = pipeline.run(running)
            display(run)
            run.wait()
    total = len(server.messages)
    expected = [delay for delay in map(read, server.messages) if delay.minutes > 0]
    right = (board.taken, board.minutes) == (len(expected), sum(delay.minutes for delay in expected))
    print(
        f"{total:,} messages were sent; when the first row was shown it had been {board.sent_before_the_first:,},"
        f" since nobody asked for more.\n{board.taken:,} flights were late, by {board.minutes:,} minutes in all;"
        f" a plain loop over the messages {'says the same' if right else 'says otherwise'}."
    )
    assert right
    return board


if __name__ == "__main__":
    main()
