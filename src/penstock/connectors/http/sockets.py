"""sockets: the messages of a websocket, read when they are asked for, and messages that are sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, InvalidStatus, WebSocketException

from penstock.connectors.http.asking import HttpError, Tries

QUEUE = 16
"""How many messages the websocket reads ahead; then it stops reading, and the server has to wait."""


class _Unmoved(connect):
    """A connection that is made where it was asked for: a redirect would take the headers to another server."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Refuse to follow a redirect."""
        return exc


@dataclass(frozen=True, slots=True)
class Dial:
    """How a websocket is connected; a value, as all that a stream is made of."""

    url: str = field(repr=False)  # which may hold a login
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # which may hold secrets
    largest: int = 1024 * 1024
    timeout: float = 30.0
    connect: Callable[..., Any] | None = None

    async def __call__(self) -> ClientConnection:
        """Connect, or say clearly why that was refused."""
        make = _Unmoved if self.connect is None else self.connect
        try:
            made: ClientConnection = await make(
                self.url,
                additional_headers=[*self.headers],
                max_size=self.largest,
                max_queue=QUEUE,
                open_timeout=self.timeout,
                compression=None,
            )
        except (OSError, WebSocketException, TimeoutError) as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            if isinstance(error, InvalidStatus) and "Location" in error.response.headers:
                reason += f"; it has moved to {error.response.headers['Location']!r}: give that address"
            raise HttpError(f"websocket: {self.url} cannot be connected: {reason}", self.url) from error
        return made


@dataclass(frozen=True, slots=True)
class OpenSocket:
    """What opens the messages of a run."""

    dial: Dial
    greeting: tuple[str | bytes, ...] = field(repr=False)  # which may hold secrets
    retry: Tries | None

    async def __call__(self) -> SocketFeed:
        feed = SocketFeed(self)
        await feed.open()
        return feed


class SocketFeed:
    """The messages of one run.

    A task takes them from the websocket, as many as were asked for: those that are there already are taken at once.
    """

    def __init__(self, options: OpenSocket) -> None:
        self._options = options
        self._socket: ClientConnection | None = None
        self._taken: deque[str | bytes] = deque()
        self._wanted = 0
        self._asked = asyncio.Event()
        self._some = asyncio.Event()
        self._over = False
        self._error: Exception | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect, and begin to take messages."""
        greeted = False
        try:
            socket = await self._connected()
            greeted = True
        finally:
            if not greeted and self._socket is not None:  # a greeting was cut short, by a cancel for one
                await self._socket.close()
        self._task = asyncio.get_running_loop().create_task(self._take_all(socket))

    async def _connected(self) -> ClientConnection:
        socket = self._socket = await self._options.dial()
        try:
            for message in self._options.greeting:
                await socket.send(message)
        except ConnectionClosed as error:
            url = self._options.dial.url
            raise HttpError(f"websocket: {url} was lost before it took the greeting: {error}", url) from error
        return socket

    async def fetch(self, most: int, /) -> Sequence[str | bytes] | None:
        """Give what has come, waiting until there is something."""
        self._wanted = most
        self._asked.set()
        while not self._taken:
            if self._over:
                if self._error is not None:
                    raise self._error
                return None
            self._some.clear()
            await self._some.wait()
        found = [self._taken.popleft() for _ in range(min(most, len(self._taken)))]
        self._wanted -= len(found)
        return found

    async def _take_all(self, socket: ClientConnection) -> None:
        try:
            while True:
                lost = await self._take(socket)
                retry = self._options.retry
                if isinstance(lost, ConnectionClosedOK) or retry is None:
                    break
                socket = await self._reconnected(retry)
            if not isinstance(lost, ConnectionClosedOK):
                url = self._options.dial.url
                raise HttpError(f"websocket: {url} was lost: {lost}; say retry= to connect again", url) from lost
        except Exception as error:  # noqa: BLE001  `fetch` raises it
            self._error = error
        self._over = True
        self._some.set()

    async def _take(self, socket: ClientConnection) -> ConnectionClosed:
        """Take as many messages as are asked for, until the connection ends."""
        while True:
            while len(self._taken) >= self._wanted:
                self._asked.clear()
                await self._asked.wait()
            try:
                self._taken.append(await socket.recv())
            except ConnectionClosed as closed:
                return closed
            self._some.set()

    async def _reconnected(self, retry: Tries) -> ClientConnection:
        tries = 0
        while True:
            tries += 1
            await retry.wait(tries, None)
            try:
                return await self._connected()
            except HttpError:
                if tries >= retry.count:
                    raise

    async def close(self) -> None:
        """End the task, and close the connection."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        if self._socket is not None:
            await self._socket.close()


@dataclass(frozen=True, slots=True)
class OpenSending:
    """What opens the websocket that a run sends to."""

    dial: Dial

    async def __call__(self) -> SocketWriter:
        return SocketWriter(await self.dial(), self.dial.url)


class SocketWriter:
    """The writer of one run; a batch is done when the other side has read up to a ping behind it."""

    def __init__(self, socket: ClientConnection, url: str) -> None:
        self._socket = socket
        self._url = url
        self._reading = asyncio.get_running_loop().create_task(self._leave_out())

    async def _leave_out(self) -> None:
        """Read what comes, which is not asked for here; unread messages would hold back the pongs behind them."""
        async for _ in self._socket:
            pass

    async def write(self, batch: list[str | bytes], /) -> None:
        """Send each message, and wait until the other side has read them."""
        try:
            for message in batch:
                if not isinstance(message, str | bytes | bytearray | memoryview):
                    raise TypeError(f"to_websocket: a message is a text or bytes, got {message!r:.100}")
                await self._socket.send(message)
            await (await self._socket.ping())
        except ConnectionClosed as error:
            raise HttpError(f"to_websocket: {self._url} was lost: {error}", self._url) from error

    async def close(self, error: BaseException | None, /) -> None:
        """Close the connection."""
        try:
            await self._socket.close(1000 if error is None else 1011)
        finally:
            self._reading.cancel()
            await asyncio.wait([self._reading])
            if not self._reading.cancelled():
                self._reading.exception()


__all__ = ["Dial", "OpenSending", "OpenSocket"]
