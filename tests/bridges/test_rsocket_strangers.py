"""What strangers can take of a server before they show a token, and the friends of another make afterwards."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Literal, get_args

import pytest
import trustme
from websockets.sync.client import connect

from penstock import Dropped, Stream
from penstock.bridges.rsocket import RejectedError, RemoteError, channel, remote, serve, wires
from penstock.bridges.rsocket import server as servers
from penstock.bridges.rsocket.connection import MOST_KEPT_ALIVE, MOST_STREAMS
from penstock.bridges.rsocket.frames import Code, ErrorFrame, KeepAliveFrame, Kind, Payload, decode, encode
from penstock.testing import Probe
from tests.bridges.raw_rsocket import PATIENCE, raw_consumer, request, said, setup
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LARGEST = 64 * 2**20


def test_a_stranger_on_a_websocket_is_not_read_from(monkeypatch: pytest.MonkeyPatch, dropped: list[Dropped]) -> None:
    monkeypatch.setattr(servers, "SETUP_TIME", 0.5)
    with serve({"numbers": Stream.range(3)}, transport="websocket", largest=LARGEST) as server:
        host, port = server.address.removeprefix("ws://").split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as raw:
            raw.sendall(
                b"GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
            )
            raw.recv(1000)
            raw.sendall(b"\x82\xff" + LARGEST.to_bytes(8, "big") + bytes(4))
            sent = 0
            with suppress(OSError):  # it is sent away while most of it is still here
                while sent < LARGEST:
                    sent += raw.send(bytes(2**16))
        assert sent < LARGEST // 2  # the buffers of the system, and little more
    [found] = dropped
    dropped.clear()
    assert isinstance(found.error, RejectedError)
    assert "no SETUP frame came in time" in str(found.error)


def test_what_follows_the_token_at_once_on_a_websocket_may_be_large(dropped: list[Dropped]) -> None:
    text = b'"' + b"x" * 10**6 + b'"'
    channels = {"length": lambda texts: texts.map(len)}
    with (
        serve(channels=channels, transport="websocket") as server,
        connect(server.address, proxy=None, compression=None) as raw,
    ):
        raw.send(encode(setup(server.token)))
        raw.send(encode(request("length", 1, 1, Kind.REQUEST_CHANNEL, text)))
        assert decode(raw.recv(PATIENCE, decode=False)) == Payload(1, b"1000000")
    dropped.clear()  # it leaves without a word


@pytest.mark.parametrize("transport", get_args(Literal["tcp", "websocket"]))
def test_a_stranger_that_does_not_shake_hands_is_sent_away(
    transport: Literal["tcp", "websocket"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wires, "HANDSHAKE_TIME", 0.2)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with serve({"numbers": Stream.range(3)}, transport=transport, ssl=context) as server:
        host, port = server.address.split("//")[1].split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as raw:
            assert raw.recv(1) == b""


def test_pieces_that_nobody_waits_for_are_not_kept(dropped: list[Dropped]) -> None:
    with serve({"numbers": Stream.range(3)}) as server, raw_consumer(server) as raw:
        for number in range(MOST_STREAMS + 10):
            raw.send(Payload(2 * number + 1, b"x", follows=True))
        raw.send(KeepAliveFrame(respond=True, data=b"still there"))
        assert raw.read() == KeepAliveFrame(respond=False, data=b"still there")
    assert ["which was not opened" in str(each.error) for each in dropped] == [True]
    dropped.clear()


def test_a_keep_alive_brings_little_along(dropped: list[Dropped]) -> None:
    """Answers wait for one who does not read them, and so does what they send back."""
    with serve({"numbers": Stream.range(3)}) as server, raw_consumer(server) as raw:
        raw.send(KeepAliveFrame(respond=True, data=bytes(MOST_KEPT_ALIVE)))
        assert raw.read() == KeepAliveFrame(respond=False, data=bytes(MOST_KEPT_ALIVE))
        raw.send(KeepAliveFrame(respond=True, data=bytes(MOST_KEPT_ALIVE + 1)))
        assert "a KEEPALIVE frame with 4097 bytes" in said(raw.read())[2]
    dropped.clear()


@pytest.mark.parametrize("working_in", ["subscribe", "request"])
def test_a_failure_that_comes_while_the_flow_works_fails_it_before_it_is_cancelled(
    working_in: str, dropped: list[Dropped]
) -> None:
    failures: SimpleQueue[Exception] = SimpleQueue()
    working, go_on = threading.Event(), threading.Event()

    def work() -> int:
        working.set()
        go_on.wait(PATIENCE)
        return 0

    def watched(numbers: Stream[int]) -> Stream[int]:
        seen = numbers.tap(on_error=failures.put)
        working = Stream.from_callable(work)
        return seen.merge(working) if working_in == "subscribe" else working.concat(seen)

    channels = {"watched": watched}
    with serve(channels=channels) as server, raw_consumer(server) as raw:
        raw.send(request("watched", 2, 1, Kind.REQUEST_CHANNEL, b"1"))
        assert working.wait(PATIENCE)
        raw.send(ErrorFrame(1, Code.APPLICATION_ERROR, "KeyError: 'valve'"), KeepAliveFrame(respond=True))
        raw.read_until(KeepAliveFrame)
        go_on.set()
        failure = failures.get(timeout=PATIENCE)
    assert (type(failure), str(failure)) == (KeyError, "'valve'")
    dropped.clear()  # what the flow failed with has nobody to go to


@pytest.mark.parametrize("message", ["{{}}", "{[]: 1}", "-" * 9000 + "1", "[" * 9000, "1+" * 4000 + "1"], ids=range(5))
def test_what_a_stranger_says_of_an_error_is_a_message_whatever_it_looks_like(message: str) -> None:
    with serve({"failing": Stream.error(RemoteError("", f"KeyError: {message}"))}) as server:
        probe: Probe[int] = Probe(1)
        remote(server.address, "failing", token=server.token).subscribe(probe)
        probe.wait_for_end()
    assert isinstance(probe.error, RemoteError)
    assert probe.error.type_name == "KeyError"


def test_a_failure_of_many_bytes_crosses_a_channel() -> None:
    failing: Stream[int] = Stream.error(ValueError("\ud800" * 7000))
    same = {"same": lambda numbers: numbers.map(lambda n: n)}
    with serve(channels=same) as server, pytest.raises(ValueError) as caught:
        list(failing | channel(server.address, "same", token=server.token))
    assert str(caught.value).startswith("\\ud800\\ud800")


def test_a_slow_cleanup_holds_up_nobody_else() -> None:
    inside, cleaning, go_on = threading.Event(), threading.Event(), threading.Event()

    def numbers() -> Iterator[int]:
        yield 1
        inside.set()
        go_on.wait(PATIENCE)
        yield 2

    def clean(*_: object) -> None:
        cleaning.set()
        go_on.wait(PATIENCE)

    slow = Stream.from_iterable(numbers()).do_finally(clean)
    with serve({"slow": lambda: slow, "numbers": Stream.range(3)}) as server:
        probe: Probe[int] = Probe(5)
        remote(server.address, "slow", token=server.token).subscribe(probe)
        assert inside.wait(PATIENCE)
        probe.cancel()
        assert cleaning.wait(PATIENCE)
        other: Probe[int] = Probe(5, patience=PATIENCE / 2)
        remote(server.address, "numbers", token=server.token).subscribe(other)
        other.wait_for_end()
        go_on.set()
    assert other.elements == [0, 1, 2]
