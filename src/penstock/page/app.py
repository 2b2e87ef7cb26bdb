"""app: the ASGI application of a page: one page, what belongs to it, a stream of events, and two controls.

A browser that is slower than the frames come gets the newest one and misses those before: nothing is queued for it. The
server's own flow control holds the next one back until the last has been taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from penstock.page.door import PageDoor, PageRequest
from penstock.page.export import shell
from penstock.page.watch import PageWatch

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

KINDS = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml"}
STATIC = (
    "page.css",
    "dom.js",
    "figures.js",
    "layout.js",
    "graph.js",
    "timeline.js",
    "tables.js",
    "page.js",
    "icon.svg",
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
KEPT_APART = (
    ("cache-control", "no-store"),
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
)
HEARTBEAT = 5.0
"""Seconds after which a stream of events without news says that it is alive."""


def static(name: str) -> str:
    """Return a file of the page as text."""
    return files("penstock.page").joinpath("static", name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that is sent as a whole."""

    body: str
    kind: str = "text/plain"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


class PageApp:
    """The application of one page; all of it runs on the server's loop."""

    def __init__(self, watch: PageWatch, door: PageDoor) -> None:
        self._watch = watch
        self._door = door
        self._news: set[asyncio.Event] = set()
        self._closed = False
        self.browsers = 0
        """How many streams of events are open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        asked = PageRequest(
            scope["method"],
            scope["path"],
            scope["query_string"].decode("latin-1"),
            {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        )
        refusal = self._door.refusal(asked)
        if refusal is not None:
            await _send(send, _Answer(f"{refusal}\n", status=403))
        elif asked.path == "/events" and asked.method == "GET":
            await self._events(receive, send)
        else:
            await _send(send, self._answer(asked))

    def publish(self) -> None:
        """Wake the streams of events: there is a new frame."""
        for each in self._news:
            each.set()

    def close(self) -> None:
        """End the streams of events, after the newest frame."""
        self._closed = True
        self.publish()

    def _answer(self, asked: PageRequest) -> _Answer:
        name = asked.path.removeprefix("/static/")
        if asked.method == "POST":
            return self._controlled(asked.path)
        if asked.path == "/":
            whole = static("page.html").replace("{{token}}", self._door.token)
            return _Answer(whole, KINDS["html"], headers=(("set-cookie", self._door.set_cookie()),))
        if asked.path == "/history":
            return _Answer(self._watch.history.whole(), "application/json")
        if asked.path == "/shell":
            return _Answer(shell(static), KINDS["html"], headers=(("content-disposition", "attachment"),))
        if asked.path.startswith("/static/") and name in STATIC:
            return _Answer(static(name), KINDS[name.rpartition(".")[2]])
        return _Answer("there is no such page\n", status=404)

    def _controlled(self, path: str) -> _Answer:
        _, what, key, *rest = [*path.split("/"), "", ""]
        act = {"stop": self._watch.stop, "cancel": self._watch.cancel}.get(what)
        if act is None or any(rest) or not act(key):
            return _Answer("there is no such run\n", status=404)
        return _Answer("done\n")

    async def _events(self, receive: Receive, send: Send) -> None:
        news = asyncio.Event()
        self._news.add(news)
        self.browsers += 1
        gone = asyncio.ensure_future(_gone(receive, news))
        try:
            await _begin(send, 200, "text/event-stream")
            await self._tell(send, news, gone)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.browsers -= 1
            self._news.discard(news)
            gone.cancel()

    async def _tell(self, send: Send, news: asyncio.Event, gone: asyncio.Future[None]) -> None:
        version = trouble = number = 0
        while not gone.done():
            news.clear()
            closed = self._closed
            if self._watch.history.number > number:
                number = self._watch.history.number
                version, trouble, texts = self._watch.history.newest(version, trouble)
                await _write(send, "".join(f"event: {name}\ndata: {text}\n\n" for name, text in texts))
            if closed:
                await _write(send, "event: closed\ndata: {}\n\n")
                return
            try:
                await asyncio.wait_for(news.wait(), HEARTBEAT)
            except TimeoutError:
                await _write(send, ": alive\n\n")


async def _gone(receive: Receive, news: asyncio.Event) -> None:
    """Wait until the browser has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
    news.set()


async def _begin(send: Send, status: int, kind: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
    given = [("content-type", f"{kind}; charset=utf-8"), *KEPT_APART, *headers]
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given]
    await send({"type": "http.response.start", "status": status, "headers": encoded})


async def _write(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _send(send: Send, answer: _Answer) -> None:
    await _begin(send, answer.status, answer.kind, answer.headers)
    await send({"type": "http.response.body", "body": answer.body.encode()})
