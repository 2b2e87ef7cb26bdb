"""pages: the elements of an interface that gives them page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

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
        same_server(self.first, url)
        return PageReader(self, self.caller.connect(), url, count)

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
        if None in found:
            raise HttpError(
                f"pages: {page.url}: null is not an element (rule 2.13); say items= to leave it out", page.url
            )
        return found


class PageReader:
    """The pages of one run: a page is asked for when all of the one before was given and more is asked for."""

    def __init__(self, options: OpenPages, client: httpx.AsyncClient, url: str, count: int) -> None:
        self._options = options
        self._client = client
        self._url: str | None = url
        self._skip = count
        self._page: Sequence[tuple[Place, Any]] = ()
        self._at = 0

    async def fetch(self, most: int, /) -> Sequence[tuple[Place, Any]] | None:
        """Give of the page that is here, or ask for the next."""
        while self._at >= len(self._page):
            if self._url is None:
                return None
            await self._turn(self._url)
        at, self._at = self._at, min(self._at + most, len(self._page))
        return self._page[at : self._at]

    async def _turn(self, url: str) -> None:
        response = await self._options.caller.ask(self._client, url)
        try:
            page = HttpPage(url, response.headers, response.json())
        except ValueError as error:
            raise HttpError(f"pages: {url} is no JSON: {error}: {response.text[:100]!r}", url) from error
        elements = self._options.elements(page)
        following = self._options.next(page)
        if following is not None:
            following = str(httpx.URL(url).join(following))
            same_server(self._options.first, following)
            if following == url:
                raise HttpError(f"pages: the page behind {url} is that page again; next= must lead on", url)
        self._page = Positioned(elements, MadeWhenRead(partial(_place, url), range(1, len(elements) + 1)))
        self._at, self._skip = min(self._skip, len(elements)), 0
        self._url = following

    async def commit(self, position: Place, /) -> None:
        """Do nothing: the server does not ask, and the checkpoint of the run keeps the position."""

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _place(url: str, number: int) -> Place:
    return [url, number]


def same_server(first: str, url: str) -> None:
    """Refuse an address on another server, which would be sent the headers that are meant for this one."""
    ours, theirs = httpx.URL(first), httpx.URL(url)
    if (ours.scheme, ours.host, ours.port) != (theirs.scheme, theirs.host, theirs.port):
        raise HttpError(f"pages: the next page must be on the server of {first}, got {url}", url)


__all__ = ["OpenPages", "PageReader"]
