"""events: what a server sends event by event, through every break."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock import Sink
from penstock.connectors import http
from penstock.connectors.http.event_lines import LONGEST, EventParser
from penstock.run.resumption import Resumption
from tests.connectors.http.server import Request, answer, http_server

QUICK = http.Tries(count=4, pause=0.002, most=5.0)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\nretry: 2\n"


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_read_however_they_are_cut(size: int, end: str) -> None:
    lines = ["\ufeffdata: ä", "", ": comment", "", "event: tick", "id: 7", "data:a", "data: b", "data", "", "id",
             "data: ", "", "retry: 1500", "retry: x", "unknown: 1", "data:  c", "", "data: unfinished"]  # fmt: skip
    data = (end.join(lines) + end).encode()
    parser = EventParser()
    found = [event for at in range(0, len(data), size) for event in parser.feed(data[at : at + size])]
    assert found == [
        http.ServerEvent("ä"), http.ServerEvent("a\nb\n", "tick", "7"), http.ServerEvent(""), http.ServerEvent(" c"),
    ]  # fmt: skip
    assert parser.retry == 1.5


def test_an_event_that_ends_with_a_carriage_return_does_not_wait_for_more() -> None:
    parser = EventParser()
    assert parser.feed(b"data: 1\r\r") == [http.ServerEvent("1")]
    assert parser.feed(b"\ndata: 2\r\n") == []
    assert parser.feed(b"\r") == [http.ServerEvent("2")]
    assert parser.feed(b"") == parser.feed(b"\n") == []
    assert parser.feed(b"data: 3\n\n") == [http.ServerEvent("3")]


def test_a_pause_that_no_number_is_large_enough_for_is_for_ever() -> None:
    parser = EventParser()
    assert parser.feed(b"retry: %s\n\n" % (b"9" * 5000)) == []
    assert parser.retry == float("inf")


def test_an_event_that_does_not_end_is_refused() -> None:
    for chunk in (b"data: " + b"x" * LONGEST, b"data: 1234567\n" * (LONGEST // 7), b"data\n" * (LONGEST + 2)):
        with pytest.raises(http.EventError, match=rf"^events: an event must have at most {LONGEST} bytes, got more: "):
            EventParser().feed(chunk)


def counting(most: int, every: int, ids: int = 1) -> Any:
    """Count on behind the last id, and break the connection every so often."""

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        number = int(request.headers.get("last-event-id", "0")) + 1
        if number > most:
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            return
        writer.write(HEAD)
        for each in range(number, min(number + every, most + 1)):
            writer.write(f"id: {each}\n".encode() if each % ids == 0 else b"")
            writer.write(f"data: {each}\n\n".encode())
            await writer.drain()

    return handle


@pytest.mark.proves("http.events", "the connection breaks again and again", "nothing lost, nothing twice, by ids")
def test_a_broken_connection_goes_on_behind_the_last_id() -> None:
    with http_server(counting(100, 7)) as server:
        assert [int(event.data) for event in http.events(server.url)] == list(range(1, 101))
        assert len(server.requests) == 16


def test_a_restart_goes_on_behind_every_position() -> None:
    with http_server(counting(6, 4)) as server:
        pairs = list(Resumption.of(http.events(server.url)).open())
        for number, (position, _) in enumerate(pairs):
            rest = list(Resumption.of(http.events(server.url)).open(position))
            assert rest == pairs[number + 1 :]
        assert [position for position, _ in pairs] == [[[str(n), 1], 0] for n in range(1, 7)]


def test_events_without_an_id_between_those_with_one_come_once() -> None:
    with http_server(counting(20, 8, ids=3)) as server:
        events = Resumption.of(http.events(server.url)).open()
        pairs = list(events.take(20))
        assert [int(event.data) for _, event in pairs] == list(range(1, 21))
        rest = list(Resumption.of(http.events(server.url)).open(pairs[9][0]).take(10))
        assert [int(event.data) for _, event in rest] == list(range(11, 21))


@contextmanager
def events_process(most: int, hold: int, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a server in a process of its own, and kill it at the latest when the block is left."""
    command = [sys.executable, "-m", "tests.connectors.http.events_server", str(port), str(most), str(hold)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.proves("http.events", "kill -9 of the server, once", "goes on behind the last id when it is back")
def test_a_server_that_was_killed_and_comes_back_is_gone_on_with() -> None:
    halfway, got = threading.Event(), []

    def note(event: http.ServerEvent) -> None:
        got.append(int(event.data))
        if len(got) == 300:
            halfway.set()

    with events_process(1000, hold=300) as (process, port):
        tries = http.Tries(count=1000, pause=0.01, most=1.0)
        run = (http.events(f"http://127.0.0.1:{port}/", retry=tries) | Sink.for_each(note)).run()
        assert halfway.wait(60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
    with events_process(1000, hold=0, port=port):
        assert run.wait(60) == 1000
    assert got == list(range(1, 1001))


def test_a_server_that_sends_nothing_is_given_up() -> None:
    async def empty(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)

    with http_server(empty) as server:
        with pytest.raises(http.HttpError) as caught:
            list(http.events(server.url, retry=QUICK))
        assert str(caught.value) == f"events: {server.url} gave no event in 4 tries, the last one: the answer ended"
        assert len(server.requests) == 4


@pytest.mark.parametrize("endless", [False, True], ids=["silent", "endless"])
def test_a_refusal_that_does_not_end_is_not_waited_for(endless: bool) -> None:
    """A server that is busy begins to say why, and then says nothing more, or does not stop."""

    async def busy(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\n\r\nbecause")
        while endless:
            writer.write(b" and" * 10_000)
            await writer.drain()
        await writer.drain()
        await asyncio.Event().wait()

    with http_server(busy) as server:
        with pytest.raises(http.HttpError) as caught:
            list(http.events(server.url, retry=http.Tries(count=1), timeout=60.0 if endless else 2.0))
        assert str(caught.value) == (
            f"http: {server.url} gave no answer in 1 tries, the last one: status 503 Service Unavailable"
        )


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        ("403 Forbidden", "text/plain", "http: {url} is refused with status 403 Forbidden: 'x'"),
        ("403 Forbidden", "text/plain; charset=hex", "http: {url} is refused with status 403 Forbidden: 'x'"),
        ("200 OK", "text/html", "events: {url} must answer with text/event-stream, got 'text/html'"),
    ],
)
@pytest.mark.proves("http.events", "bad credentials, or no event stream", "a clear error at once")
def test_what_is_no_stream_of_events_is_named(status: str, kind: str, message: str) -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        answer(writer, b"x", status, content_type=kind)

    with http_server(handle) as server:
        with pytest.raises(http.HttpError) as caught:
            list(http.events(server.url, retry=QUICK))
        assert str(caught.value) == message.format(url=server.url)
        assert len(server.requests) == 1


def test_a_server_that_encodes_what_it_was_not_asked_to_is_named() -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        answer(writer, b"x", content_type="text/event-stream", content_encoding="gzip")

    with http_server(handle) as server:
        with pytest.raises(http.HttpError) as caught:
            list(http.events(server.url, retry=QUICK))
        assert str(caught.value) == (
            f"events: {server.url} must answer with text/event-stream, got 'text/event-stream' encoded as 'gzip', "
            "which was not asked for"
        )


def test_the_kind_of_an_answer_may_be_written_in_capitals() -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        if len(server.requests) > 1:
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            answer(writer, b"retry: 0\ndata: a\n\n", content_type="Text/Event-Stream; charset=UTF-8")

    with http_server(handle) as server:
        assert [event.data for event in http.events(server.url, retry=QUICK)] == ["a"]


@pytest.mark.proves("http.events", "a consumer that stops asking", "the server has to wait")
@pytest.mark.proves("http.events", "cancel", "the connection is closed")
def test_a_server_waits_for_a_slow_consumer() -> None:
    sent = 0
    waits = threading.Event()

    async def flood(request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD)
        while True:
            writer.write(b"data: " + b"x" * 1000 + b"\n\n")
            sent += 1
            try:
                await asyncio.wait_for(asyncio.shield(writer.drain()), 1)
            except TimeoutError:
                waits.set()
                await writer.drain()

    with http_server(flood) as server:
        reading = iter(http.events(server.url))
        next(reading)
        assert waits.wait(120)
        assert sent < 20_000  # megabytes of TCP's buffers, and no more: it would send for ever
        held = sent
        for _ in range(held + 1000):
            next(reading)
        assert sent > held
        reading.close()
        while server.open:
            threading.Event().wait(0.005)


@pytest.mark.parametrize("text", ["größe 7", " 7\t", "7 "])
def test_an_id_may_hold_any_text(text: str) -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        if "last-event-id" in request.headers:
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            writer.write(HEAD + f"id: {text}\ndata: a\n\n".encode())

    with http_server(handle) as server:
        assert [event.id for event in http.events(server.url)] == [text]
        assert server.requests[1].headers["last-event-id"] == text.strip()
