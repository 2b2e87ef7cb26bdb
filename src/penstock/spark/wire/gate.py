"""gate: the Arrow Flight server in the driver process through which Spark's other processes reach its streams.

A door is one stream's end of the wire: the door decides what it does with actions, reads and writes, and the gate only
finds it by its name. Every call carries the gate's token. Messages are JSON and Arrow, never pickles, so a stranger on
the port can neither read nor run anything. A stranger on the wire could, so beyond loopback the gate is encrypted, or
closed unless the user has said that the network is trusted.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import flight

from penstock.engine.words.dropped import drop
from penstock.errors import PenstockError
from penstock.spark.wire.tls import Tls, is_loopback

Message = dict[str, Any]
LARGEST_MESSAGE = 1 << 20
"""Bytes; beyond this a message is refused unread."""
SHUTDOWN_SECONDS = 5.0


class GateError(PenstockError):
    """The error that the gate could not open, or that a call was refused."""


@dataclass(frozen=True, slots=True)
class DoorCall:
    """One call to a door, as far as a door may look at it."""

    gone: Callable[[], bool]
    """Tell whether the caller has gone away."""


class Door(Protocol):
    """What answers the calls that name it; many threads call it at once."""

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        """Answer a small question."""
        ...

    def get(self, body: Message, /) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the batches that a reader asks for; they are sent once all of them are there."""
        ...

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        """Take batches from a writer."""
        ...

    def close(self) -> None:
        """Wake and refuse the calls that wait at the door; the gate is closing."""
        ...


@dataclass(frozen=True, slots=True)
class DoorAddress:
    """Where a door is; it travels to executors inside their functions."""

    uri: str
    token: str
    door: str
    roots: str | None = None
    """Whose certificates are trusted, where the gate is encrypted."""

    def __repr__(self) -> str:
        return f"Address({self.uri}, door {self.door})"  # the token stays out of logs

    @contextmanager
    def connect(self) -> Iterator[Caller]:
        """Open a connection for the length of a block."""
        client = self._client()
        try:
            yield Caller(client, self)
        finally:
            client.close()

    def _client(self) -> Any:
        return flight.FlightClient(self.uri, **({} if self.roots is None else {"tls_root_certs": self.roots}))

    def call(self) -> Caller:
        """Return a caller whose connection is left open for the next task of this process."""
        client = _kept.get(self.uri)
        if client is None:
            for other in [_kept.pop(uri) for uri in list(_kept)]:
                other.close()
            client = _kept[self.uri] = self._client()
        return Caller(client, self)


_kept: dict[str, Any] = {}
"""The one connection that an executor's process keeps: to open one takes longer than to read a small micro-batch."""


class Caller:
    """A connection through which calls to one door are made."""

    __slots__ = ("_address", "_client", "_options")

    def __init__(self, client: Any, address: DoorAddress) -> None:
        self._client = client
        self._address = address
        self._options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {address.token}".encode())])

    def act(self, verb: str, **body: object) -> Message:
        """Ask a small question and return its answer."""
        action = flight.Action(verb, _bytes_of({"door": self._address.door, **body}))
        for result in self._client.do_action(action, self._options):
            return _message_of(result.body.to_pybytes())
        raise GateError(f"gate: {verb!r} had no answer")

    def get(self, **body: object) -> Iterator[pa.RecordBatch]:
        """Read batches."""
        ticket = flight.Ticket(_bytes_of({"door": self._address.door, **body}))
        for chunk in self._client.do_get(ticket, self._options):
            yield chunk.data

    def put(self, schema: pa.Schema, **body: object) -> tuple[Any, Any]:
        """Begin to write batches; return the writer and the reader of what comes back."""
        descriptor = flight.FlightDescriptor.for_command(_bytes_of({"door": self._address.door, **body}))
        return self._client.do_put(descriptor, schema, self._options)  # type: ignore[no-any-return]


def _bytes_of(message: Message) -> bytes:
    return json.dumps(message).encode()


def _message_of(data: bytes) -> Message:
    if len(data) > LARGEST_MESSAGE:
        raise flight.FlightServerError(f"gate: a message of {len(data)} bytes is larger than {LARGEST_MESSAGE}")
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise flight.FlightServerError("gate: a message must be a JSON object")
    return message


def whole(body: Message, name: str) -> int:
    """Return a whole number of a message, or refuse the message."""
    value = body.get(name)
    if type(value) is not int or value < 0:
        raise flight.FlightServerError(f"gate: {name} must be a whole number >= 0, got {value!r}")
    return value


