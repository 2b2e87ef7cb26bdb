"""server: numbers in memory that are read as a connector does, by a server that writes down what it is asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from penstock import Stream
from penstock.connectors import feeding, reading

WAIT = 60


class Server:
    """What all connections share: the elements, what was asked and told, and where it fails."""

    def __init__(self, count: int | None, **fails: Exception) -> None:
        self.count = count
        self.fails = fails
        """What each of `open`, `fetch`, `commit` and `close` fails with."""
        self.asked: list[int] = []
        self.words: list[Any] = []
        """All calls but those of fetch, in their order."""
        self.fetching = 0
        self.gate: threading.Event | None = None
        """What a fetch waits for, on the loop."""
        self.committing: threading.Event | None = None
        """What a commit waits for."""
        self.waits = threading.Event()
        self.closed = threading.Event()
        self.most: Callable[[int], int] = lambda n: n
        """How many elements a fetch gives when it is asked for so many."""

    def failing(self, name: str) -> None:
        if name in self.fails:
            raise self.fails[name]

    async def reader(self, after: int | None) -> Connection:
        self.words.append(f"open {after}")
        self.failing("open")
        return Connection(self, after or 0)

    async def feed(self) -> Feeder:
        self.words.append("open")
        self.failing("open")
        return Feeder(self, 0)

    def stream(self, **options: Any) -> Stream[int]:
        return reading(self.reader, **options)

    def plain(self, **options: Any) -> Stream[int]:
        return feeding(self.feed, **options)

    @property
    def told(self) -> list[int]:
        return [int(word.split()[1]) for word in self.words if word.startswith("commit")]


class Connection:
    """One connection."""

    def __init__(self, server: Server, after: int) -> None:
        self.server = server
        self.last = after
        self.fetching = 0

    async def fetch(self, most: int) -> Any:
        server = self.server
        server.asked.append(most)
        server.fetching += 1
        self.fetching += 1
        assert self.fetching == 1, "two fetches at a time"
        try:
            while server.gate is not None and not server.gate.is_set():
                server.waits.set()
                await asyncio.sleep(0.001)
            await asyncio.sleep(0)
            server.failing("fetch")
            first = self.last + 1
            self.last += server.most(most)
            if server.count is not None:
                if first > server.count:
                    return None
                self.last = min(self.last, server.count)
            return [self.pair(number) for number in range(first, self.last + 1)]
        finally:
            server.fetching -= 1
            self.fetching -= 1

    def pair(self, number: int) -> Any:
        return number, number

    async def commit(self, position: int) -> None:
        server = self.server
        while server.committing is not None and not server.committing.is_set():
            await asyncio.sleep(0.001)
        server.words.append(f"commit {position}")
        server.failing("commit")

    async def close(self) -> None:
        self.server.words.append("close")
        self.server.closed.set()
        self.server.failing("close")


class Feeder(Connection):
    """One connection without positions."""

    def pair(self, number: int) -> Any:
        return number
