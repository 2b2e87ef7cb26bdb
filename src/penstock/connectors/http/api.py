"""api: the functions that users call to read from servers and to send to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import httpx

from penstock.connectors.http.asking import HttpCaller, Tries, without_secrets
from penstock.connectors.http.event_lines import ServerEvent
from penstock.connectors.http.events import OpenEvents
from penstock.connectors.http.next_page import ByLink, HttpPage
from penstock.connectors.http.pages import OpenPages
from penstock.connectors.http.sockets import Dial, OpenSending, OpenSocket
from penstock.connectors.reading import feeding, reading
from penstock.connectors.writing import writing
from penstock.engine.words.arguments import count_given, function_given, of_class
from penstock.operators.resumable import UNCOMMITTED
from penstock.sinks.sink import Sink
from penstock.stream import Stream

RETRY = Tries()
BY_LINK = ByLink()
NO_HEADERS: Mapping[str, str] = {}
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


def pages(
    first: str,
    *,
    next: Callable[[HttpPage], str | None] = BY_LINK,  # noqa: A002  it is what it says
    items: str | Callable[[HttpPage], Sequence[Any]] | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    retry: Tries = RETRY,
    timeout: float = 30.0,
    client: Callable[[], httpx.AsyncClient] | None = None,
    window: int = UNCOMMITTED,
) -> Stream[Any]:
    """Emit the elements of an interface that gives JSON page by page; a resumable stream.

    A page is asked for when all of the page before was given and more is asked for; one page is held. A position is the
    address of a page and how many of its elements came. A server that is busy (429, 5xx) or cannot be reached is asked
    again, not before it wants (`Retry-After`); what it refuses (other 4xx) is an `HttpError`.

    Args:
        first: The address of the first page.
        next: Gives the address of the page behind a page, None behind the last: `ByLink()`, `ByCursor("meta.next")` or
            a function. It must be on the same server.
        items: Where in a page the elements are, as `data.items`, or a function that gives them; the page itself is a
            list if not said.
        headers: What is sent with each request.
        retry: How often a request is made, and how long to wait between.
        timeout: How many seconds to wait for an answer.
        client: Makes the client of a run, for certificates, proxies and the like; it is closed with the run.
        window: How many elements of a run may not be done at a time.

    Raises:
        TypeError: `next` or `client` is not callable, or `first` or a header is no text.
        ValueError: `first` is no address, a header cannot be sent, or a number is too small.
    """
    _address("pages", "first", first, ("http", "https"))
    function_given("pages", "next", next)
    if isinstance(next, type):
        raise TypeError(f"pages: next must be a function, got {next!r}{of_class(next)}")
    if items is not None and not isinstance(items, str):
        function_given("pages", "items", items)
    caller = _caller("pages", headers, retry, timeout, client)
    return reading(OpenPages(first, next, items, caller), window=window, notes=False)


def events(
    url: str,
    *,
    headers: Mapping[str, str] = NO_HEADERS,
    retry: Tries = RETRY,
    timeout: float = 30.0,
    client: Callable[[], httpx.AsyncClient] | None = None,
    window: int = UNCOMMITTED,
) -> Stream[ServerEvent]:
    """Emit the events that a server sends (server-sent events); a resumable stream, if the server gives ids.

    A connection that breaks is made again, after as long as the server wants (`retry:`), and goes on behind the last id
    (`Last-Event-ID`). Backpressures by not reading: what the server has sent waits in about 200 KiB of this process and
    in the buffers of TCP, and then the server waits. Completes when the server answers with status 204.

    Args:
        url: The address.
        headers: What is sent with each request.
        retry: How often to connect in a row without an event; its `most` is the longest pause that the server may want.
        timeout: How many seconds to wait for the beginning of an answer; events may be any time apart.
        client: Makes the client of a run, for certificates, proxies and the like; it is closed with the run.
        window: How many elements of a run may not be done at a time.

    Raises:
        TypeError: `client` is not callable, or `url` or a header is no text.
        ValueError: `url` is no address, a header cannot be sent, or a number is too small.
    """
    _address("events", "url", url, ("http", "https"))
    return reading(OpenEvents(url, _caller("events", headers, retry, timeout, client)), window=window, notes=False)


def websocket(
    url: str,
    *,
    greeting: Iterable[str | bytes] = (),
    retry: Tries | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    largest: int = 1024 * 1024,
    timeout: float = 30.0,
    connect: Callable[..., Any] | None = None,
) -> Stream[str | bytes]:
    """Emit the messages of a websocket, texts and bytes, from then on.

    Backpressures by not reading: 16 messages wait in this process, and then the server waits. Completes when the server
    closes the connection as it should, and fails if it is lost. What is sent while there is no connection is gone.

    Args:
        url: The address, as `ws://localhost:8765`.
        greeting: Messages that are sent when the connection is made, to subscribe to something.
        retry: How to connect again when the connection is lost; without it the stream fails.
        headers: What is sent with the first request.
        largest: How many bytes a message may have.
        timeout: How many seconds to wait for a connection.
        connect: Connects in the place of `websockets.asyncio.client.connect`, with the same arguments.

    Raises:
        TypeError: `connect` is not callable, or `url` or a header is no text.
        ValueError: `url` is no address, a header cannot be sent, or a number is too small.
    """
    dial = _dial("websocket", url, headers, largest, timeout, connect)
    return feeding(OpenSocket(dial, tuple(greeting), retry))


def to_websocket(
    url: str,
    *,
    batch: int = 100,
    seconds: float | None = 0.1,
    headers: Mapping[str, str] = NO_HEADERS,
    timeout: float = 30.0,
    connect: Callable[..., Any] | None = None,
) -> Sink[str | bytes, int]:
    """Send the elements, texts and bytes, as messages over a websocket; the result is how many.

    A batch is done when the other side has read it: it answers a ping that is sent behind it. A server that reads
    slowly makes the run wait. What the server sends is left out.

    Args:
        url: The address, as `ws://localhost:8765`.
        batch: How many messages are sent before an answer is waited for; as many more wait.
        seconds: How long the first message of a batch waits until the batch is sent, full or not.
        headers: What is sent with the first request.
        timeout: How many seconds to wait for a connection.
        connect: Connects in the place of `websockets.asyncio.client.connect`, with the same arguments.

    Raises:
        TypeError: `connect` is not callable, or `url` or a header is no text.
        ValueError: `url` is no address, a header cannot be sent, or a number is too small.
    """
    count_given("to_websocket", "batch", batch, 1)
    dial = _dial("to_websocket", url, headers, 1024 * 1024, timeout, connect)
    return writing(OpenSending(dial), size=batch, seconds=seconds)


def _caller(
    function: str, headers: Mapping[str, str], retry: Tries, timeout: float, client: Callable[[], Any] | None
) -> HttpCaller:
    _seconds(function, timeout)
    if client is not None:
        function_given(function, "client", client)
    return HttpCaller(_headers(function, headers), retry, timeout, client)


def _dial(function: str, url: str, headers: Mapping[str, str], largest: int, timeout: float, connect: Any) -> Dial:
    _address(function, "url", url, ("ws", "wss"))
    _seconds(function, timeout)
    count_given(function, "largest", largest, 1)
    if connect is not None:
        function_given(function, "connect", connect)
    return Dial(url, _headers(function, headers), largest, timeout, connect)


def _headers(function: str, given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what can be sent, and refuse the rest here: what refuses it later would show the value."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{function}: headers must be a mapping of names to values, got {type(given).__name__}")
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"{function}: the name of a header has letters, digits and hyphens, got {name!r}")
        if not isinstance(value, str):
            raise TypeError(f"{function}: the header {name!r} must be a text, got {type(value).__name__}")
        if not _VALUE.fullmatch(value):
            raise ValueError(
                f"{function}: the header {name!r} must be ASCII without a line end, and without spaces around it, "
                "which strip() takes off"
            )
    return tuple(given.items())


def _seconds(function: str, timeout: float) -> None:
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(f"{function}: timeout must be > 0, got {timeout!r}")


def _address(function: str, name: str, value: str, schemes: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{function}: {name} must be a text, got {value!r}")
    if not value.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        got = without_secrets(repr(value))
        raise ValueError(f"{function}: {name} must begin with {schemes[0]}:// or {schemes[1]}://, got {got}")


__all__ = ["events", "pages", "to_websocket", "websocket"]
