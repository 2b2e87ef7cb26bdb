"""A server takes garbage, breaches and strangers: each is told, reported, and harms nobody else."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import pytest

from penstock import Dropped, Stream
from penstock.bridges.rsocket import (
    ConnectionLostError,
    FrameError,
    Liveness,
    RejectedError,
    Server,
    connection,
    io_thread,
    remote,
    serve,
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
    Uncarried,
    encode,
)
from penstock.bridges.rsocket.metadata import AUTHENTICATION, composite
from penstock.errors import ProtocolError
from penstock.testing import Tracked
from tests.bridges.raw_rsocket import PATIENCE, Raw, raw_consumer, request, said, setup
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

failures: SimpleQueue[Exception] = SimpleQueue()


def watched(numbers: Stream[int]) -> Stream[int]:
    return numbers.tap(on_error=failures.put).map(lambda n: n + 1)


def unending(numbers: Stream[int]) -> Stream[int]:
    return numbers.concat(Stream.never())


@pytest.fixture
def numbers() -> Tracked[int]:
    return Tracked(range(1, 1000))


@pytest.fixture
def server(numbers: Tracked[int]) -> Iterator[Server]:
    channels = {"more": watched, "unending": unending}
    with serve({"numbers": Stream.from_iterable(numbers)}, channels=channels, largest=100_000) as server:
        yield server
        good = remote(server.address, "numbers", token=server.token).take(3)
        assert list(good) == [1, 2, 3], "the server goes on serving others"
        numbers.wait_until_closed()


def reported(dropped: list[Dropped], kind: type[Exception], text: str) -> None:
    """Take out the one thing that was reported."""
    [found] = dropped
    dropped.clear()
    assert isinstance(found.error, kind), found
    assert text in str(found.error)


def goes_on(raw: Raw, stream: int) -> bool:
    """Tell whether the connection still serves."""
    raw.send(request("numbers", 1, stream))
    found = raw.read() == Payload(stream, b"1")
    raw.send(Cancel(stream))
    return found


GARBAGE: dict[str, tuple[bytes, str]] = {
    "text of another protocol": (b"GET / HTTP/1.1\r\n\r\n", "a frame of 4670804 bytes, and 65536 are the limit"),
    "a length of zero": (b"\0\0\0", "a frame of 0 bytes, which is too short"),
    "an unknown type": (b"\0\0\6" + struct.pack(">IH", 0, 33 << 10), "a frame of the unknown type 33"),
    "a truncated setup": (b"\0\0\x08" + struct.pack(">IHH", 0, 1 << 10, 1), "a SETUP frame that is truncated"),
    "a stream id that is none": (b"\0\0\6" + b"\xff" * 6, "a frame for stream 4294967295"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_instead_of_a_setup_is_refused(name: str, server: Server, dropped: list[Dropped]) -> None:
    data, text = GARBAGE[name]
    host, port = server.address.removeprefix("tcp://").split(":")
    raw = Raw(socket.create_connection((host, int(port))))
    raw.send_bytes(data)
    stream, code, told = said(raw.read())
    assert (stream, code) == (0, Code.INVALID_SETUP)
    assert text in told
    assert raw.rest() == []
    raw.close()
    reported(dropped, RejectedError, text)


def test_a_consumer_that_is_gone_in_the_middle_of_a_frame_is_reported(
    server: Server, numbers: Tracked[int], dropped: list[Dropped]
) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("numbers", 1))
        assert raw.read() == Payload(1, b"1")
        raw.send_bytes(b"\0\1\0half")
        raw.socket.shutdown(socket.SHUT_WR)
        assert raw.rest() == []
        numbers.wait_until_closed()
    reported(dropped, ConnectionLostError, "it ended in the middle of a frame")


def test_whoever_connects_and_leaves_is_no_news(server: Server) -> None:
    host, port = server.address.removeprefix("tcp://").split(":")
    socket.create_connection((host, int(port))).close()


def test_whoever_connects_and_is_silent_is_sent_away(dropped: list[Dropped]) -> None:
    with serve({"numbers": Stream.range(3)}, keep_alive=Liveness(0.05, 0.1)) as server:
        host, port = server.address.removeprefix("tcp://").split(":")
        raw = Raw(socket.create_connection((host, int(port))))
        assert said(raw.read()) == (0, Code.INVALID_SETUP, "no SETUP frame came in time")
        raw.close()
    reported(dropped, RejectedError, "no SETUP frame came in time")


REFUSED: dict[str, tuple[dict[str, Any], Code, str]] = {
    "no token": ({"metadata": None}, Code.REJECTED_SETUP, "no token was shown; pass token="),
    "an empty token": ({"metadata": composite([(AUTHENTICATION, b"\x81")])}, Code.REJECTED_SETUP, "the token is wrong"),
    "a wrong token": ({"metadata": composite([(AUTHENTICATION, b"\x81guess")])}, Code.REJECTED_SETUP, "is wrong; pass"),
    "a password": ({"metadata": composite([(AUTHENTICATION, b"\x80\0\1ab")])}, Code.REJECTED_SETUP, "no token was"),
    "half metadata": ({"metadata": b"\xfc\0\0\x09ab"}, Code.INVALID_SETUP, "composite metadata that is truncated"),
    "metadata of another type": ({"metadata_mime": "text/plain"}, Code.REJECTED_SETUP, "no token was shown"),
    "another version": ({"major": 2}, Code.UNSUPPORTED_SETUP, "version 2.0 is not spoken here"),
    "a lease": ({"lease": True}, Code.UNSUPPORTED_SETUP, "not leased"),
    "another format": (
        {"data_mime": "text/plain"},
        Code.UNSUPPORTED_SETUP,
        "text/plain is not spoken here, application",
    ),
    "rare keep-alives": ({"interval": 95_000, "lifetime": 100_000}, Code.UNSUPPORTED_SETUP, "is too rare"),
    "no keep-alives": ({"interval": 0, "lifetime": 0}, Code.UNSUPPORTED_SETUP, "is too rare"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_setup_is_refused_with(name: str, server: Server, numbers: Tracked[int], dropped: list[Dropped]) -> None:
    changes, code, text = REFUSED[name]
    with raw_consumer(server, setup(server.token, **changes), request("numbers", 5)) as raw:
        stream, found, told = said(raw.read())
        assert (stream, found) == (0, code)
        assert text in told
        assert raw.rest() == []
    assert numbers.opened == 0
    assert server.token not in told
    reported(dropped, RejectedError, text)


def test_a_request_before_the_setup_is_refused(server: Server, numbers: Tracked[int], dropped: list[Dropped]) -> None:
    with raw_consumer(server, request("numbers", 5)) as raw:
        assert said(raw.read()) == (0, Code.INVALID_SETUP, "the first frame must be SETUP")
        assert raw.rest() == []
    assert numbers.opened == 0
    reported(dropped, RejectedError, "the first frame must be SETUP")


def test_resuming_is_refused(server: Server, dropped: list[Dropped]) -> None:
    with raw_consumer(server, Uncarried(0, Kind.RESUME)) as raw:
        assert said(raw.read())[1] == Code.REJECTED_RESUME
    reported(dropped, RejectedError, "connections are not resumed")


# After a good SETUP.

FATAL: dict[str, tuple[Any, str]] = {
    "an unknown type": (struct.pack(">IH", 1, 40 << 10), "a frame of the unknown type 40"),
    "a payload with nothing": (struct.pack(">IH", 1, 10 << 10), "neither an element nor an end"),
    "metadata longer than its frame": (
        struct.pack(">IHI", 1, 10 << 10 | 0x120, 2**31),
        "a PAYLOAD frame that is trunc",
    ),
    "a request without its number": (struct.pack(">IH", 1, 6 << 10), "a REQUEST_STREAM frame that is truncated"),
    "an even stream id": (request("numbers", 1, 2), "a request with the stream id 2: a client's are odd"),
    "stream id 0": (request("numbers", 1, 0), "a request with the stream id 0"),
    "truncated metadata": (Request(1, Kind.REQUEST_STREAM, 1, b"\xfe\0\0\x05"), "composite metadata that is truncated"),
    "a frame too large": (b"\0" * 165_537, "a frame of 165537 bytes, and 165536 are the limit"),
    "an element too large": (request("more", 1, 1, Kind.REQUEST_CHANNEL, b"x" * 100_001), "more than 100000 bytes"),
    "metadata too large": (Request(1, Kind.REQUEST_STREAM, 1, bytes(2**15 + 1)), "metadata of more than 32768 bytes"),
    "resuming": (Uncarried(0, Kind.RESUME), "a frame to resume"),
}


@pytest.mark.parametrize("name", FATAL)
def test_a_connection_is_closed_for(name: str, server: Server, dropped: list[Dropped]) -> None:
    frame, text = FATAL[name]
    with raw_consumer(server) as raw:
        raw.send(frame)
        stream, code, told = said(raw.read())
        assert (stream, code) == (0, Code.CONNECTION_ERROR)
        assert text in told
        assert raw.rest() == []
    reported(dropped, FrameError, text)


def test_pieces_without_end_are_bounded(server: Server, dropped: list[Dropped]) -> None:
    with raw_consumer(server) as raw:
        raw.send(Request(1, Kind.REQUEST_CHANNEL, 1, request("more").metadata, b"x" * 60_000, follows=True))
        raw.send(Payload(1, b"x" * 60_000, follows=True))
        assert "an element of more than 100000 bytes" in said(raw.read())[2]
        assert raw.rest() == []
    reported(dropped, FrameError, "an element of more than 100000 bytes")


def test_a_breach_cancels_the_streams_of_its_connection(
    server: Server, numbers: Tracked[int], dropped: list[Dropped]
) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("numbers", 2))
        raw.read_until(Payload)
        raw.send(b"garbage")
        raw.rest()
    numbers.wait_until_closed()
    reported(dropped, FrameError, "sent a frame")


def test_an_unknown_name_is_refused_and_the_connection_goes_on(server: Server) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("numbers!", 2))
        assert said(raw.read()) == (1, Code.REJECTED, "no stream 'numbers!' is served; these are: 'numbers'")
        raw.send(request("numbers", 2, 3, Kind.REQUEST_CHANNEL))
        assert said(raw.read()) == (3, Code.REJECTED, "no channel 'numbers' is served; these are: 'more', 'unending'")
        raw.send(Request(5, Kind.REQUEST_STREAM, 1))
        assert said(raw.read()) == (5, Code.REJECTED, "no name was given; these are: 'numbers'")
        assert goes_on(raw, 7)


def test_a_request_for_one_answer_is_refused_and_the_connection_goes_on(server: Server) -> None:
    with raw_consumer(server) as raw:
        raw.send(Uncarried(1, Kind.REQUEST_RESPONSE), Uncarried(3, Kind.REQUEST_FNF), Uncarried(0, Kind.LEASE))
        assert said(raw.read())[:2] == (1, Code.REJECTED)
        raw.send(MetadataPush(b"whatever"), setup("again"))
        assert goes_on(raw, 5)


def test_keep_alives_are_answered_with_their_data(server: Server) -> None:
    with raw_consumer(server) as raw:
        raw.send(KeepAliveFrame(respond=True, data=b"ping"), KeepAliveFrame(respond=False))
        assert raw.read() == KeepAliveFrame(respond=False, data=b"ping")


def test_a_slow_source_does_not_keep_a_server_from_showing_its_life() -> None:
    """The source goes on only after its consumer has had a keep-alive answered."""
    asked, alive = threading.Event(), threading.Event()

    def source() -> Iterator[bool]:
        asked.set()
        yield alive.wait(PATIENCE)

    with serve({"slow": lambda: Stream.from_iterable(source())}) as server, raw_consumer(server) as raw:
        raw.send(request("slow", 2))
        assert asked.wait(PATIENCE)
        raw.send(KeepAliveFrame(respond=True))
        assert isinstance(raw.read(), KeepAliveFrame)
        alive.set()
        assert raw.read_until(Payload) == Payload(1, b"true")
        assert raw.read() == Payload(1, complete=True, next=False)


def test_a_consumer_that_reads_nothing_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pieces of elements wait to be written than other frames may, and what the consumer says still arrives."""
    monkeypatch.setattr(connection, "MOST_WAITING", 8)
    window, given = 64, threading.Event()
    elements = Tracked(["x" * 500_000] * 2 * window, patience=PATIENCE)

    def source() -> Stream[str]:
        taken = Stream.from_iterable(elements).enumerate()
        return taken.tap(lambda pair: given.set() if pair[0] == window - 1 else None).map(lambda pair: pair[1])

    with serve({"large": source}, window=window) as server, raw_consumer(server) as raw:
        raw.send(request("large", 2 * window))
        assert given.wait(PATIENCE)
        raw.send(KeepAliveFrame(respond=False), Cancel(1))
        elements.wait_until_closed()
        raw.send(KeepAliveFrame(respond=True))
        raw.read_until(KeepAliveFrame)


