"""api: what users call: serve, remote, channel."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, Literal

from penstock.bridges.rsocket.channel_call import ChannelCall
from penstock.bridges.rsocket.codecs import JSON, Codec
from penstock.bridges.rsocket.requester import RemoteSubscription, Target
from penstock.bridges.rsocket.server import Offer, Server
from penstock.bridges.rsocket.settings import Liveness, Settings
from penstock.bridges.rsocket.wires import address_of, websockets_given
from penstock.engine.places.executors import thread
from penstock.engine.places.lent_executors import AnyExecutor, executor_given
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.flow import Flow, Hole, flow
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, Source
from penstock.stream import Stream

WINDOW = 256
LARGEST = 2**20
_LAST_PORT = 2**16 - 1
Served = Stream[Any] | Callable[[], Stream[Any]]
Through = Callable[[Stream[Any]], Stream[Any]]


@dataclass(frozen=True, slots=True)
class Remote(Source[Any]):
    """A source that takes a stream from a server."""

    target: Target

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Connect with the first request."""
        RemoteSubscription(self.target, downstream).incoming.outlet.open()


@dataclass(frozen=True, slots=True)
class RemoteChannel(Joint[Any, Any]):
    """A step that sends elements through a flow of a server."""

    target: Target

    def open(self, downstream: Subscriber[Any], /) -> Subscriber[Any]:
        """Stand in front of what follows."""
        return ChannelCall(self.target, downstream)


def serve(
    streams: Mapping[str, Served] | None = None,
    *,
    channels: Mapping[str, Flow[Any, Any] | Through] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    transport: Literal["tcp", "websocket"] = "tcp",
    codec: Codec = JSON,
    window: int = WINDOW,
    largest: int = LARGEST,
    keep_alive: Liveness = Liveness(),  # noqa: B008  frozen
    errors: Iterable[type[Exception]] = (),
    executor: AnyExecutor | None = None,
    ssl: SSLContext | None = None,
) -> Server:
    """Serve streams and flows under names to every consumer that has the token; give a Server to be closed.

    Each consumer has its own run, on a worker of `executor` (a thread for each unless given). A stream is taken from
    only as its consumer asks, and at most `window` elements are taken and not yet with the system's sockets. When a
    stream ends or fails its consumer is told, with the type and message of the error. A consumer that cancels, is lost,
    or is silent for the lifetime of `keep_alive` cancels its run; a loss goes to the hook for what cannot be delivered.
    Closing fails every consumer and cancels every run. It listens on this host alone unless `host` says otherwise;
    `token` is made up unless given.

    >>> from penstock import Stream
    >>> from penstock.bridges.rsocket import remote, serve
    >>> with serve({"numbers": Stream.range(3)}) as server:
    ...     list(remote(server.address, "numbers", token=server.token))
    [0, 1, 2]
    """
    for parameter, named in (("streams", streams), ("channels", channels)):
        if not isinstance(named, Mapping | None):
            raise TypeError(f"serve: {parameter} must be a mapping of names, got {named!r}")
    offered = {_name("serve", name): _maker(name, each) for name, each in (streams or {}).items()}
    through = {_name("serve", name): _flow(name, each) for name, each in (channels or {}).items()}
    if not offered and not through:
        raise ValueError("serve: streams must not be empty where channels are, got nothing to serve")
    if transport not in {"tcp", "websocket"}:
        raise ValueError(f"serve: transport must be 'tcp' or 'websocket', got {transport!r}")
    if transport == "websocket":
        websockets_given("serve")
    if not isinstance(host, str) or not host:
        raise ValueError(f"serve: host must be the name of a host, got {host!r}")
    count_given("serve", "port", port, 0)
    if port > _LAST_PORT:
        raise ValueError(f"serve: port must be <= {_LAST_PORT}, got {port!r}")
    if token is None:
        token = secrets.token_urlsafe(32)
    elif not _sendable(token):
        raise ValueError("serve: token must be a text that is not empty and has no surrogates")
    given = None if executor is None else executor_given("serve", executor)
    settings = Settings.of("serve", codec, window, largest, keep_alive, errors)
    server = Server(Offer(offered, through, token, settings, given or thread("penstock-serve")))
    plain, secure = ("ws", "wss") if transport == "websocket" else ("tcp", "tls")
    server.start(plain if ssl is None else secure, host, port, ssl)
    return server


