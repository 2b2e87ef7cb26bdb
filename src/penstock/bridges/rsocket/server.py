"""server: listen, let in who has the token, and answer their requests."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from ssl import SSLContext
from typing import Any

from penstock.bridges.rsocket.connection import FRAME_ROOM, PeerConnection
from penstock.bridges.rsocket.errors import FrameError, RejectedError
from penstock.bridges.rsocket.frames import (
    Code,
    ErrorFrame,
    Kind,
    MetadataPush,
    Request,
    SetupFrame,
    Uncarried,
    decode,
    encode,
)
from penstock.bridges.rsocket.io_thread import IoThread, lease
from penstock.bridges.rsocket.metadata import (
    AUTHENTICATION,
    COMPOSITE,
    PENSTOCK,
    ROUTING,
    composite,
    entries_of,
    name_of,
    token_of,
)
from penstock.bridges.rsocket.responder import ChannelAnswer, StreamAnswer, refuse_request
from penstock.bridges.rsocket.settings import Settings
from penstock.bridges.rsocket.wires import Endpoint, Stop, Wire, listen
from penstock.engine.places.context import worker_of
from penstock.engine.places.executors import Executor
from penstock.engine.words.demand import refused
from penstock.engine.words.dropped import drop
from penstock.flow import Flow
from penstock.stream import Stream

MOST_CONNECTIONS = 1024
SETUP_TIME = 10.0
"""Seconds that a new connection has to say who it is."""
_SETUP_LIMIT = 2**16
_CLOSING_TIME = 3.0


@dataclass(frozen=True, slots=True)
class Offer:
    """What is served, and how."""

    streams: Mapping[str, Callable[[], Stream[Any]]]
    channels: Mapping[str, Flow[Any, Any]]
    token: str = field(repr=False)
    settings: Settings
    executor: Executor


class _Refusal(Exception):
    """The reason why a connection is not taken."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code


