"""requester: the side that asks: one connection for each subscription, opened with the first request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from ssl import SSLContext, create_default_context
from threading import Lock
from typing import Any

from penstock.bridges.rsocket.connection import FRAME_ROOM, PeerConnection
from penstock.bridges.rsocket.errors import Known, RejectedError, from_text
from penstock.bridges.rsocket.frames import Cancel, Code, ErrorFrame, Kind, Payload, Request, RequestN, SetupFrame
from penstock.bridges.rsocket.incoming import Incoming
from penstock.bridges.rsocket.io_thread import IoThread, lease
from penstock.bridges.rsocket.metadata import AUTHENTICATION, COMPOSITE, ROUTING, bearer, composite, route
from penstock.bridges.rsocket.settings import Settings
from penstock.bridges.rsocket.wires import Endpoint, dial
from penstock.engine.places.context import worker_of
from penstock.engine.places.event_loops import running
from penstock.engine.places.executors import Executor, Worker, loop, thread
from penstock.spec.interfaces import Subscriber

STREAM = 1
"""The id of the one stream that a connection of ours has."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked for, where, and how."""

    address: Endpoint
    name: str
    token: str = field(repr=False)
    settings: Settings
    ssl: SSLContext | None
    executor: Executor | None

    def worker(self) -> Worker:
        """Return where elements are delivered: on the loop that runs here, else on a thread."""
        return worker_of(self.executor or (loop() if running() else thread("penstock-remote")))

    def context(self) -> SSLContext | None:
        """Return what encrypts the connection."""
        return create_default_context() if self.ssl is None and self.address.secure else self.ssl


def failure(frame: ErrorFrame, known: Known) -> Exception:
    """Return what an ERROR frame says."""
    if frame.code == Code.REJECTED:
        return RejectedError(f"rsocket: the server refused the request: {frame.text}")
    return from_text(frame.text, known)


class RemoteSubscription:
    """A subscription to a stream of a server."""

    interaction = Kind.REQUEST_STREAM

    def __init__(self, target: Target, downstream: Subscriber[Any]) -> None:
        self.target = target
        self.incoming = Incoming(downstream, target.settings, self.submit, self.call)
        self.connection: PeerConnection | None = None
        self._lock = Lock()
        self._io: IoThread | None = None
        self._worker: Worker | None = None
        self._task: asyncio.Task[Any] | None = None
        self._opened = False
        outlet = self.incoming.outlet
        self._requested = outlet.on_request
        outlet.on_request = self._start_and_request
        outlet.on_cancel = self.cancelled
        outlet.on_close = self._closed

    # On any thread.

    def submit(self, task: Callable[[], None]) -> None:
        """Deliver on the worker; before there is one there is nothing to deliver."""
        if self._worker is None:
            task()
        else:
            self._worker.submit(task)

    def call(self, fn: Callable[[], object]) -> None:
        """Call something on the I/O thread."""
        if self._io is not None:
            self._io.call(fn)

    def _start_and_request(self, n: int) -> None:
        with self._lock:
            starts = self._io is None
            if starts:
                self._worker = self.target.worker()
                self._io = lease()
        self._requested(n)
        if starts:
            assert self._io is not None and self._worker is not None
            self._io.start(self._run())
            if self.incoming.outlet.closed:  # cancelled meanwhile on another thread, which saw no worker to close
                self._worker.close()

    @property
    def started(self) -> bool:
        """Tell whether anything was asked for."""
        return self._io is not None

    @property
    def opened(self) -> bool:
        """Tell whether the request was sent."""
        return self._opened

    def cancelled(self) -> None:
        """Take the cancel of the subscriber."""
        self.call(self.give_up)

    def _closed(self) -> None:
        self.call(self.give_up)  # where the end did not come over the connection, that is still there
        if self._worker is not None:
            self._worker.close()

    # On the I/O thread.

    async def _run(self) -> None:
        if self.incoming.outlet.closed:
            return
        self._task = asyncio.current_task()
        try:
            await self._talk()
        except Exception as error:  # noqa: BLE001  whatever it was, it is the end
            self.lost(error)

    async def _talk(self) -> None:
        target, keep_alive = self.target, self.target.settings.keep_alive
        limit = target.settings.largest + FRAME_ROOM
        wire = await dial(target.address, limit, target.context(), keep_alive.lifetime)
        connection = self.connection = PeerConnection(
            wire, target.settings, lifetime=keep_alive.lifetime, interval=keep_alive.interval
        )
        milliseconds = (max(1, round(keep_alive.interval * 1000)), max(1, round(keep_alive.lifetime * 1000)))
        metadata = composite([(AUTHENTICATION, bearer(target.token)), *self.said_of_itself()])
        connection.send(SetupFrame(*milliseconds, COMPOSITE, target.settings.codec.mime, metadata))
        connection.add(STREAM, self)
        self.begin(connection)
        await connection.run()

    def said_of_itself(self) -> list[tuple[str, bytes]]:
        """Return what this side says of itself beside its token."""
        return []

    def begin(self, connection: PeerConnection) -> None:
        """Send the request, as soon as it can be sent."""
        self.incoming.request = self._request
        self.incoming.ask()

    def _request(self, n: int) -> None:
        assert self.connection is not None
        if self._opened:
            self.connection.send(RequestN(STREAM, n))
        else:
            self._opened = True
            self.open(self.connection, n)

    def open(self, connection: PeerConnection, n: int) -> None:
        """Send the request."""
        connection.send(Request(STREAM, self.interaction, n, self.routing()))

    def routing(self, *more: tuple[str, bytes]) -> bytes:
        """Return the metadata of the request."""
        return composite([(ROUTING, route(self.target.name)), *more])

    def received(self, frame: Payload | RequestN | Cancel | ErrorFrame, /) -> None:
        """Take a frame; demand and a cancel mean nothing to one who only receives."""
        if isinstance(frame, ErrorFrame):
            self.end(failure(frame, self.target.settings.errors))
        elif isinstance(frame, Payload):
            breach = self.incoming.element(frame.data) if frame.next else None
            if breach is not None:
                self.fail(breach)
            elif frame.complete:
                self.end(None)

    def fail(self, error: Exception) -> None:
        """End because of what the other side did."""
        assert self.connection is not None
        self.connection.send(Cancel(STREAM))
        self.end(error)

    def end(self, error: Exception | None) -> None:
        """End as the other side has ended."""
        self.incoming.end(error)
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connection: it had one stream."""
        assert self.connection is not None
        self.connection.forget(STREAM)
        self.connection.close()

    def give_up(self) -> None:
        """End because the subscriber has cancelled."""
        if self.connection is not None:
            if STREAM in self.connection.exchanges:
                if self._opened:
                    self.connection.send(Cancel(STREAM))
                self.hang_up()
        elif self._task is not None:
            self._task.cancel()

    def lost(self, error: Exception, /) -> None:
        """End because there is no connection, or not any more."""
        self.incoming.end(error)
