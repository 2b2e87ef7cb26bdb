"""channel_call: the asking side of a channel, which sends elements and receives others.

The protocol of RSocket opens a channel with an element, and ends all of it when the sender's half fails. Another
penstock needs neither: it says in answer to SETUP that it is one. Whether it has said so is known when the first
keep-alive comes back, so that is what the channel waits for before it opens.
"""

from __future__ import annotations

from typing import Any

from penstock.bridges.rsocket.connection import PeerConnection
from penstock.bridges.rsocket.errors import to_bytes, to_text
from penstock.bridges.rsocket.frames import Cancel, Code, ErrorFrame, Kind, Payload, Request, RequestN
from penstock.bridges.rsocket.metadata import FAILURE, PENSTOCK, composite, entries_of
from penstock.bridges.rsocket.outgoing import Outgoing
from penstock.bridges.rsocket.requester import STREAM, RemoteSubscription, Target
from penstock.engine.grounds.outlet import accepts
from penstock.engine.words.demand import refused
from penstock.spec.interfaces import Subscriber, Subscription


class _AsksThere:
    """The worker of the sending half, which is the call's worker; the call closes it."""

    def __init__(self, call: RemoteSubscription) -> None:
        self.submit = call.submit

    def close(self) -> None:
        pass


class ChannelCall(RemoteSubscription):
    """A subscriber of the stream before the channel, and a subscription to the stream behind it."""

    interaction = Kind.REQUEST_CHANNEL

    def __init__(self, target: Target, downstream: Subscriber[Any]) -> None:
        super().__init__(target, downstream)
        self._outgoing = Outgoing(target.settings, _AsksThere(self), self.call, self._send, self._sent_all)
        self._upstream: Subscription | None = None
        self._penstock = False
        self._known = False
        self._ended: list[Exception | None] = []
        """How the stream before the channel has ended, where that was before the channel could be opened."""

    # What the stream before the channel says.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the upstream."""
        if accepts(subscription, self._upstream):
            self._upstream = subscription
            self._outgoing.on_subscribe(subscription)
            self.incoming.outlet.open()

    def on_next(self, element: Any, /) -> None:
        """Send an element."""
        self._outgoing.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        """Send a failure; before anything was asked for, it is told here."""
        if self.started:
            self._outgoing.on_error(error)
        else:
            self.incoming.outlet.complete(error)

    def on_complete(self) -> None:
        """Send the end."""
        self._outgoing.on_complete()

    def cancelled(self) -> None:
        """Cancel both ways."""
        super().cancelled()
        self._outgoing.stop(at_once=True)

    # On the I/O thread.

    def said_of_itself(self) -> list[tuple[str, bytes]]:
        """Say that this is penstock."""
        return [(PENSTOCK, b"")]

    def begin(self, connection: PeerConnection) -> None:
        """Wait until it is known who the other side is."""
        connection.on_metadata = self._told
        connection.on_echo = self._know

    def _told(self, metadata: bytes) -> None:
        self._penstock = self._penstock or PENSTOCK in entries_of(metadata)

    def _know(self) -> None:
        connection = self.connection
        if self._known or connection is None:
            return
        self._known = True
        if self._penstock:
            super().begin(connection)
        else:
            self._outgoing.grant(1)  # the element that opens the channel
        self._outgoing.flush()
        if self._ended:
            self._sent_all(self._ended.pop())

    def open(self, connection: PeerConnection, n: int) -> None:
        """Open the channel, to a penstock without an element, else with the first that was sent."""
        if self._penstock:
            connection.send(Request(STREAM, self.interaction, n, self.routing((PENSTOCK, b""))))
        else:
            connection.send_element(Request(STREAM, self.interaction, n, self.routing(), self._first), self._outgoing)

    def _send(self, data: bytes) -> None:
        connection = self.connection
        assert connection is not None
        if self.opened:
            connection.send_element(Payload(STREAM, data), self._outgoing)
        else:
            self._first = data
            super().begin(connection)

    def _sent_all(self, error: Exception | None) -> None:
        connection = self.connection
        if not self._known or connection is None:
            self._ended.append(error)
        elif not self.opened:
            self.end(error)  # there was no element to open the channel with
        elif error is None:
            connection.send(Payload(STREAM, complete=True, next=False))
        elif self._penstock:
            metadata = composite([(FAILURE, to_bytes(error))])
            connection.send(Payload(STREAM, metadata=metadata, complete=True, next=False))
        else:
            connection.send(ErrorFrame(STREAM, Code.APPLICATION_ERROR, to_text(error)))
            self.end(error)

    def received(self, frame: Payload | RequestN | Cancel | ErrorFrame, /) -> None:
        """Take a frame for either half."""
        if isinstance(frame, RequestN):
            error = refused(frame.n)
            if error is None:
                self._outgoing.grant(frame.n)
            else:
                self.fail(error)
        elif isinstance(frame, Cancel):
            self._outgoing.stop()
        else:
            super().received(frame)

    def end(self, error: Exception | None) -> None:
        """End both ways as the other side has ended."""
        self._outgoing.stop()
        super().end(error)

    def lost(self, error: Exception, /) -> None:
        """End both ways."""
        self._outgoing.stop()
        super().lost(error)
