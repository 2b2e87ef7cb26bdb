"""conftest: a real browser, and requests to a page without one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, sync_playwright

from penstock.page import Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> str:
    found = os.environ.get("PENSTOCK_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "these tests need Chromium: run scripts/ensure-browser"
    return found


# Of a module, not of the session: while Playwright is open, asyncio takes its loop for one that runs on this thread.
@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"),
            executable_path=chromium(),
            args=list(FLAGS),
            headless=False,  # the flag says so, and says which kind
            accept_downloads=True,
            viewport={"width": 1280, "height": 900},
        )
        yield context
        context.close()


@pytest.fixture
def page() -> Iterator[Page]:
    with Page(every=0.05, say=False) as served:
        yield served


def ask(page: Page, path: str, method: str = "GET", **headers: str) -> HTTPResponse:
    """Ask a page as a program would; `_` in the name of a header stands for `-`."""
    connection = HTTPConnection("127.0.0.1", urlsplit(page.address).port or 0)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.text = answer.read().decode()  # type: ignore[attr-defined]
    connection.close()
    return answer


def token_of(page: Page) -> str:
    return page.address.partition("token=")[2]
