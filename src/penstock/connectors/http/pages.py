"""pages: the elements of an interface that gives them page by page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from operator import is_
from typing import Any
from urllib.parse import urljoin

import httpx

from penstock.connectors.http.asking import HttpCaller, HttpError
from penstock.connectors.http.next_page import HttpPage, found_at
from penstock.operators.resumable import MadeWhenRead, Positioned

Place = list[Any]


@dataclass(frozen=True, slots=True)
class OpenPages:
    """What opens the pages of a run."""

    first: str = field(repr=False)  # which may hold a login
    next: Callable[[HttpPage], str | None]
    items: str | Callable[[HttpPage], Sequence[Any]] | None
    caller: HttpCaller

    async def __call__(self, after: Place | None, /) -> PageReader:
        url, count = self.first, 0
        if after is not None:
            if not isinstance(after, list) or len(after) != 2 or not isinstance(after[0], str):
                raise ValueError(f"pages: a position is [address, count], got {after!r:.100}")
            url, count = after
        at = httpx.URL(url)
        same_server(self.first, origin(httpx.URL(self.first)), at)
        return PageReader(self, self.caller.connect(), at, url, count)

    def elements(self, page: HttpPage) -> Sequence[Any]:
        """Return the elements of a page."""
        items = self.items
        found = items(page) if callable(items) else page.body if items is None else found_at(page.body, items)
        if not isinstance(found, list | tuple):
            where = "the page" if items is None else repr(items)
            names = f"it has {sorted(page.body)}" if isinstance(page.body, dict) else "it is no object"
            raise HttpError(
                f"pages: {page.url}: {where} must be a list, got {found!r:.100}; {names}; say items=", page.url
            )
        if any(map(is_, found, repeat(None))):
            raise HttpError(
                f"pages: {page.url}: null is not an element (rule 2.13); say items= to leave it out", page.url
            )
        return found


class PageReader:
    """The pages of one run: a page is asked for when all of the one before was given and more is asked for."""

    def __init__(self, options: OpenPages, client: httpx.AsyncClient, at: httpx.URL, url: str, count: int) -> None:
        self._options = options
        self._client = client
        self._origin = origin(httpx.URL(options.first))
        self._following: tuple[httpx.URL, str] | Exception | None = (at, url)
        """The address of the next page, and how it is written in positions; or why there is none."""
        self._skip = count
        self._page: Sequence[tuple[Place, Any]] = ()
        self._at = 0

    async def fetch(self, most: int, /) -> Sequence[tuple[Place, Any]] | None:
        """Give of the page that is here, or ask for the next."""
        while self._at >= len(self._page):
            following = self._following
            if following is None:
                return None
            if isinstance(following, Exception):
                raise following
            await self._turn(*following)
        at, page = self._at, self._page
        self._at = min(at + most, len(page))
        if self._at == len(page):
            self._page, self._at = (), 0  # it is not held while the next one is read
        return page[at : at + most]

    async def _turn(self, at: httpx.URL, url: str) -> None:
        answer = await self._options.caller.ask(self._client, at)
        try:
            page = HttpPage(url, answer.response.headers, json.loads(answer.content))
        except (ValueError, RecursionError) as error:
            raise HttpError(f"pages: {url} is no JSON: {error}: {answer.text[:100]!r}", url) from error
        elements = self._options.elements(page)
        try:
            self._following = self._behind(page)
        except Exception as error:  # noqa: BLE001  told behind the elements of this page
            self._following = error
        self._page = Positioned(elements, MadeWhenRead(partial(_place, url), range(1, len(elements) + 1)))
        self._at, self._skip = min(self._skip, len(elements)), 0

    def _behind(self, page: HttpPage) -> tuple[httpx.URL, str] | None:
        """Return the address of the page behind a page."""
        given = self._options.next(page)
        if given is None:
            return None
        try:
            at = httpx.URL(urljoin(page.url, given))
        except (ValueError, TypeError, httpx.InvalidURL) as error:
            raise HttpError(
                f"pages: next= must give an address or None, got {given!r:.100}: {error}", page.url
            ) from error
        following = str(at)
        same_server(self._options.first, self._origin, at)
        if following == page.url:
            raise HttpError(f"pages: the page behind {page.url} is that page again; next= must lead on", page.url)
        return at, following

    async def commit(self, position: Place, /) -> None:
        """Do nothing: the server does not ask, and the checkpoint of the run keeps the position."""

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _place(url: str, number: int) -> Place:
    return [url, number]


def origin(url: httpx.URL) -> tuple[str, str, int | None]:
    """Return which server an address is on."""
    return url.scheme, url.host, url.port


def same_server(first: str, ours: tuple[str, str, int | None], theirs: httpx.URL) -> None:
    """Refuse an address on another server, which would be sent the headers that are meant for this one."""
    if ours != origin(theirs):
        raise HttpError(f"pages: the next page must be on the server of {first}, got {theirs}", str(theirs))


__all__ = ["OpenPages", "PageReader"]
