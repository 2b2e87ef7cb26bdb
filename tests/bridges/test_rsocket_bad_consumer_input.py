"""A consumer takes garbage and breaches: its stream fails and says why, the connection is closed, nothing hangs."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Dropped, Stream
from penstock.bridges.rsocket import (
    BYTES,
    ConnectionLostError,
    FrameError,
    Liveness,
    RejectedError,
    RemoteError,
    channel,
    remote,
)
from penstock.bridges.rsocket.frames import (
    Cancel,
    Code,
    ErrorFrame,
    KeepAliveFrame,
    Kind,
    MetadataPush,
    Payload,
    Request,
    RequestN,
    SetupFrame,
)
from penstock.bridges.rsocket.metadata import PENSTOCK, composite, entries_of
from penstock.errors import ProtocolError
from penstock.testing import Probe, Tracked
from tests.bridges.raw_rsocket import PATIENCE, Raw, raw_server
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


def after_request(*frames: Any) -> Callable[[Raw], None]:
    """Answer a request with frames, then wait until the consumer closes."""

    def answer(raw: Raw) -> None:
        assert isinstance(raw.read(), SetupFrame)
        raw.read_until(Request)
        raw.send(*frames)
        raw.rest()

    return answer


def outcome(answer: Callable[[Raw], None], asked: int = 2, **options: Any) -> Probe[Any]:
    """Consume from a server without manners, to the end."""
    with raw_server(answer) as address:
        probe: Probe[Any] = Probe(asked, patience=PATIENCE)
        remote(address, "numbers", token="t", **options).subscribe(probe)
        probe.wait_for_end()
    assert probe.breaches == []
    return probe


ONE, TWO = Payload(1, b"1"), Payload(1, b"2")
BROKEN: dict[str, tuple[list[Any], type[Exception], str]] = {
    "an unknown type": ([ONE, struct.pack(">IH", 1, 40 << 10)], FrameError, "sent a frame of the unknown"),
    "garbage": ([ONE, b"garbage"], FrameError, "sent a frame"),
    "a payload with nothing": ([ONE, struct.pack(">IH", 1, 10 << 10)], FrameError, "neither an element nor an end"),
    "a frame too large": ([ONE, bytes(2**20 + 2**16 + 1)], FrameError, "a frame of 1114113 bytes, and 1114112 are the"),
    "an element too large": ([ONE, Payload(1, b"1" * (2**20 + 1))], FrameError, "an element of more than 1048576 byte"),
    "more than was asked for": ([ONE, TWO, Payload(1, b"3")], ProtocolError, "rule 1.1: the other side sent an ele"),
    "what is not JSON": ([ONE, Payload(1, b"nope")], FrameError, "an element that is not application/json"),
    "JSON too deep": ([ONE, Payload(1, b"[" * 500_000)], FrameError, "an element that is not application/json"),
    "null": ([ONE, Payload(1, b"null")], FrameError, "None is not an element (rule 2.13)"),
    "an error": ([ONE, ErrorFrame(1, Code.APPLICATION_ERROR, "KeyError: 'x'")], KeyError, "'x'"),
    "an error of an unknown type": (
        [ONE, ErrorFrame(1, Code.APPLICATION_ERROR, "os.Error: x")], RemoteError, "os.Error: x"
    ),
    "an error of an unknown code": ([ONE, ErrorFrame(1, 0x777, "odd")], RemoteError, "odd"),
    "a refusal": ([ONE, ErrorFrame(1, Code.REJECTED, "busy")], RejectedError, "the server refused the request: busy"),
    "a refused setup": ([ErrorFrame(0, Code.REJECTED_SETUP, "no")], RejectedError, "refused the connection: no"),
    "the end of the connection": ([ONE, ErrorFrame(0, Code.CONNECTION_ERROR, "tired")], ConnectionLostError, "tired"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_stream_fails_for(name: str) -> None:
    frames, kind, text = BROKEN[name]
    probe = outcome(after_request(*frames))
    assert isinstance(probe.error, kind), probe.error
    assert text in str(probe.error)
    assert probe.elements in ([], [1], [1, 2])
    assert ONE not in frames or probe.elements[:1] == [1]  # what was delivered is not lost


def test_a_server_that_closes_in_the_middle_of_a_frame() -> None:
    def answer(raw: Raw) -> None:
        raw.read_until(Request)
        raw.send(ONE)
        raw.send_bytes(b"\0\1\0half")

    probe = outcome(answer)
    assert isinstance(probe.error, ConnectionLostError)
    assert str(probe.error).endswith(" broke: it ended in the middle of a frame")
    assert probe.elements == [1]


def test_a_server_that_closes_without_a_word() -> None:
    probe = outcome(lambda raw: raw.read_until(Request))
    assert isinstance(probe.error, ConnectionLostError)


def test_a_server_that_takes_the_connection_and_is_silent() -> None:
    probe = outcome(lambda raw: raw.rest(), keep_alive=Liveness(0.05, 0.2))
    assert isinstance(probe.error, ConnectionLostError)
    assert "has been silent for 0.2 seconds" in str(probe.error)


def test_half_a_frame_is_no_sign_of_life() -> None:
    def answer(raw: Raw) -> None:
        raw.read_until(Request)
        raw.send_bytes(b"\0\1\0half")
        raw.rest()

    probe = outcome(answer, keep_alive=Liveness(0.05, 0.2))
    assert isinstance(probe.error, ConnectionLostError)


def test_nobody_listens() -> None:
    with raw_server(lambda raw: None) as address:
        import socket

        host, port = address.removeprefix("tcp://").split(":")
        socket.create_connection((host, int(port))).close()
    probe: Probe[Any] = Probe(1, patience=PATIENCE)
    remote(address, "numbers", token="t").subscribe(probe)
    probe.wait_for_end()
    assert isinstance(probe.error, ConnectionLostError)
    assert str(probe.error).startswith(f"remote: cannot reach {address}: ")


def test_signals_after_the_end_are_not_delivered() -> None:
    probe = outcome(after_request(Payload(1, b"1", complete=True), TWO, ErrorFrame(1, Code.APPLICATION_ERROR, "late")))
    assert (probe.elements, probe.completed, probe.error) == ([1], True, None)


def test_frames_for_other_streams_are_ignored_and_reported_once(dropped: list[Dropped]) -> None:
    strays = [Payload(3, b"9"), Payload(2, b"9"), ErrorFrame(5, 1, "?"), RequestN(1, 0), Cancel(1), MetadataPush(b"x")]
    probe = outcome(after_request(*strays, Payload(1, b"1", complete=True)))
    assert (probe.elements, probe.completed) == ([1], True)
    [found] = dropped
    dropped.clear()
    assert "a Payload frame for stream 3, which was not opened" in str(found.error)


def test_requests_of_a_server_are_refused() -> None:
    answers: list[Any] = []

    def answer(raw: Raw) -> None:
        raw.read_until(Request)
        raw.send(Request(2, Kind.REQUEST_STREAM, 5))
        answers.append(raw.read_until(ErrorFrame))
        raw.send(Payload(1, b"1", complete=True))
        raw.rest()

    assert outcome(answer).completed
    assert answers == [ErrorFrame(2, Code.REJECTED, "this side serves nothing")]


def test_an_empty_element_and_an_end_with_it_are_an_element_and_an_end() -> None:
    probe = outcome(after_request(Payload(1, b""), Payload(1, b"", complete=True)), codec=BYTES)
    assert (probe.elements, probe.completed) == ([b"", b""], True)


def test_an_element_in_pieces_is_put_together() -> None:
    pieces = [Payload(1, b'"a', follows=True), Payload(1, b"b", follows=True), Payload(1, b'c"', complete=True)]
    probe = outcome(after_request(*pieces))
    assert (probe.elements, probe.completed) == (["abc"], True)


def test_a_consumer_shows_its_token_and_asks_for_the_name() -> None:
    seen: list[Any] = []

    def answer(raw: Raw) -> None:
        seen.append(raw.read())
        seen.append(raw.read_until(Request))
        raw.send(Payload(1, complete=True, next=False))
        raw.rest()

    assert outcome(answer, keep_alive=Liveness(2, 30)).completed
    setup, request = seen
    assert (setup.interval, setup.lifetime, setup.data_mime) == (2000, 30_000, "application/json")
    assert list(entries_of(setup.metadata).values()) == [b"\x81t"]
    assert request.n == 2
    assert list(entries_of(request.metadata).values()) == [b"\x07numbers"]


def test_a_slow_function_of_a_consumer_does_not_keep_it_from_showing_its_life() -> None:
    """The consumer's function returns only after its server has seen three signs of life since the element."""
    alive = threading.Event()

    def answer(raw: Raw) -> None:
        raw.read_until(Request)
        raw.send(ONE)
        for _ in range(3):
            raw.read_until(KeepAliveFrame)
            raw.send(KeepAliveFrame(respond=False))
        alive.set()
        raw.send(Payload(1, complete=True, next=False))
        raw.rest()

    with raw_server(answer) as address:
        numbers = remote(address, "numbers", token="t", keep_alive=Liveness(0.01, 60))
        assert list(numbers.map(lambda _: alive.wait(PATIENCE))) == [True]