def test_a_request_that_is_taken_back_in_the_middle_of_its_pieces_is_forgotten(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_STREAMS", 2)
    with raw_consumer(server) as raw:
        for stream in range(1, 9, 2):
            raw.send(replace(request("numbers", 1, stream), follows=True), Cancel(stream))
        assert goes_on(raw, 9)


def test_an_unknown_frame_that_may_be_ignored_is(server: Server) -> None:
    with raw_consumer(server) as raw:
        raw.send(struct.pack(">IH", 0, 40 << 10 | 0x200))
        assert goes_on(raw, 1)


def test_a_request_for_nothing_breaks_rule_3_9(server: Server, numbers: Tracked[int], dropped: list[Dropped]) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("numbers", 0))
        assert said(raw.read()) == (1, Code.INVALID, "ValueError: rule 3.9: request(0): a request must be positive")
        assert numbers.opened == 0
        raw.send(request("numbers", 2, 3), RequestN(3, 0))
        assert "rule 3.9" in said(raw.read_until(ErrorFrame))[2]
        numbers.wait_until_closed()
        assert goes_on(raw, 5)
    reported(dropped, FrameError, "a request that breaks a rule: rule 3.9: request(0): a request must be positive")


def test_a_request_for_nothing_in_the_middle_is_reported(
    server: Server, numbers: Tracked[int], dropped: list[Dropped]
) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("numbers", 2), RequestN(1, 0))
        assert "rule 3.9" in said(raw.read_until(ErrorFrame))[2]
        numbers.wait_until_closed()
    reported(dropped, FrameError, "a request that breaks a rule: rule 3.9: request(0): a request must be positive")