class _TokenCheck(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """A guard that refuses every call that does not carry the token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._expected = f"Bearer {token}".encode()

    def start_call(self, info: Any, headers: dict[str, list[Any]]) -> None:
        """Compare in constant time."""
        given = [value for name, values in headers.items() if name.lower() == "authorization" for value in values]
        sent = given[0] if len(given) == 1 else b""
        if not hmac.compare_digest(sent.encode() if isinstance(sent, str) else sent, self._expected):
            raise flight.FlightUnauthenticatedError("gate: the call carries no valid token")


class _Server(flight.FlightServerBase):  # type: ignore[misc]
    """The Flight server, which finds the door that a call names and passes the call on."""

    def __init__(self, location: str, token: str, doors: dict[str, Door], tls: Tls | None) -> None:
        self._doors = doors
        proof = {} if tls is None else {"tls_certificates": [(tls.certificate, tls.key)]}
        super().__init__(location, middleware={"token": _TokenCheck(token)}, **proof)

    def _door(self, message: Message) -> Door:
        door = self._doors.get(str(message.get("door")))
        if door is None:
            raise flight.FlightServerError(f"gate: there is no door {message.get('door')!r}")
        return door

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        """Answer a small question."""
        body = _message_of(action.body.to_pybytes())
        return [_bytes_of(self._door(body).act(DoorCall(context.is_cancelled), action.type, body))]

    def do_get(self, context: Any, ticket: Any) -> Any:
        """Send batches."""
        body = _message_of(ticket.ticket)
        schema, batches = self._door(body).get(body)
        # A table is sent without Python; a generator would wait for the interpreter at each batch.
        return flight.RecordBatchStream(pa.Table.from_batches(list(batches), schema))

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Take batches."""
        body = _message_of(descriptor.command or b"")
        self._door(body).put(body, reader, writer)


def _free(host: str, port: int) -> None:
    """Refuse a port that another program listens on; the server itself would share it with that program."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)


_gates: weakref.WeakSet[Gate] = weakref.WeakSet()


def open_gates() -> list[Gate]:
    """Return the gates of this process that are open."""
    return [gate for gate in list(_gates) if not gate.closed]


class Gate:
    """The server and its doors, which come and go."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        *,
        port: int = 0,
        advertise: str | None = None,
        tls: Tls | None = None,
        clear: bool = False,
    ) -> None:
        if tls is None and not clear and not is_loopback(host):
            raise GateError(
                f"gate: rows would leave {host} in clear text; encrypt them with Spark(tls=True) or"
                " Spark(tls=Tls(certificate, key)), or say Spark(tls=False) where the network is trusted"
            )
        self._roots = None if tls is None else tls.trusted
        scheme = "grpc" if tls is None else "grpc+tls"
        self._token = secrets.token_urlsafe(32)
        self._doors: dict[str, Door] = {}
        self._lock = threading.Lock()
        self._leaving: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        self._closed = False
        try:
            _free(host, port)
            self._server = _Server(f"{scheme}://{host}:{port}", self._token, self._doors, tls)
        except (OSError, pa.ArrowException) as error:
            raise GateError(f"gate: cannot listen on {host}:{port}: {error}") from error
        self.uri = f"{scheme}://{advertise or host}:{self._server.port}"
        _gates.add(self)

    @property
    def port(self) -> int:
        """Return the port that the gate listens on."""
        return int(self._server.port)

    @property
    def closed(self) -> bool:
        """Tell whether the gate has been closed."""
        return self._closed

    def admit(self, door: Door, name: str | None = None) -> DoorAddress:
        """Make a door reachable until it is dismissed; return its address."""
        name = secrets.token_hex(8) if name is None else name
        with self._lock:
            if self._closed:
                raise GateError("gate: it is closed, and so is the Spark session that it belonged to")
            self._doors[name] = door
        return DoorAddress(self.uri, self._token, name, self._roots)

    def admitted(self) -> list[tuple[DoorAddress, Door]]:
        """Return the doors that can be reached."""
        with self._lock:
            return [(DoorAddress(self.uri, self._token, name, self._roots), door) for name, door in self._doors.items()]

    def ended(self, names: Collection[str]) -> bool:
        """Return whether the streams behind these doors have ended, all their rows being committed."""
        with self._lock:
            doors = [self._doors.get(name) for name in names]
        return all(door is None or getattr(door, "ended", False) for door in doors)

    def dismiss(self, address: DoorAddress) -> None:
        """Forget a door; calls that name it are refused from now on."""
        with self._lock:
            self._doors.pop(address.door, None)

    def leave_when(self, unwanted: Callable[[], bool], leave: Callable[[], None]) -> None:
        """Call `leave` once something is `unwanted`; that is found out whenever `look` is called."""
        with self._lock:
            self._leaving.append((unwanted, leave))

    def look(self) -> None:
        """Let go of what is no longer wanted."""
        with self._lock:
            looked, self._leaving = self._leaving, []
        over = [unwanted() for unwanted, _ in looked]
        with self._lock:
            self._leaving.extend(each for each, done in zip(looked, over, strict=True) if not done)
        for (_, leave), done in zip(looked, over, strict=True):
            if done:
                leave()

    def close(self) -> None:
        """Close the doors, then the port; closing twice does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            doors = list(self._doors.values())
            self._doors.clear()
            self._leaving.clear()
        for door in reversed(doors):  # a query's end came later than the streams it reads, and is to end first
            try:
                door.close()
            except Exception as error:  # noqa: BLE001  the others must be closed as well
                drop("a door of the gate failed to close", error)
        # A caller that never closes its connection would keep `shutdown` waiting, so it is waited for only so long.
        closing = threading.Thread(target=self._server.shutdown, name="penstock-gate-close", daemon=True)
        closing.start()
        closing.join(SHUTDOWN_SECONDS)
        if closing.is_alive():
            drop(f"the gate waits for {self.uri} to be hung up", None, self.uri)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
