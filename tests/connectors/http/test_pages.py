"""pages: an interface that gives elements page by page, and one that is busy, broken or gone."""

from __future__ import annotations

import asyncio
import gzip
import json
import pickle
import re
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from penstock import Sink
from penstock.connectors import http
from penstock.run.resumption import Resumption
from penstock.testing import Probe, check_resumable
from tests.connectors.http.server import Request, answer, http_server

SIZE = 2
QUICK = http.Tries(count=4, pause=0.002, most=5.0)


def page_of(request: Request) -> int:
    return int(parse_qs(urlsplit(request.path).query).get("page", ["0"])[0])


def numbers(page: int) -> bytes:
    return json.dumps(list(range(page * SIZE, (page + 1) * SIZE))).encode()


async def linked(request: Request, writer: asyncio.StreamWriter) -> None:
    """Answer with five pages, of which the third is empty, that lead on by a link."""
    page = page_of(request)
    link = {"link": f'</a?page={page - 1}>; rel="prev", </a?page={page + 1}>; rel="next"'} if page < 4 else {}
    answer(writer, b"[]" if page == 2 else numbers(page), **link)


async def cursored(request: Request, writer: asyncio.StreamWriter) -> None:
    cursor = int(parse_qs(urlsplit(request.path).query).get("cursor", ["0"])[0])
    after = cursor + 3 if cursor < 9 else None
    answer(writer, json.dumps({"data": {"items": [cursor, cursor + 1, cursor + 2]}, "next": after}).encode())


