"""app: what the application answers, and how a browser that is slow gets the newest frame and no backlog."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from penstock.page.app import STATIC, PageApp
from penstock.page.door import PageDoor
from penstock.page.history import History
from penstock.page.watch import PageWatch

TOKEN = {"x-penstock-token": "secret"}


def made() -> tuple[PageWatch, PageApp]:
    watch = PageWatch(History(), lambda: 0.0)
    return watch, PageApp(watch, PageDoor(8080, "secret"))


class Browser:
    """One request to an application; it takes what is sent when it is told to."""

    def __init__(
        self, app: PageApp, path: str, query: str = "token=secret", method: str = "GET", **headers: str
    ) -> None:
        given = {"host": "127.0.0.1:8080"} | {name.replace("_", "-"): value for name, value in headers.items()}
        self.scope = {
            "type": "http", "method": method, "path": path, "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }  # fmt: skip
        self.app = app
        self.sent: list[dict[str, Any]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.left = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        await self.open.wait()
        self.sent.append(message)

    async def ask(self) -> Browser:
        await self.app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def text(self) -> str:
        return b"".join(each["body"] for each in self.sent[1:]).decode()

    def numbers(self) -> list[int]:
        return [
            json.loads(line.removeprefix("data: "))["number"]
            for event in self.text.split("\n\n")
            if event.startswith("event: frame")
            for line in event.splitlines()[1:]
        ]


def asked(path: str, *args: Any, **headers: Any) -> Browser:
    async def ask() -> Browser:
        return await Browser(made()[1], path, *args, **headers).ask()

    return asyncio.run(ask())


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "path", ["/", "/history", "/shell", "/events", *(f"/static/{name}" for name in STATIC), "/nothing"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_is_answered_without_the_token(path: str, method: str) -> None:
    refused = asked(path, "", method)
    assert (refused.status, refused.text) == (403, "the token is missing or wrong\n")
    assert "set-cookie" not in refused.headers


@pytest.mark.parametrize("path", ["/", "/history", "/shell", *(f"/static/{name}" for name in STATIC)])
def test_everything_is_kept_apart_from_other_sites(path: str) -> None:
    found = asked(path)
    assert found.status == 200
    assert found.headers["content-security-policy"].startswith(
        "default-src 'none'; script-src 'self'; style-src 'self';"
    )
    assert "unsafe" not in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["x-frame-options"] == "DENY"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert found.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in found.headers


def test_page_gives_the_browser_the_cookie_and_its_scripts_the_token() -> None:
    found = asked("/")
    assert found.headers["set-cookie"] == "penstock_8080=secret; Path=/; HttpOnly; SameSite=Strict"
    assert '<meta name="penstock-token" content="secret">' in found.text
    assert "http:" not in found.text.replace("http-equiv", "")


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/app.py", "/static/", "/static/page.html", "/other"])
def test_other_paths_are_not_there(path: str) -> None:
    found = asked(path)
    assert (found.status, found.text) == (404, "there is no such page\n")


@pytest.mark.parametrize("path", ["/stop/r1", "/cancel/r9", "/stop", "/stop/", "/pause/r1", "/stop/r1/more", "/"])
def test_runs_that_are_not_there_cannot_be_controlled(path: str) -> None:
    found = asked(path, "", "POST", **TOKEN)
    assert (found.status, found.text) == (404, "there is no such run\n")


def test_stream_of_events_has_the_newest_frame_and_ends_when_the_page_is_closed() -> None:
    async def look_on() -> Browser:
        watch, app = made()
        browser = Browser(app, "/events")
        watch.look(0.0)
        asking = asyncio.ensure_future(browser.ask())
        await until(lambda: len(browser.sent) == 2)
        assert app.browsers == 1
        watch.look(1.0)
        app.publish()
        await until(lambda: len(browser.sent) == 3)
        app.close()
        await asking
        assert app.browsers == 0
        return browser

    found = asyncio.run(look_on())
    assert found.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert found.numbers() == [1, 2]
    assert found.text.endswith("event: closed\ndata: {}\n\n")


def test_slow_browser_gets_the_newest_frame_and_misses_those_between() -> None:
    async def look_on() -> Browser:
        watch, app = made()
        browser = Browser(app, "/events")
        watch.look(0.0)
        asking = asyncio.ensure_future(browser.ask())
        await until(lambda: len(browser.sent) == 2)
        browser.open.clear()  # it takes nothing now
        for moment in range(500):
            watch.look(float(moment))
            app.publish()
            await asyncio.sleep(0)
        browser.open.set()
        await until(lambda: browser.numbers()[-1] == 501)
        app.close()
        await asking
        return browser

    found = asyncio.run(look_on()).numbers()
    assert found[0] == 1
    assert found[-1] == 501
    assert len(found) <= 3  # the first, the one that was on its way, and the newest


def test_browser_that_leaves_is_forgotten() -> None:
    async def look_on() -> int:
        watch, app = made()
        browser = Browser(app, "/events")
        watch.look(0.0)
        asking = asyncio.ensure_future(browser.ask())
        await until(lambda: len(browser.sent) == 2)
        browser.left.set()
        await asking
        return app.browsers

    assert asyncio.run(look_on()) == 0


def test_what_is_no_request_is_left_alone() -> None:
    async def other() -> list[Any]:
        browser = Browser(made()[1], "/")
        browser.scope["type"] = "websocket"
        return (await browser.ask()).sent

    assert asyncio.run(other()) == []
