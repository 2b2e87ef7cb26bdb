"""wires: how frames travel: over TCP, each with its length before it, or as the messages of a websocket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from penstock.bridges.rsocket.errors import ConnectionLostError, FrameError
from penstock.bridges.rsocket.frames import HEADER, LARGEST_FRAME

if TYPE_CHECKING:
    from websockets.asyncio.connection import Connection as Websocket

HANDSHAKE_TIME = 10.0
"""Seconds that a stranger has for the handshakes of TLS and of websockets, each."""
LINGER = 1.0
"""Seconds to let the other side read the last frames before the socket is closed."""
_BATCH = 2**16
_UNSEEN = 1
"""How many bytes may wait in a transport without its saying so; with 0 those of asyncio's TLS never resume."""


class Wire(Protocol):
    """A carrier of frames to one other side and back."""

    limit: int
    """The most bytes that one frame may have."""

    @property
    def peer(self) -> str:
        """Return who is at the other end, in words."""
        ...

    def trust(self) -> None:
        """Take large frames from now on: the other side has shown its token."""
        ...

    async def receive(self) -> bytes | None:
        """Wait for a frame; None is the end."""
        ...

    async def send(self, frames: list[bytes], /) -> None:
        """Send frames and return when the system has taken all of them."""
        ...

    async def close(self) -> None:
        """Let the other side read what was sent, then close."""
        ...


class TcpWire:
    """A wire over TCP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int) -> None:
        self.limit = limit
        self._reader = reader
        self._writer = writer
        name = writer.get_extra_info("peername")
        self._peer = f"{name[0]}:{name[1]}" if name else "an unknown address"
        # Nothing waits here unseen: what was sent is with the system, which bounds it, or is still being sent.
        writer.transport.set_write_buffer_limits(high=_UNSEEN, low=0)
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def peer(self) -> str:
        """Return the address of the other end."""
        return self._peer

    def trust(self) -> None:
        """Do nothing: no frame is read before its length is known."""

    async def receive(self) -> bytes | None:
        """Read a length and a frame."""
        try:
            size = int.from_bytes(await self._reader.readexactly(3), "big")
            if size > self.limit:
                raise FrameError(f"a frame of {size} bytes, and {self.limit} are the limit")
            if size < HEADER:
                raise FrameError(f"a frame of {size} bytes, which is too short")
            return await self._reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            if error.partial or error.expected != 3:
                raise ConnectionResetError("it ended in the middle of a frame") from error
            return None

    async def send(self, frames: list[bytes], /) -> None:
        """Write frames, each with its length before it."""
        self._writer.write(b"".join(part for frame in frames for part in (len(frame).to_bytes(3, "big"), frame)))
        await self._writer.drain()

    async def close(self) -> None:
        """Close, after the other side has done so or was given time: else what it has not read yet would be lost."""
        writer = self._writer
        try:
            async with asyncio.timeout(LINGER):
                if writer.can_write_eof():
                    writer.write_eof()
                    while await self._reader.read(_BATCH):
                        pass
                else:  # encrypted: closing says so to the other side
                    writer.close()
                    await writer.wait_closed()
        except (OSError, TimeoutError, RuntimeError):
            pass
        finally:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


class WebsocketWire:
    """A wire that carries frames as the binary messages of a websocket."""

    def __init__(self, websocket: Websocket) -> None:
        self.limit = LARGEST_FRAME
        self._websocket = websocket
        name = websocket.remote_address
        self._peer = f"{name[0]}:{name[1]}" if name else "an unknown address"

    @property
    def peer(self) -> str:
        """Return the address of the other end."""
        return self._peer

    def trust(self) -> None:
        """Read without the bound for strangers from now on."""
        trust = getattr(self._websocket, "trust", None)
        if trust is not None:
            trust()

    async def receive(self) -> bytes | None:
        """Take a message."""
        from websockets.exceptions import ConnectionClosed, ConnectionClosedOK  # noqa: PLC0415

        try:
            message = await self._websocket.recv()
        except ConnectionClosedOK:
            return None
        except ConnectionClosed as error:
            if error.sent is not None and not error.rcvd_then_sent:
                raise FrameError(f"what is no websocket message: {error.sent.reason or error.sent.code}") from error
            return None
        if isinstance(message, str):
            raise FrameError("a text, where frames are bytes")
        if len(message) > self.limit:
            raise FrameError(f"a frame of {len(message)} bytes, and {self.limit} are the limit")
        return message

    async def send(self, frames: list[bytes], /) -> None:
        """Send frames, each as a message."""
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415

        try:
            for frame in frames:
                await self._websocket.send(frame)
        except ConnectionClosed as error:
            raise ConnectionResetError(str(error)) from error

    async def close(self) -> None:
        """Close by the handshake of websockets, or without it where the other side is silent."""
        await self._websocket.close()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens, and how frames travel to it."""

    scheme: str
    host: str
    port: int
    path: str = "/"

    @property
    def websocket(self) -> bool:
        """Tell whether frames travel as messages of a websocket."""
        return self.scheme in {"ws", "wss"}

    @property
    def secure(self) -> bool:
        """Tell whether the way there is encrypted."""
        return self.scheme in {"tls", "wss"}

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path if self.websocket and self.path != '/' else ''}"