# Channels.


def through(answer: Callable[[Raw], None], upstream: Stream[Any], asked: int = 2) -> Probe[Any]:
    with raw_server(answer) as address:
        probe: Probe[Any] = Probe(asked, patience=PATIENCE)
        (upstream | channel(address, "same", token="t")).subscribe(probe)
        probe.wait_for_end()
    assert probe.breaches == []
    return probe


def knowing(*frames: Any, penstock: bool = True) -> Callable[[Raw], None]:
    """Be a server that says what it is, answers the first keep-alive, then the request."""

    def answer(raw: Raw) -> None:
        assert isinstance(raw.read(), SetupFrame)
        if penstock:
            raw.send(MetadataPush(composite([(PENSTOCK, b"")])))
        raw.read_until(KeepAliveFrame)
        raw.send(KeepAliveFrame(respond=False))
        raw.read_until(Request)
        raw.send(*frames)
        raw.rest()

    return answer


@pytest.mark.parametrize("penstock", [True, False])
@pytest.mark.parametrize(
    ("frames", "kind", "text"),
    [
        ([RequestN(1, 0)], ValueError, "rule 3.9"),
        ([ONE, TWO, ONE], ProtocolError, "rule 1.1"),
        ([ErrorFrame(1, Code.APPLICATION_ERROR, "KeyError: 'x'")], KeyError, "'x'"),
        ([b"garbage"], FrameError, "sent a frame"),
    ],
    ids=["request(0)", "more than asked for", "an error", "garbage"],
)
def test_a_channel_fails_and_cancels_what_stands_before_it(
    penstock: bool, frames: list[Any], kind: type[Exception], text: str
) -> None:
    upstream = Tracked(range(100))
    probe = through(knowing(*frames, penstock=penstock), Stream.from_iterable(upstream))
    assert isinstance(probe.error, kind)
    assert text in str(probe.error)
    upstream.wait_until_closed()
    assert upstream.taken <= 1


def test_a_channel_that_completes_cancels_what_stands_before_it() -> None:
    upstream = Tracked(range(100))
    probe = through(knowing(Payload(1, complete=True, next=False), penstock=False), Stream.from_iterable(upstream))
    assert probe.completed
    upstream.wait_until_closed()


def test_a_failure_before_a_channel_is_sent_to_any_server_and_told_here() -> None:
    sent: list[Any] = []

    def answer(raw: Raw) -> None:
        raw.read_until(KeepAliveFrame)
        raw.send(KeepAliveFrame(respond=False))
        raw.read_until(Request)
        raw.send(RequestN(1, 5))
        sent.extend(raw.rest())

    probe = through(answer, Stream.from_iterable(Tracked([1, 2], LookupError("gone"))))
    assert (type(probe.error), str(probe.error)) == (LookupError, "gone")
    assert sent == [Payload(1, b"2"), ErrorFrame(1, Code.APPLICATION_ERROR, "LookupError: gone")]
