"""link: the connection of one run to NATS, which comes back when a server was away for a while."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from typing import Any, TypeVar
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.errors import AuthorizationError, NoRespondersError
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError, ServiceUnavailableError

T = TypeVar("T")

PAUSE = 0.25
"""Seconds between two attempts to reach a server that is away."""
AWAY = (NatsTimeoutError, NoRespondersError, ServiceUnavailableError)
"""What a request fails with while a server starts, or is away."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where NATS is, how a run logs in there, and how long it waits for a server that is away."""

    servers: tuple[str, ...] = field(repr=False)
    """Their addresses, which may hold names and passwords, so they are not shown; see `shown`."""
    options: Mapping[str, Any] | None = field(default=None, repr=False)
    """Further arguments of `nats.connect`, passwords among them, so they are not shown."""
    domain: str | None = None
    patience: float = 60.0

    def __post_init__(self) -> None:
        if not self.servers:
            raise ValueError("nats: servers must name at least one server, got none")
        for server in self.servers:
            if not isinstance(server, str):
                raise TypeError(f"nats: servers must be addresses such as 'nats://127.0.0.1:4222', got {server!r}")
            try:
                _shown(server)
            except ValueError:  # which would show a part of a password that has a slash in it
                raise ValueError(
                    "nats: servers must be addresses such as 'nats://127.0.0.1:4222', and the port of one is no number;"
                    " write signs such as / and @ in a password as %2F and %40"
                ) from None
        if not isinstance(self.patience, int | float) or not self.patience > 0:
            raise ValueError(f"nats: patience must be > 0 seconds, got {self.patience!r}")

    @property
    def shown(self) -> str:
        """Return the servers without names and passwords."""
        return ", ".join(_shown(server) for server in self.servers)

    async def connect(self) -> NatsLink:
        """Connect to one of the servers, or raise what is the matter at once."""
        link = NatsLink(self)
        await link.connect()
        return link


def _shown(server: str) -> str:
    host = urlsplit(server if "://" in server else f"nats://{server}")
    return f"{host.hostname}:{host.port or 4222}"


class NatsLink:
    """The connection of one run; `changed` is called when it came back, and when it is gone for good."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.client = Client()
        self.prefix = "$JS.API" if address.domain is None else f"$JS.{address.domain}.API"
        self.times = 0
        """How often it came back."""
        self._changed: Callable[[], None] = _ignore
        self._connecting = True
        self._closing = False
        self._gone: Exception | None = None
        self._here = asyncio.Event()

    async def connect(self) -> None:
        """Connect, once: at the beginning a server that is away or refuses is more likely a wrong address."""
        attempts = ceil(self.address.patience / PAUSE)
        options = {"reconnect_time_wait": PAUSE, "max_reconnect_attempts": attempts, **(self.address.options or {})}
        try:
            await self.client.connect(
                list(self.address.servers),
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnected,
                reconnected_cb=self._on_reconnected,
                closed_cb=self._on_closed,
                **options,
            )
            self._connecting = False
        except (NatsError, OSError, TimeoutError) as error:
            raise self._explained(error) from error
        finally:
            if self._connecting:  # a cancel closes the socket as well
                await self.close()
        self._here.set()

    def _explained(self, error: Exception) -> Exception:
        if isinstance(error, AuthorizationError) or "uthorization" in str(error):
            return PermissionError(
                f"nats: {self.address.shown} refused the login; give the right user and password, token or credentials"
                " in options, as nats.connect takes them"
            )
        return ConnectionError(f"nats: no connection to {self.address.shown}: {error}")

    @property
    def jetstream(self) -> JetStreamContext:
        """Return what asks the JetStream of the account, or of its domain."""
        return JetStreamContext(self.client, prefix=self.prefix, timeout=5)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call a function when the connection came back, and when it is gone for good."""
        self._changed = changed

    @property
    def connected(self) -> bool:
        """Tell whether a server is there."""
        return self._here.is_set() and self._gone is None

    def check(self) -> None:
        """Raise what the connection ended with, if it is gone for good."""
        if self._gone is not None:
            raise self._gone

    async def here(self) -> None:
        """Wait until a server is there, or raise what the connection ended with."""
        self.check()
        await self._here.wait()
        self.check()

    async def patiently(self, what: str, request: Callable[[], Awaitable[T]]) -> T:
        """Make a request until it is answered, for as long as the patience lasts; a refusal is raised at once."""
        last: Exception | None = None
        try:
            async with asyncio.timeout(self.address.patience):
                while True:
                    await self.here()
                    try:
                        return await request()
                    except AWAY as error:
                        last = error
                    await asyncio.sleep(PAUSE)
        except TimeoutError:
            raise ConnectionError(
                f"nats: {what} was not answered for {self.address.patience:g} s by {self.address.shown}"
            ) from last

    async def api(self, subject: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the server's JetStream itself, where the client has no word for it."""
        answer = await self.client.request(f"{self.prefix}.{subject}", json.dumps(body).encode(), timeout=5)
        found: dict[str, Any] = json.loads(answer.data)
        return found

    async def missing(self, stream: str, consumer: str | None = None) -> str | None:
        """Return which of a stream and its consumer is not there, in words, or None."""
        asked = self.jetstream
        try:
            await self.patiently(f"the question for stream {stream!r}", lambda: asked.stream_info(stream))
        except NotFoundError:
            return f"stream {stream!r} is not there"
        if consumer is not None:
            try:
                await self.patiently(f"the question for {consumer!r}", lambda: asked.consumer_info(stream, consumer))
            except NotFoundError:
                return f"consumer {consumer!r} of stream {stream!r} is not there"
        return None

    async def close(self) -> None:
        """Send what is to be sent, and let go of the socket."""
        self._closing = True
        with suppress(OSError):  # of a socket that the server has closed before
            await self.client.close()

    async def _on_error(self, error: Exception) -> None:
        # What connect() does with an error is to try again for minutes; raised from here, it ends the attempt.
        if self._connecting and not self._closing:
            raise error

    async def _on_disconnected(self) -> None:
        self._here.clear()

    async def _on_reconnected(self) -> None:
        self.times += 1
        self._here.set()
        self._changed()

    async def _on_closed(self) -> None:
        if not self._closing:
            error = self.client.last_error or ConnectionError(f"it was away for {self.address.patience:g} s")
            self._gone = self._explained(error)
            self._gone.__cause__ = error
        self._here.set()  # so that waiting ends
        self._changed()


def _ignore() -> None:
    """Do nothing."""


__all__ = ["PAUSE", "Address", "NatsLink"]