def address_of(function: str, text: str) -> Endpoint:
    """Read an address."""
    message = f"{function}: address must be tcp://host:port, tls://, ws:// or wss://, got {text!r}"
    if not isinstance(text, str):
        raise TypeError(message)
    try:
        found = urlsplit(text)
        host, port = found.hostname, found.port
    except ValueError as error:
        raise ValueError(message) from error
    if found.scheme not in {"tcp", "tls", "ws", "wss"} or not host or not port:
        raise ValueError(message)
    return Endpoint(found.scheme, host, port, found.path or "/")


def websockets_given(function: str) -> None:
    """Refuse to go on without the library for websockets."""
    try:
        import websockets  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        message = f"{function}: websockets need the library `websockets`: pip install 'penstock[rsocket]'"
        raise ModuleNotFoundError(message, name="websockets") from error


def _options(limit: int) -> dict[str, Any]:
    # Keep-alives are those of RSocket; nothing is compressed, so that a small message stays small; and nothing waits
    # unseen: what was sent is with the system.
    return {
        "compression": None, "max_size": limit, "max_queue": 1, "write_limit": (_UNSEEN, 0), "ping_interval": None,
        "close_timeout": LINGER,
    }  # fmt: skip


async def dial(address: Endpoint, limit: int, ssl: SSLContext | None, timeout: float) -> Wire:  # noqa: ASYNC109
    """Connect to a server."""
    try:
        async with asyncio.timeout(timeout):
            if not address.websocket:
                reader, writer = await asyncio.open_connection(address.host, address.port, ssl=ssl)
                return TcpWire(reader, writer, limit)
            from websockets.asyncio.client import connect  # noqa: PLC0415

            options = _options(limit)
            return WebsocketWire(await connect(str(address), ssl=ssl, proxy=None, open_timeout=None, **options))
    except TimeoutError as error:
        raise ConnectionLostError(f"remote: {address} did not answer within {timeout} seconds") from error
    except Exception as error:
        raise ConnectionLostError(f"remote: cannot reach {address}: {error}") from error


Handler = Callable[[Wire], Coroutine[Any, Any, None]]


Stop = Callable[[], Coroutine[Any, Any, None]]


async def listen(
    handler: Handler, host: str, port: int, ssl: SSLContext | None, limit: int, *, websocket: bool
) -> tuple[Stop, int]:
    """Listen, and return how to stop it, which leaves connections alone, and its port."""
    handshake: dict[str, Any] = {} if ssl is None else {"ssl_handshake_timeout": HANDSHAKE_TIME}
    if websocket:
        from websockets.asyncio.server import serve  # noqa: PLC0415

        from penstock.bridges.rsocket.strangers import UntrustedPeer  # noqa: PLC0415

        server = await serve(
            lambda each: handler(WebsocketWire(each)), host, port, ssl=ssl, create_connection=UntrustedPeer,
            open_timeout=HANDSHAKE_TIME, **_options(limit), **handshake,
        )  # fmt: skip
        return partial(_stop, server.server, partial(server.close, close_connections=False)), _port(server.sockets)
    listener = await asyncio.start_server(
        lambda reader, writer: handler(TcpWire(reader, writer, limit)), host, port, ssl=ssl, **handshake
    )
    return partial(_stop, listener, listener.close), _port(listener.sockets)


async def _stop(listener: asyncio.Server, close: Callable[[], None]) -> None:
    """Stop listening; a connection that was accepted just now is still made, since asyncio would forget its socket."""
    loop = asyncio.get_running_loop()
    for each in listener.sockets:
        with suppress(NotImplementedError):  # a loop without readers
            loop.remove_reader(each.fileno())
    for _ in range(3):
        await asyncio.sleep(0)
    close()


def _port(sockets: Iterable[socket.socket]) -> int:
    return int(next(iter(sockets)).getsockname()[1])
