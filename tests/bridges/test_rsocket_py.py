"""RSocket between penstock and rsocket-py, which has frames and connections of its own: both directions, over TCP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from reactivestreams.publisher import Publisher
from reactivestreams.subscriber import DefaultSubscriber
from rsocket.extensions.helpers import authenticate_bearer, composite, route
from rsocket.extensions.mimetypes import WellKnownMimeTypes
from rsocket.helpers import single_transport_provider
from rsocket.payload import Payload
from rsocket.request_handler import BaseRequestHandler
from rsocket.rsocket_client import RSocketClient
from rsocket.rsocket_server import RSocketServer
from rsocket.transports.tcp import TransportTCP

from penstock import Stream
from penstock.bridges.reactivestreams import to_publisher
from penstock.bridges.rsocket import RemoteError, Server, remote, serve
from penstock.testing import Probe, Tracked
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


async def consume(server: Server, name: str, numbers: Tracked[int]) -> tuple[list[int], list[str], int]:
    """Ask for three elements, then for two more; return what came, what ended it, and what was taken after three."""
    host, port = server.address.removeprefix("tcp://").split(":")
    connection = await asyncio.open_connection(host, int(port))
    found: list[int] = []
    ends: list[str] = []
    changed = asyncio.Event()

    def heard(what: list[Any], value: Any) -> None:
        what.append(value)
        changed.set()

    async def until(count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(found) + len(ends) < count:
                changed.clear()
                await changed.wait()

    subscriber = DefaultSubscriber(
        on_next=lambda payload, is_complete: heard(found, int(payload.data)),
        on_error=lambda error: heard(ends, str(error)),
        on_complete=lambda: heard(ends, "complete"),
    )
    async with RSocketClient(
        single_transport_provider(TransportTCP(*connection)),
        setup_payload=Payload(None, composite(authenticate_bearer(server.token))),
        metadata_encoding=WellKnownMimeTypes.MESSAGE_RSOCKET_COMPOSITE_METADATA,
    ) as client:
        client.request_stream(Payload(b"", composite(route(name)))).initial_request_n(3).subscribe(subscriber)
        await until(3)
        taken = numbers.taken
        assert subscriber.subscription is not None
        subscriber.subscription.request(2)
        await until(5)
        if not ends:
            subscriber.subscription.cancel()
    return found, ends, taken


def test_rsocket_py_consumes_what_it_asks_for() -> None:
    numbers = Tracked(range(1, 100))
    with serve({"numbers": Stream.from_iterable(numbers)}) as server:
        found, ends, taken = asyncio.run(consume(server, "numbers", numbers))
        assert (found, ends, taken) == ([1, 2, 3, 4, 5], [], 3)
        numbers.wait_until_closed()


def test_rsocket_py_sees_an_error() -> None:
    numbers = Tracked([1, 2, 3, 4], ValueError("no such pipe"))
    with serve({"numbers": Stream.from_iterable(numbers)}) as server:
        found, ends, _ = asyncio.run(consume(server, "numbers", numbers))
        assert (found, ends) == ([1, 2, 3, 4], ["ValueError: no such pipe"])


class Handler(BaseRequestHandler):
    """Serve numbers, as many as asked for; the name is not looked at."""

    async def request_stream(self, payload: Payload) -> Publisher:
        failing = b"failing" in payload.metadata
        numbers = Tracked(range(1, 6), OSError("the valve is stuck") if failing else None)
        return to_publisher(Stream.from_iterable(numbers).map(lambda n: Payload(str(n).encode())))


@contextmanager
def rsocket_py() -> Iterator[str]:
    """Run a server of rsocket-py on a loop of its own."""
    ready, address = threading.Event(), [""]
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def main() -> None:
        servers: list[RSocketServer] = []
        listening = await asyncio.start_server(
            lambda *both: servers.append(RSocketServer(TransportTCP(*both), handler_factory=Handler)), "127.0.0.1", 0
        )
        address[0] = f"tcp://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        ready.set()
        await over.wait()
        listening.close()
        for server in servers:
            await server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield address[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(PATIENCE)
        loop.close()


def test_a_server_of_rsocket_py_is_consumed_from() -> None:
    with rsocket_py() as address:
        probe: Probe[int] = Probe(2)
        remote(address, "numbers", token="t").subscribe(probe)
        assert probe.wait_for(2) == [1, 2]
        probe.request(10)
        probe.wait_for_end()
        assert (probe.elements, probe.completed, probe.breaches) == ([1, 2, 3, 4, 5], True, [])
        with pytest.raises(RemoteError, match=r"^the valve is stuck$"):
            list(remote(address, "failing", token="t"))
