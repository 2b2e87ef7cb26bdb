"""pouring_server: the server in memory, read by connections that have a thread of their own and pour."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context

from penstock.connectors.kafka.client_thread import ClientThread
from penstock.connectors.reading_run import Pouring, PouringReader
from tests.connectors.server import WAIT, Connection, Server

NAME = "penstock-pouring"


class PouringServer(Server):
    """A server whose connections pour."""

    def __init__(self, count: int | None, **fails: Exception) -> None:
        super().__init__(count, **fails)
        self.late = 0
        """How many fetches later a commit that was sent is answered."""
        self.before_fetch: Callable[[PouringConnection, Pouring], None] | None = None
        """What is called on the connection's thread before each fetch."""
        self.poured = 0
        """How many elements were given on the connections' threads."""

    async def reader(self, after: int | None) -> PouringConnection:
        self.words.append(f"open {after}")
        self.failing("open")
        return PouringConnection(self, after or 0)


class PouringConnection(Connection, PouringReader):
    """A connection that hands on elements on its thread, and answers commits in later fetches."""

    server: PouringServer

    def __init__(self, server: PouringServer, after: int) -> None:
        super().__init__(server, after)
        self._thread = ClientThread(NAME)
        self._sent: list[tuple[int, int, Future[None]]] = []
        self._fetches = 0

    async def pour(self, pouring: Pouring) -> bool:
        cut = True
        try:
            more = await self._thread.do(copy_context().run, self._pour, pouring)
            cut = False
            return more
        finally:
            if cut or self._sent:
                self._thread.soon(self.answer)

    def _pour(self, pouring: Pouring) -> bool:
        server = self.server
        while True:
            most = pouring.wanted()
            if most is None and self._sent:
                self.answer()
                continue
            if not most:
                return True
            server.asked.append(most)
            self._fetches += 1
            self.answer(self._fetches)
            if server.before_fetch is not None:
                server.before_fetch(self, pouring)
            server.failing("fetch")
            first, last = self.last + 1, self.last + most
            if server.count is not None:
                last = min(last, server.count)
            if first > last:
                return False
            self.last = last
            server.poured += last - first + 1
            pouring.give([self.pair(number) for number in range(first, last + 1)])

    def send(self, position: int) -> Future[None]:
        assert threading.current_thread().name == NAME
        assert not self._sent, "two commits at a time"
        answer: Future[None] = Future()
        self._sent.append((self._fetches + self.server.late, position, answer))
        return answer

    def answer(self, fetches: int | None = None) -> None:
        """Answer what was sent, or what was sent so many fetches ago."""
        while self._sent and (fetches is None or self._sent[0][0] < fetches):
            if self.server.committing is not None:
                assert self.server.committing.wait(WAIT)
            _, position, answer = self._sent.pop()
            self.server.words.append(f"commit {position}")
            if "commit" in self.server.fails:
                answer.set_exception(self.server.fails["commit"])
            else:
                answer.set_result(None)

    async def close(self) -> None:
        self._thread.end()
        await super().close()