def test_frames_for_streams_that_nobody_opened_are_ignored_and_reported_once(
    server: Server, dropped: list[Dropped]
) -> None:
    with raw_consumer(server) as raw:
        raw.send(RequestN(9, 5), Cancel(7), Payload(0, b"1"), ErrorFrame(11, 1, "?"))
        assert goes_on(raw, 1)
    reported(dropped, FrameError, "a RequestN frame for stream 9, which was not opened")


def test_frames_that_were_on_their_way_when_a_stream_ended_are_ignored(server: Server, numbers: Tracked[int]) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("numbers", 1), Cancel(1), RequestN(1, 3), Cancel(1), Payload(1, b"1"))
        numbers.wait_until_closed()
        raw.send(KeepAliveFrame(respond=True))
        assert isinstance(raw.read_until(KeepAliveFrame), KeepAliveFrame)


def test_a_second_request_with_an_id_in_use_is_ignored_and_reported(
    server: Server, numbers: Tracked[int], dropped: list[Dropped]
) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("numbers", 1), request("numbers", 5))
        assert raw.read() == Payload(1, b"1")
        raw.send(RequestN(1, 1))
        assert raw.read() == Payload(1, b"2")
        assert numbers.opened == 1
        raw.send(Cancel(1))
        numbers.wait_until_closed()
    reported(dropped, FrameError, "a request with the stream id 1, which is in use")


