"""responder: the side that answers: what becomes of one request, on the I/O thread of its server.

The stream that was asked for runs on its own worker, so that a slow one holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from penstock.bridges.rsocket.connection import PeerConnection
from penstock.bridges.rsocket.errors import ConnectionLostError, from_text, to_text
from penstock.bridges.rsocket.frames import Cancel, Code, ErrorFrame, Payload, Request, RequestN
from penstock.bridges.rsocket.incoming import Incoming
from penstock.bridges.rsocket.io_thread import IoThread
from penstock.bridges.rsocket.metadata import FAILURE, PENSTOCK, entries_of
from penstock.bridges.rsocket.outgoing import Outgoing
from penstock.bridges.rsocket.settings import Settings
from penstock.engine.places.executors import Task, Worker
from penstock.engine.words.demand import refused
from penstock.engine.words.dropped import drop
from penstock.flow import Flow, processor
from penstock.stream import Stream


def invalid(stream: int, error: Exception) -> ErrorFrame:
    """Return the frame for a request that breaks a rule."""
    return ErrorFrame(stream, Code.INVALID, to_text(error))


def refuse_request(connection: PeerConnection, stream: int, error: Exception) -> None:
    """Tell the consumer of a stream that its request breaks a rule, and report it: no stream here is told."""
    connection.report(f"a request that breaks a rule: {error}")
    connection.send(invalid(stream, error))


class StreamAnswer:
    """The answer that sends one stream to one consumer."""

    def __init__(
        self, name: str, request: Request, connection: PeerConnection, io: IoThread, settings: Settings, worker: Worker
    ) -> None:
        self._name = name
        self._stream = request.stream
        self._connection = connection
        self._worker = worker
        self._outgoing = Outgoing(settings, worker, io.call, self._send, self._sent_all)
        connection.add(request.stream, self)

    def begin(self, n: int, make: Callable[[], Stream[Any]]) -> None:
        """Subscribe on the worker."""
        self._outgoing.grant(n)
        self._worker.submit(lambda: self._subscribe(make))

    def _subscribe(self, make: Callable[[], Stream[Any]]) -> None:
        try:
            stream = make()
            if not isinstance(stream, Stream):
                raise TypeError(f"serve: the function for {self._name!r} must return a Stream, got {stream!r}")
            stream.subscribe(self._outgoing)
        except Exception as error:  # noqa: BLE001  the function is the user's
            self._outgoing.on_error(error)

    def _send(self, data: bytes) -> None:
        self._connection.send_element(Payload(self._stream, data), self._outgoing)

    def _sent_all(self, error: Exception | None) -> None:
        self._connection.send(last_frame(self._stream, error))
        self._finish()

    def received(self, frame: Payload | RequestN | Cancel | ErrorFrame, /) -> None:
        """Take demand or a cancel; there is nothing else to say to one who only sends."""
        if isinstance(frame, RequestN):
            error = refused(frame.n)
            if error is None:
                self._outgoing.grant(frame.n)
                return
            refuse_request(self._connection, self._stream, error)
        elif not isinstance(frame, Cancel):
            return
        self._outgoing.stop()
        self._finish()

    def _finish(self) -> None:
        self._connection.forget(self._stream)
        self._worker.close()

    def lost(self, error: Exception, /) -> None:
        """Cancel the stream, and report that its consumer is gone."""
        report_lost(self._name, error, self._connection)
        self._outgoing.stop()
        self._worker.close()


class ChannelAnswer:
    """The answer that runs one consumer's elements through a flow and sends it what comes out."""

    def __init__(
        self,
        name: str,
        flow: Flow[Any, Any],
        request: Request,
        connection: PeerConnection,
        io: IoThread,
        settings: Settings,
        worker: Worker,
    ) -> None:
        self._name = name
        self._stream = request.stream
        self._connection = connection
        self._io = io
        self._errors = settings.errors
        self._worker = worker
        self._lock = Lock()
        self._over = False
        self._input_over = False
        self._processor = processor(flow)
        self._outgoing = Outgoing(settings, worker, io.call, self._send, self._sent_all)
        self._incoming = Incoming(self._processor, settings, worker.submit, io.call)
        self._incoming.request = self._ask
        self._incoming.outlet.on_cancel = lambda: io.call(self._enough)
        self._incoming.outlet.on_close = self._let_go
        connection.add(request.stream, self)

    def begin(self, request: Request) -> None:
        """Take the element that opens the channel, unless a penstock sent none, and start on the worker."""
        self._outgoing.grant(request.n)
        if PENSTOCK not in entries_of(request.metadata):
            self._incoming.first(request.data)
        if request.complete:
            self._incoming.end()
        self._worker.submit(self._start)

    def _start(self) -> None:
        try:
            self._processor.subscribe(self._outgoing)
        except Exception as error:  # noqa: BLE001  the flow is the user's
            self._outgoing.on_error(error)
        if self._outgoing.came_late:  # the consumer was lost before the flow began, and that was reported
            self._incoming.hears = False
        self._incoming.outlet.open()

    def _send(self, data: bytes) -> None:
        if not self._over:
            self._connection.send_element(Payload(self._stream, data), self._outgoing)

    def _sent_all(self, error: Exception | None) -> None:
        if not self._over:
            self._connection.send(last_frame(self._stream, error))
        self._incoming.outlet.cancel()
        self._finish()

    def _ask(self, n: int) -> None:
        if not self._over:
            self._connection.send(RequestN(self._stream, n))

    def _enough(self) -> None:
        """Tell the consumer that the flow takes no more of its elements."""
        if not self._over and not self._incoming.ended:
            self._connection.send(Cancel(self._stream))

    def _let_go(self) -> None:
        """Close the worker when the flow's input is released, on whatever thread, and nothing more is submitted."""
        with self._lock:
            self._input_over = True
            over = self._over
        if over:
            self._worker.close()

    def _finish(self) -> None:
        """End the stream; called last, after all that the worker still has to do was submitted."""
        with self._lock:
            again, self._over = self._over, True
            input_over = self._input_over
        if not again:
            self._connection.forget(self._stream)
        if input_over:
            self._worker.close()

    def received(self, frame: Payload | RequestN | Cancel | ErrorFrame, /) -> None:
        """Take a frame for either half."""
        match frame:
            case RequestN(_, n):
                error = refused(n)
                if error is None:
                    self._outgoing.grant(n)
                else:
                    self._connection.send(invalid(self._stream, error))
                    self._break_off(error)
            case Cancel():
                self._outgoing.stop()
                self._incoming.outlet.cancel()
                self._finish()
            case ErrorFrame(_, _, text):
                self._break_off(from_text(text, self._errors))
            case Payload():
                self._received(frame)

    def _received(self, frame: Payload) -> None:
        breach = self._incoming.element(frame.data) if frame.next else None
        if breach is not None:
            self._connection.send(invalid(self._stream, breach))
            self._break_off(breach)
        elif frame.complete:
            text = entries_of(frame.metadata).get(FAILURE) if frame.metadata else None
            error = None if text is None else from_text(text.decode("utf-8", "replace"), self._errors)
            self._incoming.end(error)

    def _break_off(self, error: Exception) -> None:
        """Fail the flow's input, then cancel what is left of the flow; the consumer hears no more of it."""
        self._incoming.outlet.fail_now(error)
        self._outgoing.stop(behind=self._behind_input)
        self._finish()

    def _behind_input(self, task: Task) -> None:
        """Run a task on the worker when the flow has heard of the failure, which may have come while it was started."""
        self._worker.submit(lambda: task() if self._input_over else self._worker.submit(task))

    def lost(self, error: Exception, /) -> None:
        """Fail the flow, and report that its consumer is gone."""
        report_lost(self._name, error, self._connection)
        self._break_off(error)


def last_frame(stream: int, error: Exception | None) -> Payload | ErrorFrame:
    """Return the frame that ends a stream."""
    if error is None:
        return Payload(stream, complete=True, next=False)
    return ErrorFrame(stream, Code.APPLICATION_ERROR, to_text(error))


def report_lost(name: str, error: Exception, connection: PeerConnection) -> None:
    """Report a consumer that is gone without a word, unless this side has closed the connection."""
    if isinstance(error, ConnectionLostError) and not connection.closing:
        drop(f"rsocket: the consumer of {name!r} was lost", error)