LINKED = [n for n in range(5 * SIZE) if n // SIZE != 2]


@pytest.mark.proves("http.pages", "restart from every position", "the rest, in the same order")
def test_links_lead_through_all_pages_from_every_position() -> None:
    with http_server(linked) as server:
        assert list(http.pages(f"{server.url}/a")) == LINKED
        check_resumable(lambda: http.pages(f"{server.url}/a"))


def test_a_cursor_leads_through_all_pages() -> None:
    with http_server(cursored) as server:
        stream = http.pages(f"{server.url}/a?x=1", next=http.ByCursor("next"), items="data.items")
        assert list(stream) == list(range(12))
        assert [request.path for request in server.requests] == ["/a?x=1", *(f"/a?x=1&cursor={n}" for n in (3, 6, 9))]
        assert pickle.loads(pickle.dumps(stream)) == stream


def test_a_function_leads_through_all_pages() -> None:
    with http_server(cursored) as server:
        stream = http.pages(
            server.url,
            next=lambda page: None if page.body["next"] is None else f"?cursor={page.body['next']}",
            items=lambda page: page.body["data"]["items"],
        )
        assert list(stream) == list(range(12))


def test_a_page_is_asked_for_when_its_elements_are() -> None:
    with http_server(linked) as server:
        probe = Probe[int]()
        http.pages(f"{server.url}/a").subscribe(probe)
        probe.request(SIZE)
        assert probe.wait_for(SIZE) == [0, 1]
        assert len(server.requests) == 1
        probe.request(1)
        assert probe.wait_for(SIZE + 1) == [0, 1, 2]
        assert len(server.requests) == 2
        probe.cancel()


def test_a_secret_in_a_header_is_sent_and_not_shown() -> None:
    with http_server(linked) as server:
        stream = http.pages(f"{server.url}/a", headers={"authorization": "Bearer hidden"})
        assert stream.take(1).get() == 0
        assert server.requests[0].headers["authorization"] == "bearer hidden"
        assert "hidden" not in repr(stream)


_NOT_TO_BE_SENT = (
    "the header 'authorization' must be ASCII without a line end, and without spaces around it, which strip() takes off"
)


@pytest.mark.parametrize("of", [http.pages, http.events, http.websocket, http.to_websocket])
@pytest.mark.parametrize(
    ("headers", "error", "message"),
    [
        (
            {"authorization": "Bearer hidden\n"},
            ValueError,
            _NOT_TO_BE_SENT,
        ),
        (
            {"authorization": "hiddén"},
            ValueError,
            _NOT_TO_BE_SENT,
        ),
        ({"authorization": b"hidden"}, TypeError, "the header 'authorization' must be a text, got bytes"),
        ({"a b": "hidden"}, ValueError, "the name of a header has letters, digits and hyphens, got 'a b'"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_and_not_shown(
    of: Callable[..., object], headers: dict[str, Any], error: type[Exception], message: str
) -> None:
    address = "http://localhost" if of in (http.pages, http.events) else "ws://localhost"
    with pytest.raises(error, match=rf"^{of.__name__}: {re.escape(message)}$"):
        of(address, headers=headers)
    of(address, headers={"x-none": "", "x-all": "a\tb c~"})


@pytest.mark.parametrize("query", ["key=hidden", "page=2&key=it's hidden", "hidden", "key=a=hidden&more"])
def test_a_secret_in_a_query_is_sent_and_not_shown(query: str) -> None:
    async def refuse(request: Request, writer: asyncio.StreamWriter) -> None:
        answer(writer, b"no", "403 Forbidden")

    with http_server(refuse) as server:
        stream = http.pages(f"{server.url}/a?{query}")
        with pytest.raises(http.HttpError, match=r"/a\?.*\.\.\.") as raised:
            list(stream)
        assert "hidden" in server.requests[0].path
    shown = f"{raised.value!r} {raised.value} {raised.value.url} {stream!r}"
    assert "hidden" not in shown


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize("date", [False, True])
@pytest.mark.proves("http.pages", "429 or 503 with Retry-After", "asked again after that time")
def test_a_busy_server_is_left_alone_as_long_as_it_wants(status: str, date: bool) -> None:
    seen: list[datetime] = []

    async def busy(request: Request, writer: asyncio.StreamWriter) -> None:
        seen.append(datetime.now(UTC))
        if len(seen) == 1:
            at = format_datetime(seen[0] + timedelta(seconds=2), usegmt=True) if date else "1"
            answer(writer, b"", status, retry_after=at)
        else:
            answer(writer, b"[1]")

    with http_server(busy) as server:
        assert list(http.pages(server.url, retry=QUICK)) == [1]
    assert len(seen) == 2
    if not date:  # its part of a second may be cut off in a date
        assert seen[1] - seen[0] >= timedelta(seconds=1)


@pytest.mark.parametrize(
    "garbage", ["soon", "-1", "Thu, 01 Jan 2026 00:00:05 +99999999999999999", "Thu, 01 Jan 2026 99999999999:00:05 GMT"]
)
def test_a_busy_server_that_does_not_say_how_long_is_asked_again(garbage: str) -> None:
    async def busy(request: Request, writer: asyncio.StreamWriter) -> None:
        if len(server.requests) == 1:
            answer(writer, b"", "503 Service Unavailable", retry_after=garbage)
        else:
            answer(writer, b"[1]")

    with http_server(busy) as server:
        assert list(http.pages(server.url, retry=QUICK)) == [1]


@pytest.mark.proves("http.pages", "connection errors and 5xx", "asked again, a bound on the tries")
def test_a_server_that_fails_now_and_then_is_asked_again() -> None:
    async def flaky(request: Request, writer: asyncio.StreamWriter) -> None:
        if len(server.requests) % 3 == 1:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[1,")  # and the connection is gone
        elif len(server.requests) % 3 == 2:
            answer(writer, b"no", "502 Bad Gateway")
        else:
            await linked(request, writer)

    with http_server(flaky) as server:
        assert list(http.pages(f"{server.url}/a", retry=QUICK)) == LINKED


def test_an_answer_that_comes_damaged_is_asked_for_again() -> None:
    async def damaged(request: Request, writer: asyncio.StreamWriter) -> None:
        whole = gzip.compress(b"[1, 2]")
        answer(writer, whole if len(server.requests) == 3 else whole[::-1], content_encoding="gzip")

    with http_server(damaged) as server:
        assert list(http.pages(server.url, retry=QUICK)) == [1, 2]
        assert len(server.requests) == 3


def test_an_answer_that_is_damaged_each_time_is_named() -> None:
    async def damaged(request: Request, writer: asyncio.StreamWriter) -> None:
        answer(writer, b"[1, 2]", content_encoding="gzip")

    with http_server(damaged) as server:
        message = f"http: {server.url} gave no answer in 4 tries, the last one: DecodingError: "
        with pytest.raises(http.HttpError, match=f"^{message}"):
            list(http.pages(server.url, retry=QUICK))


def test_a_server_may_send_any_header_while_it_is_busy() -> None:
    async def busy(request: Request, writer: asyncio.StreamWriter) -> None:
        if len(server.requests) == 1:
            answer(writer, b"", "503 Service Unavailable", x_reason="größer")
        else:
            answer(writer, b"[1]")

    with http_server(busy) as server:
        assert list(http.pages(server.url, retry=QUICK)) == [1]


@pytest.mark.parametrize("cursor", ["\\ud800", "x" * 70_000], ids=["surrogate", "long"])
def test_a_cursor_that_no_address_can_have_is_told_behind_its_page(cursor: str) -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        answer(writer, f'{{"items": [1, 2], "next": "{cursor}"}}'.encode())

    with http_server(handle) as server:
        found: list[int] = []
        message = rf"^pages: {server.url}: 'next' gives a cursor that no address can have, '"
        with pytest.raises(http.HttpError, match=message):
            http.pages(server.url, next=http.ByCursor("next"), items="items").for_each(found.append).get()
        assert found == [1, 2]


def test_an_address_that_cannot_be_followed_is_told_behind_its_page() -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        answer(writer, b"[1, 2]", link="</>; rel=next")

    with http_server(handle) as server:
        found: list[int] = []
        with pytest.raises(http.HttpError, match=r"is that page again"):
            http.pages(f"{server.url}/").for_each(found.append).get()
        assert found == [1, 2]


def test_tries_have_an_end() -> None:
    async def broken(request: Request, writer: asyncio.StreamWriter) -> None:
        answer(writer, b"no", "500 Internal Server Error")

    with http_server(broken) as server:
        with pytest.raises(http.HttpError) as caught:
            list(http.pages(server.url, retry=QUICK))
        assert str(caught.value) == (
            f"http: {server.url} gave no answer in 4 tries, the last one: status 500 Internal Server Error"
        )
        assert len(server.requests) == 4
        assert pickle.loads(pickle.dumps(caught.value)).status == 500


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(
            http.HttpError, match=rf"^http: {url} gave no answer in 4 tries, the last one: ConnectError: "
        ):
            list(http.pages(url, retry=QUICK))


Answers = Callable[[asyncio.StreamWriter], None]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (lambda w: answer(w, b"who?", "401 Unauthorized"),
         "http: {url} is refused with status 401 Unauthorized: 'who?'"),
        (lambda w: answer(w, b"no", "400 Bad Request", content_type="text/plain; charset=hex"),
         "http: {url} is refused with status 400 Bad Request: 'no'"),
        (lambda w: answer(w, b"no", "400 Bad Request", content_type="text/plain; charset=undefined", x_a="größer"),
         "http: {url} is refused with status 400 Bad Request: 'no'"),
        (lambda w: answer(w, b"", "404 Not Found"),
         "http: {url} is refused with status 404 Not Found: ''"),
        (lambda w: answer(w, b"", "302 Found", location="/b"),
         ("http: {url} has moved to '/b' (status 302); give that "
         "address")),
        (lambda w: answer(w, b"", "429 Too Many", retry_after="99"),
         ("http: {url} wants to be left alone for 99 seconds "
         "(status 429 Too Many), and Tries(most=) is 5")),
        (lambda w: answer(w, b"<html>"),
         "pages: {url} is no JSON: Expecting value: line 1 column 1 (char 0): '<html>'"),
        (lambda w: answer(w, b"[" * 100_000),
         ("pages: {url} is no JSON: maximum recursion depth exceeded while decoding a JSON array from a unicode "
         f"string: '{'[' * 100}'")),
        (lambda w: answer(w, b'{"b": 1, "a": 2}'),
         ("pages: {url}: the page must be a list, got {{'b': 1, 'a': 2}}; it "
         "has ['a', 'b']; say items=")),
        (lambda w: answer(w, b"[null]"),
         "pages: {url}: null is not an element (rule 2.13); say items= to leave it out"),
        (lambda w: answer(w, b"[1]", link="<http://192.0.2.1/>; rel=next"),
         ("pages: the next page must be on the server "
         "of {url}, got http://192.0.2.1/")),
        (lambda w: answer(w, b"[1]", link="</a>; rel=next"),
         ("pages: the page behind {url} is that page again; next= must "
         "lead on")),
        (lambda w: answer(w, b"[1]", link="<http://[b/>; rel=next"),
         "pages: next= must give an address or None, got 'http://[b/': Invalid IPv6 URL"),
    ],
)  # fmt: skip
@pytest.mark.proves("http.pages", "bad credentials, or a page that is none", "a clear error at once")
def test_what_asking_again_would_not_mend_is_told_at_once(answers: Answers, message: str) -> None:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        answers(writer)

    with http_server(handle) as server:
        url = f"{server.url}/a"
        with pytest.raises(http.HttpError) as caught:
            list(http.pages(url, retry=QUICK))
        assert str(caught.value) == message.format(url=url)
        assert len(server.requests) == 1


@pytest.mark.proves("http.pages", "cancel", "the connection is closed")
def test_a_cancel_closes_the_connection() -> None:
    asked = threading.Event()

    async def silent(request: Request, writer: asyncio.StreamWriter) -> None:
        asked.set()
        while not writer.is_closing() and writer.transport.get_extra_info("socket") is not None:
            await asyncio.sleep(0.005)
            writer.write(b" ")
            await writer.drain()

    with http_server(silent) as server:
        run = (http.pages(server.url) | Sink.count()).run()
        assert asked.wait(60)
        run.cancel()
        while server.open:
            threading.Event().wait(0.005)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: http.pages("ftp://a"), "pages: first must begin with http:// or https://, got 'ftp://a'"),
        (lambda: http.pages(1), "pages: first must be a text, got 1"),
        (lambda: http.pages("http://a", next=1), "pages: next must be callable, got 1"),
        (lambda: http.pages("http://a", timeout="1"), "pages: timeout must be > 0, got '1'"),
        (
            lambda: http.pages("http://a", next=http.ByLink),
            f"pages: next must be a function, got {http.ByLink!r}; that is a class: make one of it, as ByLink(...)",
        ),
        (lambda: http.pages("http://a", timeout=0), "pages: timeout must be > 0, got 0"),
        (lambda: http.Tries(count=0), "http: count must be >= 1, got 0"),
        (lambda: http.Tries(pause=0), "http: pause must be > 0 and most at least as long, got 0 and 60.0"),
        (lambda: http.events("ws://a"), "events: url must begin with http:// or https://, got 'ws://a'"),
        (lambda: http.websocket("http://a"), "websocket: url must begin with ws:// or wss://, got 'http://a'"),
        (lambda: http.to_websocket("ws://a", batch=0), "to_websocket: batch must be >= 1, got 0"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_when_they_are_given(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("place", ["a", [1, 2], [["x"], 1]])
def test_a_position_of_something_else_is_refused(place: Any) -> None:
    with pytest.raises(ValueError, match=r"^pages: a position is \[address, count\], got "):
        list(Resumption.of(http.pages("http://127.0.0.1:1/")).open([place, 0]))


async def many(request: Request, writer: asyncio.StreamWriter) -> None:
    page = page_of(request)
    body = json.dumps(list(range(page * 10_000, (page + 1) * 10_000))).encode()
    answer(writer, body, link=f"</a?page={page + 1}>; rel=next" if page < 99 else "</>; rel=prev")


@pytest.mark.proves(
    "http.pages", "a million elements, a slow consumer", "one page in memory, the server asked on demand"
)
def test_a_million_elements_with_one_page_in_memory() -> None:
    ahead = total = 0

    def watch(number: int) -> int:
        nonlocal ahead
        ahead = max(ahead, len(server.requests) - (number // 10_000 + 1))
        return number

    with http_server(many) as server:
        total = http.pages(f"{server.url}/a").map(watch).reduce(lambda a, b: a + b, 0).get()
    assert total == sum(range(1_000_000))
    assert ahead <= 1