def test_many_streams_share_a_connection(server: Server, numbers: Tracked[int]) -> None:
    with raw_consumer(server) as raw:
        raw.send(*(request("numbers", 2, stream) for stream in (1, 3, 5)))
        found = sorted((frame.stream, json.loads(frame.data)) for frame in (raw.read() for _ in range(6)))  # type: ignore[union-attr]
        assert found == [(1, 1), (1, 2), (3, 1), (3, 2), (5, 1), (5, 2)]
        raw.send(*(Cancel(stream) for stream in (1, 3, 5)))
        numbers.wait_until_closed()


# Channels.


def open_channel(raw: Raw, n: int = 1) -> None:
    raw.send(request("more", n, 1, Kind.REQUEST_CHANNEL, b"1"))


def test_a_channel_takes_its_first_element_and_asks_for_the_others(server: Server) -> None:
    with raw_consumer(server) as raw:
        open_channel(raw, 3)
        assert {raw.read(), raw.read()} == {Payload(1, b"2"), RequestN(1, 2)}
        raw.send(Payload(1, b"2"), Payload(1, b"3", complete=True))
        assert [raw.read() for _ in range(3)] == [
            Payload(1, b"3"), Payload(1, b"4"), Payload(1, complete=True, next=False),
        ]  # fmt: skip


