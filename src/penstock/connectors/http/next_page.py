"""next_page: where the page behind a page is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx

from penstock.connectors.http.asking import HttpError

_LINK = re.compile(r"<([^>]*)>([^<]*)")
_NEXT = re.compile(r';\s*rel="?(?:[^";,]*\s)?next(?:\s[^";,]*)?"?\s*(?:[;,]|$)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HttpPage:
    """A page as the server gave it."""

    url: str
    """The address with which it was asked for."""
    headers: httpx.Headers
    body: Any
    """What its JSON says."""


@dataclass(frozen=True, slots=True)
class ByLink:
    """The address of the next page by the header `Link: <...>; rel="next"`.

    >>> ByLink()(HttpPage("http://a/b", httpx.Headers({"link": '<http://a/b?page=2>; rel="next"'}), []))
    'http://a/b?page=2'
    """

    def __call__(self, page: HttpPage) -> str | None:
        for target, rest in _LINK.findall(page.headers.get("link", "")):
            if _NEXT.search(rest):
                return str(target)
        return None


@dataclass(frozen=True, slots=True)
class ByCursor:
    """The address of the next page by a cursor in the page, which becomes a parameter of the query.

    >>> page = HttpPage("http://a/b?size=2", httpx.Headers(), {"meta": {"next": "xyz"}})
    >>> ByCursor("meta.next", parameter="after")(page)
    'http://a/b?size=2&after=xyz'
    """

    path: str
    """Where in the page the cursor is, as `meta.next`; there is no next page where that is missing, null or empty."""
    parameter: str = "cursor"

    def __call__(self, page: HttpPage) -> str | None:
        cursor = found_at(page.body, self.path)
        if cursor is None or cursor == "" or cursor is False:
            return None
        try:
            return str(httpx.URL(page.url).copy_set_param(self.parameter, cursor))
        except (ValueError, httpx.InvalidURL) as error:
            said = f"pages: {page.url}: {self.path!r} gives a cursor that no address can have, {cursor!r:.100}: {error}"
            raise HttpError(said, page.url) from error


def found_at(body: Any, path: str) -> Any:
    """Return what is at a place in a page, None if nothing is."""
    for name in path.split("."):
        if not isinstance(body, dict):
            return None
        body = body.get(name)
    return body


__all__ = ["ByCursor", "ByLink", "HttpPage", "found_at"]