def remote(
    address: str,
    name: str,
    *,
    token: str,
    codec: Codec = JSON,
    window: int = WINDOW,
    largest: int = LARGEST,
    keep_alive: Liveness = Liveness(),  # noqa: B008  frozen
    errors: Iterable[type[Exception]] = (),
    executor: AnyExecutor | None = None,
    ssl: SSLContext | None = None,
) -> Stream[Any]:
    """Take the stream that is served at an address under a name.

    Emits what the server sends, on a worker of `executor`: unless given, the event loop that runs where it is
    subscribed, else a thread. Backpressures by asking the server for what is asked for here, at most `window` elements
    that are on their way or wait. Completes, and fails, as the served stream does; builtin errors and those among
    `errors` keep their type, others are a RemoteError. Fails with ConnectionLostError when the server is gone or silent
    for the lifetime of `keep_alive`. Cancels the run on the server. Each subscription has its own connection, made with
    the first request.

    >>> from penstock import Stream
    >>> from penstock.bridges.rsocket import remote, serve
    >>> with serve({"letters": Stream.just("a", "b")}) as server:
    ...     list(remote(server.address, "letters", token=server.token))
    ['a', 'b']
    """
    settings = Settings.of("remote", codec, window, largest, keep_alive, errors)
    return Stream(Chain(Remote(_target("remote", address, name, token, settings, ssl, executor))))


def channel(
    address: str,
    name: str,
    *,
    token: str,
    codec: Codec = JSON,
    window: int = WINDOW,
    largest: int = LARGEST,
    keep_alive: Liveness = Liveness(),  # noqa: B008  frozen
    errors: Iterable[type[Exception]] = (),
    executor: AnyExecutor | None = None,
    ssl: SSLContext | None = None,
) -> Flow[Any, Any]:
    """Give the flow that is served at an address under a name; put it behind a stream with `|`.

    Emits what the flow emits there. Backpressures both ways: the server asks for elements as its flow does, and is
    asked for results as they are asked for here, each within `window`. Completes when the flow completes, and then
    cancels the stream before it; fails when that stream, the flow or the connection fails. Cancels the flow on the
    server and the stream before it. With a server that is not penstock, the channel opens with the first element, and a
    failure of the stream before it overtakes results that are on their way.

    >>> from penstock import Stream
    >>> from penstock.bridges.rsocket import channel, serve
    >>> with serve(channels={"double": lambda numbers: numbers.map(lambda n: 2 * n)}) as server:
    ...     list(Stream.range(3) | channel(server.address, "double", token=server.token))
    [0, 2, 4]
    """
    settings = Settings.of("channel", codec, window, largest, keep_alive, errors)
    target = _target("channel", address, name, token, settings, ssl, executor)
    return Flow(Chain(Hole()).then(RemoteChannel(target)))


def _target(
    function: str,
    address: str,
    name: str,
    token: str,
    settings: Settings,
    ssl: SSLContext | None,
    executor: AnyExecutor | None,
) -> Target:
    where = address_of(function, address)
    if where.websocket:
        websockets_given(function)
    if not _sendable(token):
        raise ValueError(f"{function}: token must be the token of the server")
    if ssl is not None and not where.secure:
        raise ValueError(f"{function}: address must be tls:// or wss:// where ssl is given, got {address!r}")
    given = None if executor is None else executor_given(function, executor)
    return Target(where, _name(function, name), token, settings, ssl, given)


def _name(function: str, name: object) -> str:
    if not _sendable(name) or not isinstance(name, str) or len(name.encode()) > 255:
        raise ValueError(f"{function}: name must be a text of 1 to 255 bytes, got {name!r}")
    return name


def _sendable(token: object) -> bool:
    return isinstance(token, str) and token != "" and token.encode("utf-8", "ignore").decode() == token


def _maker(name: str, served: Served) -> Callable[[], Stream[Any]]:
    if isinstance(served, Stream):
        return lambda: served
    if not callable(served):
        raise TypeError(f"serve: streams[{name!r}] must be a Stream or a function that makes one, got {served!r}")
    return served


def _flow(name: str, through: Flow[Any, Any] | Through) -> Flow[Any, Any]:
    if not callable(through):
        raise TypeError(f"serve: channels[{name!r}] must be a Flow or a function between Streams, got {through!r}")
    return through if isinstance(through, Flow) else flow(through)