def test_more_elements_than_a_channel_asked_for_break_rule_1_1(server: Server) -> None:
    with raw_consumer(server) as raw:
        open_channel(raw, 1)
        assert raw.read() == Payload(1, b"2")
        raw.send(Payload(1, b"2"))
        stream, code, text = said(raw.read_until(ErrorFrame))
        assert (stream, code) == (1, Code.INVALID)
        assert text == "ProtocolError: rule 1.1: the other side sent an element that was not requested"
        assert goes_on(raw, 3)
    assert isinstance(failures.get(timeout=PATIENCE), ProtocolError)


def test_an_element_after_the_end_of_a_channel_breaks_rule_1_7_and_is_reported_once(
    server: Server, dropped: list[Dropped]
) -> None:
    with raw_consumer(server) as raw:
        raw.send(Request(1, Kind.REQUEST_CHANNEL, 1, request("unending").metadata, b"1", complete=True))
        raw.send(Payload(1, b"2"), Payload(1, b"3"), KeepAliveFrame(respond=True))
        raw.read_until(KeepAliveFrame)
        raw.send(Cancel(1))
    assert [each.what for each in dropped] == ["rule 1.7: the other side sent an element after the end"]
    dropped.clear()


def test_a_request_for_nothing_fails_a_channel(server: Server) -> None:
    with raw_consumer(server) as raw:
        open_channel(raw, 1)
        assert raw.read() == Payload(1, b"2")
        raw.send(RequestN(1, 0))
        assert "rule 3.9" in said(raw.read_until(ErrorFrame))[2]
    assert "rule 3.9" in str(failures.get(timeout=PATIENCE))


def test_a_failure_of_the_consumer_fails_the_flow(server: Server) -> None:
    with raw_consumer(server) as raw:
        open_channel(raw, 2)
        raw.read_until(RequestN)
        raw.send(ErrorFrame(1, Code.APPLICATION_ERROR, "KeyError: 'valve'"))
        failure = failures.get(timeout=PATIENCE)
    assert (type(failure), str(failure)) == (KeyError, "'valve'")


def test_a_consumer_that_is_lost_fails_the_flow(server: Server, dropped: list[Dropped]) -> None:
    with raw_consumer(server) as raw:
        open_channel(raw, 2)
        raw.read_until(RequestN)
    assert isinstance(failures.get(timeout=PATIENCE), ConnectionLostError)
    reported(dropped, ConnectionLostError, "closed the connection")


def test_an_element_that_is_not_json_fails_the_flow(server: Server) -> None:
    with raw_consumer(server) as raw:
        raw.send(request("more", 1, 1, Kind.REQUEST_CHANNEL, b"{"))
        stream, code, text = said(raw.read_until(ErrorFrame))
        assert (stream, code) == (1, Code.APPLICATION_ERROR)
        assert text.startswith("FrameError: rsocket: the other side sent an element that is not application/json")
    assert isinstance(failures.get(timeout=PATIENCE), FrameError)


def test_text_messages_of_a_websocket_are_refused(dropped: list[Dropped]) -> None:
    from websockets.sync.client import connect

    with serve({"numbers": Stream.range(3)}, transport="websocket") as server:
        with connect(server.address, proxy=None) as socket:
            socket.send("hello")
            assert b"a text, where frames are bytes" in socket.recv()
        reported(dropped, RejectedError, "a text, where frames are bytes")
        with connect(server.address, proxy=None) as socket:
            socket.send(encode(setup(server.token)))
            socket.send(b"garbage")
            assert b"a frame of the unknown type" in socket.recv()
        [found] = dropped
        dropped.clear()
        assert isinstance(found.error, FrameError)
        assert list(remote(server.address, "numbers", token=server.token)) == [0, 1, 2]


def test_whoever_is_just_being_let_in_when_a_server_closes_is_told() -> None:
    """The I/O thread is held up until connections wait, and closes the server so many turns of its loop later."""
    for turns in range(8):
        server = serve({"numbers": Stream.range(3)})
        io = io_thread.lease()
        held, waiting = threading.Event(), threading.Event()

        def hold(held: threading.Event = held, waiting: threading.Event = waiting) -> None:
            held.set()
            waiting.wait(PATIENCE)

        def close(turns: int, server: Server = server, io: io_thread.IoThread = io) -> None:
            if turns:
                io.loop.call_soon(close, turns - 1)
            else:
                server.close()

        io.call(hold)
        assert held.wait(PATIENCE)
        host, port = server.address.removeprefix("tcp://").split(":")
        raws = [Raw(socket.create_connection((host, int(port)))) for _ in range(3)]
        io.call(close, turns)
        waiting.set()
        for raw in raws:
            raw.rest()  # ends
            raw.close()
        io.release()