class Server:
    """A server of streams until it is closed; `address` and `token` are what a consumer needs."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._io: IoThread | None = lease()
        self._context = copy_context()  # served streams run in the context of who serves them
        self._tasks: set[asyncio.Task[Any]] = set()
        self._arriving: set[asyncio.Task[Any]] = set()
        """Those of the tasks whose other side has not shown its token yet."""
        self._connections: set[PeerConnection] = set()
        self._stop: Stop | None = None
        self._address: Endpoint | None = None

    @property
    def address(self) -> str:
        """Return where it listens, as `remote` takes it."""
        return str(self._address)

    @property
    def token(self) -> str:
        """Return what a consumer must show."""
        return self._offer.token

    @property
    def connections(self) -> int:
        """Return how many consumers are connected."""
        return len(self._connections)

    def __repr__(self) -> str:
        return f"Server({self.address})"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self, scheme: str, host: str, port: int, ssl: SSLContext | None) -> None:
        """Listen."""
        io = self._io
        assert io is not None
        listening = False
        try:
            io.wait_for(self._listen(scheme, host, port, ssl))
            listening = True
        finally:
            if not listening:
                self._io = None
                io.release()

    def close(self) -> None:
        """Stop listening, tell every consumer, cancel every stream; harmless when repeated."""
        io, self._io = self._io, None
        if io is not None:
            io.wait_for(self._close(io))

    async def _listen(self, scheme: str, host: str, port: int, ssl: SSLContext | None) -> None:
        websocket = scheme in {"ws", "wss"}
        limit = self._offer.settings.largest + FRAME_ROOM
        self._stop, port = await listen(self._accept, host, port, ssl, limit, websocket=websocket)
        self._address = Endpoint(scheme, host, port)

    async def _close(self, io: IoThread) -> None:
        if self._stop is not None:
            await self._stop()
        for task in self._arriving:
            task.cancel()
        for connection in self._connections:
            connection.close(ErrorFrame(0, Code.CONNECTION_CLOSE, "the server was closed"))
        waiting = set(self._tasks)
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=_CLOSING_TIME)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        io.release()

    # One connection.

    async def _accept(self, wire: Wire) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self._io is not None and len(self._tasks) <= MOST_CONNECTIONS:
                await self._serve(wire, self._io, task)
            else:
                await wire.close()
        except asyncio.CancelledError:
            await wire.close()  # the server is closing; asyncio's streams would report a task that was cancelled
        except Exception as error:  # noqa: BLE001  one connection must not harm the others
            drop(f"rsocket: the connection of {wire.peer} failed", error)
        finally:
            self._tasks.discard(task)

    async def _serve(self, wire: Wire, io: IoThread, task: asyncio.Task[Any]) -> None:
        self._arriving.add(task)
        try:
            setup = await self._admitted(wire)
        finally:
            self._arriving.discard(task)
        if setup is None:
            return
        keep_alive = self._offer.settings.keep_alive
        lifetime = min(setup.lifetime / 1000, keep_alive.lifetime)
        connection = PeerConnection(wire, self._offer.settings, lifetime=lifetime, interval=None)
        connection.on_request = partial(self._requested, connection, io)
        if PENSTOCK in _entries(setup):
            connection.send(MetadataPush(composite([(PENSTOCK, b"")])))
        connection.on_breach = partial(drop, f"rsocket: the connection of {wire.peer} was closed")
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)

    async def _admitted(self, wire: Wire) -> SetupFrame | None:
        """Return the SETUP of one who may come in, or None."""
        limit, wire.limit = wire.limit, _SETUP_LIMIT
        try:
            setup = await self._setup(wire)
        except _Refusal as refusal:
            drop(f"rsocket: refused {wire.peer}", RejectedError(f"rsocket: refused {wire.peer}: {refusal}"))
            try:
                async with asyncio.timeout(SETUP_TIME):
                    await wire.send([encode(ErrorFrame(0, refusal.code, str(refusal)))])
            except (OSError, TimeoutError):
                pass
            await wire.close()
            return None
        except OSError:
            setup = None
        if setup is None:
            await wire.close()
        wire.limit = limit
        wire.trust()
        return setup

    async def _setup(self, wire: Wire) -> SetupFrame | None:
        keep_alive = self._offer.settings.keep_alive
        try:
            async with asyncio.timeout(min(SETUP_TIME, keep_alive.lifetime)):
                received = await wire.receive()
            if received is None:
                return None
            frame = decode(received)
        except TimeoutError:
            raise _Refusal(Code.INVALID_SETUP, "no SETUP frame came in time") from None
        except FrameError as error:
            raise _Refusal(Code.INVALID_SETUP, f"this side was sent {error}") from error
        if isinstance(frame, Uncarried) and frame.kind is Kind.RESUME:
            raise _Refusal(Code.REJECTED_RESUME, "connections are not resumed")
        if not isinstance(frame, SetupFrame):
            raise _Refusal(Code.INVALID_SETUP, "the first frame must be SETUP")
        self._check(frame)
        return frame

    def _check(self, setup: SetupFrame) -> None:
        offer, keep_alive = self._offer, self._offer.settings.keep_alive
        if setup.major != 1:
            raise _Refusal(Code.UNSUPPORTED_SETUP, f"version {setup.major}.{setup.minor} is not spoken here, 1.0 is")
        try:
            shown = token_of(_entries(setup).get(AUTHENTICATION))
        except FrameError as error:
            raise _Refusal(Code.INVALID_SETUP, f"this side was sent {error}") from error
        if shown is None:
            raise _Refusal(Code.REJECTED_SETUP, "no token was shown; pass token= with the token of the server")
        if not hmac.compare_digest(shown, offer.token.encode()):
            raise _Refusal(Code.REJECTED_SETUP, "the token is wrong; pass token= with the token of the server")
        if setup.resume or setup.lease:
            raise _Refusal(Code.UNSUPPORTED_SETUP, "connections are not resumed and requests are not leased here")
        if setup.data_mime != offer.settings.codec.mime:
            text = f"{setup.data_mime} is not spoken here, {offer.settings.codec.mime} is; use the same codec"
            raise _Refusal(Code.UNSUPPORTED_SETUP, text)
        if not 0 < setup.interval < min(setup.lifetime, keep_alive.lifetime * 1000):
            lifetimes = f"{setup.lifetime} ms there and {round(keep_alive.lifetime * 1000)} ms here"
            text = f"a keep-alive every {setup.interval} ms is too rare for lifetimes of {lifetimes}"
            raise _Refusal(Code.UNSUPPORTED_SETUP, text)

    def _requested(self, connection: PeerConnection, io: IoThread, request: Request) -> None:
        name = name_of(entries_of(request.metadata).get(ROUTING))
        channel = request.kind is Kind.REQUEST_CHANNEL
        served = self._offer.channels if channel else self._offer.streams
        error = refused(request.n)
        if name is None or name not in served:
            what = "channel" if channel else "stream"
            names = ", ".join(repr(each) for each in sorted(served)) or "none"
            asked = "no name was given" if name is None else f"no {what} {name!r} is served"
            connection.send(ErrorFrame(request.stream, Code.REJECTED, f"{asked}; these are: {names}"))
            return
        if error is not None:
            refuse_request(connection, request.stream, error)
            return
        offer = self._offer
        worker = self._context.copy().run(worker_of, offer.executor)
        if channel:
            flow = offer.channels[name]
            ChannelAnswer(name, flow, request, connection, io, offer.settings, worker).begin(request)
        else:
            answer = StreamAnswer(name, request, connection, io, offer.settings, worker)
            answer.begin(request.n, offer.streams[name])


def _entries(setup: SetupFrame) -> dict[str, bytes]:
    """Return the metadata of a SETUP, which may be an authentication alone."""
    if setup.metadata_mime == AUTHENTICATION:
        return {AUTHENTICATION: setup.metadata or b""}
    return entries_of(setup.metadata) if setup.metadata_mime == COMPOSITE else {}
