"""sockets: websockets that are read under demand, and sent to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from penstock import Stream
from penstock.connectors import http
from tests.connectors.http.server import Serving, on_a_thread


@contextmanager
def socket_server(handle: Any, **options: Any) -> Iterator[Serving]:
    async def main(serving: Serving, stop: asyncio.Event, ready: threading.Event) -> None:
        async def connected(socket: ServerConnection) -> None:
            serving.open += 1
            try:
                await handle(socket)
            except ConnectionClosed:
                pass
            finally:
                serving.open -= 1

        async with serve(connected, "127.0.0.1", 0, compression=None, **options) as server:
            serving.port = server.sockets[0].getsockname()[1]
            serving.url = f"ws://127.0.0.1:{serving.port}"
            ready.set()
            await stop.wait()

    with on_a_thread(main) as serving:
        yield serving


def test_messages_come_until_the_server_closes() -> None:
    async def three(socket: ServerConnection) -> None:
        for message in ("one", b"two", "three"):
            await socket.send(message)

    with socket_server(three) as server:
        assert list(http.websocket(server.url)) == ["one", b"two", "three"]


def test_a_greeting_says_what_is_wanted() -> None:
    async def echo(socket: ServerConnection) -> None:
        await socket.send(await socket.recv())

    with socket_server(echo) as server:
        assert list(http.websocket(server.url, greeting=["hello"])) == ["hello"]


@pytest.mark.proves("http.websocket", "a consumer that stops asking", "the server has to wait")
@pytest.mark.proves("http.websocket", "cancel", "the connection is closed")
def test_a_server_waits_for_a_slow_consumer() -> None:
    sent = 0
    waits = threading.Event()

    async def flood(socket: ServerConnection) -> None:
        nonlocal sent
        while True:
            sending = asyncio.ensure_future(socket.send("x" * 20_000))
            done, _ = await asyncio.wait([sending], timeout=1)
            if not done:
                waits.set()
            await sending
            sent += 1

    with socket_server(flood, ping_interval=None) as server:
        reading = iter(http.websocket(server.url))
        next(reading)
        assert waits.wait(120)
        held = sent
        assert held < 2000  # megabytes of TCP's buffers, and no more
        for _ in range(held + 100):
            next(reading)
        assert sent > held
        reading.close()
        while server.open:
            threading.Event().wait(0.005)


@pytest.mark.proves("http.websocket", "the connection is lost", "an error, or another connection by choice")
def test_a_lost_connection_fails_or_is_made_again() -> None:
    async def two_and_gone(socket: ServerConnection) -> None:
        number = len(server.requests)
        server.requests.append(Any)  # type: ignore[arg-type]
        await socket.send(str(number))
        if number == 3:
            return
        await socket.close(1011, "broken")

    with socket_server(two_and_gone) as server:
        with pytest.raises(http.HttpError) as caught:
            list(http.websocket(server.url))
        assert str(caught.value) == (
            f"websocket: {server.url} was lost: received 1011 (internal error) broken; then sent 1011 (internal error) "
            "broken; say retry= to connect again"
        )
        tries = http.Tries(count=5, pause=0.002, most=1.0)
        assert list(http.websocket(server.url, retry=tries)) == ["1", "2", "3"]


def test_a_server_that_refuses_is_named() -> None:
    async def refuse(connection: ServerConnection, request: Any) -> Any:
        return connection.respond(401, "who?")

    async def handle(socket: ServerConnection) -> None:
        raise AssertionError

    with socket_server(handle, process_request=refuse) as server:
        with pytest.raises(http.HttpError) as caught:
            list(http.websocket(server.url))
        assert str(caught.value) == (
            f"websocket: {server.url} cannot be connected: "
            "InvalidStatus: server rejected WebSocket connection: HTTP 401"
        )


def test_a_message_that_is_too_large_is_refused() -> None:
    async def large(socket: ServerConnection) -> None:
        await socket.send("x" * 2000)
        await socket.wait_closed()

    with (
        socket_server(large) as server,
        pytest.raises(http.HttpError, match=r"was lost: sent 1009 \(message too big\)"),
    ):
        list(http.websocket(server.url, largest=1000))


@pytest.mark.proves("http.to_websocket", "round trip", "every message, in order, read by the other side")
def test_messages_are_sent_in_order() -> None:
    got: list[Any] = []

    async def keep(socket: ServerConnection) -> None:
        async for message in socket:
            got.append(message)
            await socket.send("ignored")

    with socket_server(keep) as server:
        numbers = Stream.range(1000).map(str)
        assert (numbers | http.to_websocket(server.url)).run().wait() == 1000
        assert got == [str(n) for n in range(1000)]
        while server.open:
            threading.Event().wait(0.005)


@pytest.mark.proves("http.to_websocket", "a server that stops reading", "the run waits, at a bound")
def test_a_server_that_does_not_read_makes_the_run_wait() -> None:
    release = asyncio.Event()
    produced = 0

    async def slow(socket: ServerConnection) -> None:
        await release.wait()
        async for _ in socket:
            pass

    def one(number: int) -> str:
        nonlocal produced
        produced += 1
        return "x" * 10_000

    with socket_server(slow, max_queue=1, ping_interval=None) as server:
        run = (Stream.range(2000).map(one) | http.to_websocket(server.url, batch=10)).run()
        before = -1
        while produced == 0 or before != produced:  # until it produces no more
            before = produced
            threading.Event().wait(0.5)
        assert produced <= 10 + 10 + 16  # what is sent, what waits, and what the step before has in its hands
        server.loop.call_soon_threadsafe(release.set)
        assert run.wait() == 2000


@pytest.mark.proves("http.to_websocket", "cancel", "the connection is closed")
def test_a_cancel_closes_the_connection() -> None:
    got = threading.Event()

    async def keep(socket: ServerConnection) -> None:
        async for _ in socket:
            got.set()

    with socket_server(keep) as server:
        run = (Stream.just("a").concat(Stream.never()) | http.to_websocket(server.url, batch=1)).run()
        assert got.wait(60)
        run.cancel()
        while server.open:
            threading.Event().wait(0.005)


def test_what_is_no_message_is_refused() -> None:
    async def keep(socket: ServerConnection) -> None:
        async for _ in socket:
            pass

    with socket_server(keep) as server:
        with pytest.raises(TypeError, match=r"^to_websocket: a message is a text or bytes, got 3$"):
            (Stream.just("a", 3) | http.to_websocket(server.url)).run().wait()  # type: ignore[operator]
        while server.open:
            threading.Event().wait(0.005)


def test_a_server_that_hangs_up_is_told() -> None:
    async def hang_up(socket: ServerConnection) -> None:
        await socket.recv()

    with socket_server(hang_up) as server, pytest.raises(http.HttpError, match=r"^to_websocket: .* was lost: "):
        (Stream.range(1000).map(str) | http.to_websocket(server.url, batch=1)).run().wait()


def test_a_greeting_that_cannot_be_sent_leaves_no_connection() -> None:
    async def listen(socket: ServerConnection) -> None:
        async for _ in socket:
            pass

    with socket_server(listen) as server:
        with pytest.raises(TypeError):
            list(http.websocket(server.url, greeting=["hello", 3]))  # type: ignore[list-item]
        while server.open:
            threading.Event().wait(0.005)


def test_a_redirect_takes_no_headers_to_another_server() -> None:
    async def handle(socket: ServerConnection) -> None:
        raise AssertionError

    async def move(connection: ServerConnection, request: Any) -> Any:
        response = connection.respond(302, "")
        response.headers["Location"] = other.url
        return response

    async def note(connection: ServerConnection, request: Any) -> Any:
        other.requests.append(request)

    with (
        socket_server(handle, process_request=note) as other,
        socket_server(handle, process_request=move) as server,
    ):
        with pytest.raises(http.HttpError) as caught:
            list(http.websocket(server.url, headers={"authorization": "Bearer hidden"}))
        assert str(caught.value) == (
            f"websocket: {server.url} cannot be connected: "
            "InvalidStatus: server rejected WebSocket connection: HTTP 302"
            f"; it has moved to '{other.url}': give that address"
        )
        assert other.requests == []


def test_a_login_in_an_address_is_not_shown() -> None:
    async def refuse(connection: ServerConnection, request: Any) -> Any:
        return connection.respond(403, "no")

    async def handle(socket: ServerConnection) -> None:
        raise AssertionError

    with socket_server(handle, process_request=refuse) as server:
        stream = http.websocket(server.url.replace("//", "//ann:hidden@"), greeting=["hidden"])
        assert "hidden" not in repr(stream._chain)
        with pytest.raises(http.HttpError, match=rf"^websocket: {server.url} cannot be connected: ") as caught:
            list(stream)
        assert caught.value.url == server.url
