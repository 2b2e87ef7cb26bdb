"""connection: many streams over one wire, all of it on the I/O thread.

Three tasks: one reads frames and hands each to its stream, one writes what waits, one listens for silence. The first of
them that ends ends the connection, and every stream on it is told why. What waits to be written is bounded: elements by
the window of their stream, and while many other frames wait, nothing more is read.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

from penstock.bridges.rsocket.errors import ConnectionLostError, FrameError, RejectedError
from penstock.bridges.rsocket.fragments import Joiner, split
from penstock.bridges.rsocket.frames import (
    Cancel,
    Code,
    ErrorFrame,
    Frame,
    KeepAliveFrame,
    Kind,
    MetadataPush,
    Payload,
    Request,
    RequestN,
    SetupFrame,
    Uncarried,
    decode,
    encode,
)
from penstock.bridges.rsocket.settings import Settings
from penstock.bridges.rsocket.wires import Wire
from penstock.engine.words.dropped import drop
from penstock.errors import PenstockError

MOST_STREAMS = 1024
"""How many streams one connection may have open at once."""
MOST_WAITING = 1024
"""How many frames that are no elements may wait to be written before nothing more is read."""
MOST_KEPT_ALIVE = 2**12
"""How many bytes a keep-alive may bring along, which are sent back."""
FRAME_ROOM = 2**16
"""How many bytes a frame may have beyond the largest element, for its header and its metadata."""
_SENT_AT_ONCE = 64
_FAREWELL = 1.0


class FrameSender(Protocol):
    """A sender that is told when its frames are written."""

    def written(self, count: int, /) -> None:
        """Count them as gone."""
        ...


class _Piece:
    """The sender of a piece that is not the last one of its element; the sender of the element is told of the last."""

    def written(self, count: int, /) -> None:
        """Do nothing."""


_PIECE = _Piece()


class Exchange(Protocol):
    """A stream on a connection; all of it on the I/O thread."""

    def received(self, frame: Payload | RequestN | Cancel | ErrorFrame, /) -> None:
        """Take a frame."""
        ...

    def lost(self, error: Exception, /) -> None:
        """End, since the connection has."""
        ...


class PeerConnection:
    """One end of a connection."""

    def __init__(self, wire: Wire, settings: Settings, *, lifetime: float, interval: float | None) -> None:
        self.exchanges: dict[int, Exchange] = {}
        self.on_request: Callable[[Request], None] | None = None
        self.on_metadata: Callable[[bytes], None] = lambda _: None
        self.on_echo: Callable[[], None] = lambda: None
        """Called when a keep-alive of ours was answered."""
        self.on_breach: Callable[[FrameError], None] = lambda _: None
        """Called before the other side is told of what it did wrong."""
        self._wire = wire
        self._settings = settings
        self._lifetime = lifetime
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._joiner = Joiner(settings.largest, MOST_STREAMS)
        self._waiting: deque[tuple[bytes, FrameSender | None]] = deque()
        self._answers = 0
        """How many of those that wait are no elements."""
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._heard = self._loop.time()
        self._closing = False
        self._latest = 0
        self._reported = False

    @property
    def peer(self) -> str:
        """Return who is at the other end."""
        return self._wire.peer

    @property
    def closing(self) -> bool:
        """Tell whether this side has closed it."""
        return self._closing

    # What is sent.

    def send(self, frame: Frame) -> None:
        """Send a frame after those that wait."""
        self._waiting.append((encode(frame), None))
        self._answers += 1
        self._more.set()

    def send_element(self, frame: Payload | Request, sender: FrameSender) -> None:
        """Send a frame with an element, in pieces if it is large, and tell `sender` when it is written."""
        *pieces, last = split(frame)
        self._waiting.extend((encode(piece), _PIECE) for piece in pieces)
        self._waiting.append((encode(last), sender))
        self._more.set()

    def add(self, stream: int, exchange: Exchange) -> None:
        """Begin a stream."""
        self.exchanges[stream] = exchange
        self._latest = max(self._latest, stream)

    def forget(self, stream: int) -> None:
        """End a stream."""
        self.exchanges.pop(stream, None)
        self._joiner.forget(stream)

    def close(self, farewell: ErrorFrame | None = None) -> None:
        """End the connection when what waits is written, or soon if the other side does not read it."""
        if self._closing:
            return
        if farewell is not None:
            self.send(farewell)
        self._closing = True
        self._more.set()

    # The three tasks.

    async def run(self) -> None:
        """Serve the connection until it ends."""
        tasks = [self._loop.create_task(each()) for each in (self._receive, self._write, self._watch)]
        cause: Exception | None = ConnectionLostError(f"rsocket: the connection to {self.peer} was given up")
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            cause = await self._end(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._tell(cause or ConnectionLostError("rsocket: the connection was closed on this side"))
            await self._wire.close()

    async def _end(self, tasks: list[asyncio.Task[None]]) -> Exception | None:
        """Return why the first task has ended; the other side is told what it did wrong."""
        failed = next((error for task in tasks if task.done() and (error := task.exception()) is not None), None)
        if failed is None:
            if self._closing:
                return None
            return ConnectionLostError(f"rsocket: {self.peer} closed the connection")
        if isinstance(failed, FrameError):
            breach = FrameError(f"rsocket: {self.peer} sent {failed}")
            self.on_breach(breach)
            self.close(ErrorFrame(0, Code.CONNECTION_ERROR, f"this side was sent {failed}"))
            await asyncio.wait(tasks[1:2], timeout=_FAREWELL)
            return breach
        if isinstance(failed, OSError) and not isinstance(failed, ConnectionLostError):
            lost = ConnectionLostError(f"rsocket: the connection to {self.peer} broke: {failed}")
            lost.__cause__ = failed
            return lost
        if isinstance(failed, Exception):
            if not isinstance(failed, PenstockError):
                drop(f"rsocket: the connection to {self.peer} failed", failed)
            return failed
        raise failed

    def _tell(self, cause: Exception) -> None:
        for stream, exchange in list(self.exchanges.items()):
            self.forget(stream)
            exchange.lost(cause)

    async def _write(self) -> None:
        while True:
            while not self._waiting:
                if self._closing:
                    return
                self._more.clear()
                await self._more.wait()
            count = min(len(self._waiting), _SENT_AT_ONCE)
            batch = [self._waiting.popleft() for _ in range(count)]
            await self._wire.send([frame for frame, _ in batch])
            self._answers -= sum(sender is None for _, sender in batch)
            if self._answers <= MOST_WAITING:
                self._room.set()
            for sender, written in Counter(sender for _, sender in batch if sender is not None).items():
                sender.written(written)

    async def _watch(self) -> None:
        now = self._loop.time()
        next_sign = now if self._interval is not None else float("inf")
        while True:
            if now - self._heard >= self._lifetime:
                raise ConnectionLostError(
                    f"rsocket: {self.peer} has been silent for {self._lifetime} seconds, the lifetime of its keep-alive"
                )
            if self._interval is not None and now >= next_sign:
                self.send(KeepAliveFrame(respond=True))
                next_sign = now + self._interval
            await asyncio.sleep(min(next_sign, self._heard + self._lifetime) - now)
            now = self._loop.time()

    async def _receive(self) -> None:
        while not self._closing and (received := await self._wire.receive()) is not None:
            self._heard = self._loop.time()
            frame = decode(received)
            if frame is not None:
                self._dispatch(frame)
            while self._answers > MOST_WAITING:
                self._room.clear()
                await self._room.wait()

    # What is received.

    def _dispatch(self, frame: Frame) -> None:
        match frame:
            case Payload(stream) if stream not in self.exchanges and not self._joiner.holds(stream):
                self._pass_on(frame)  # pieces of a stream that is not open are not kept
            case Request() if self.on_request is None:
                self._requested(frame)
            case Payload() | Request():
                whole = self._joiner.join(frame)
                if isinstance(whole, Request):
                    self._requested(whole)
                elif whole is not None:
                    self._pass_on(whole)
            case ErrorFrame(0, code, text):
                raise _said_by_peer(self.peer, code, text)
            case RequestN() | Cancel() | ErrorFrame():
                self._pass_on(frame)
            case KeepAliveFrame(True, data):
                if len(data) > MOST_KEPT_ALIVE:
                    raise FrameError(f"a KEEPALIVE frame with {len(data)} bytes, and {MOST_KEPT_ALIVE} are the limit")
                self.send(KeepAliveFrame(respond=False, data=data))
            case KeepAliveFrame():
                self.on_echo()
            case MetadataPush(metadata):
                self.on_metadata(metadata)
            case Uncarried(_, Kind.RESUME | Kind.RESUME_OK):
                raise FrameError("a frame to resume a connection, which was not agreed on")
            case Uncarried(stream, Kind.REQUEST_RESPONSE):
                self.send(ErrorFrame(stream, Code.REJECTED, "only request-stream and request-channel are served"))
            case Uncarried() | SetupFrame():
                pass  # a lease is no duty; a request that expects no answer gets none; a second SETUP is ignored

    def _requested(self, request: Request) -> None:
        stream = request.stream
        if self.on_request is None:
            self.send(ErrorFrame(stream, Code.REJECTED, "this side serves nothing"))
        elif stream % 2 == 0:
            raise FrameError(f"a request with the stream id {stream}: a client's are odd")
        elif stream in self.exchanges:
            self.report(f"a request with the stream id {stream}, which is in use")
        elif len(self.exchanges) >= MOST_STREAMS:
            self.send(ErrorFrame(stream, Code.REJECTED, f"{MOST_STREAMS} streams are open on this connection already"))
        else:
            self._latest = max(self._latest, stream)
            self.on_request(request)

    def _pass_on(self, frame: Payload | RequestN | Cancel | ErrorFrame) -> None:
        exchange = self.exchanges.get(frame.stream)
        if exchange is not None:
            exchange.received(frame)
        elif isinstance(frame, Cancel | ErrorFrame) and self._joiner.holds(frame.stream):
            self._joiner.forget(frame.stream)  # a request that was taken back before its last piece
        elif frame.stream > self._latest or frame.stream % 2 == 0:
            self.report(f"a {type(frame).__name__} frame for stream {frame.stream}, which was not opened")
        # else it was on its way when the stream ended

    def report(self, what: str) -> None:
        """Report once what is ignored or refused, so that a stranger cannot fill a log."""
        if not self._reported:
            self._reported = True
            drop("rsocket: ignored what the other side sent", FrameError(f"rsocket: {self.peer} sent {what}"))


def _said_by_peer(peer: str, code: int, text: str) -> Exception:
    if code in {Code.INVALID_SETUP, Code.UNSUPPORTED_SETUP, Code.REJECTED_SETUP, Code.REJECTED_RESUME}:
        return RejectedError(f"rsocket: {peer} refused the connection: {text}")
    if code == Code.CONNECTION_CLOSE:
        return ConnectionLostError(f"rsocket: {peer} closed the connection: {text}")
    return ConnectionLostError(f"rsocket: {peer} ended the connection: {text}")
