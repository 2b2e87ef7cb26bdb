"""asking: a request that is made again while the server cannot answer it, and is given up in the end."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from penstock.connectors.http.trust import trusted
from penstock.errors import PenstockError

LARGEST = 64 * 1024 * 1024
"""How many bytes the answer to one request may have."""
_SAID = 64 * 1024
"""How many bytes of a refusal are read before the rest is left alone."""
BROKEN = (httpx.TransportError, httpx.DecodingError)
"""What an answer raises that does not come, breaks off, or comes damaged."""

_LOGIN = re.compile(r"(?<=://)[^/?#\s'\"]*@")
_QUERY = re.compile(r"(?P<before>://[^?#\s'\"]*\?)(?P<query>[^#\s'\"]+)")


def without_secrets(text: str, *addresses: str) -> str:
    """Return a text without the names, the passwords and the values of queries that stand in its addresses.

    Addresses that are known to stand there are found whatever characters they have.

    >>> without_secrets("http://ann:secret@example.org/a@b?page=2&key=secret is refused")
    'http://example.org/a@b?page=...&key=... is refused'
    """
    for address in addresses:
        path, _, query = address.partition("?")
        if query:
            text = text.replace(address, f"{path}?{_names(query)}")
    return _QUERY.sub(lambda found: found["before"] + _names(found["query"]), _LOGIN.sub("", text))


def _names(query: str) -> str:
    """Return a query with dots for its values, and for what has no name."""
    pairs = (part.partition("=") for part in query.split("&"))
    return "&".join(f"{name}=..." if equals else "..." for name, equals, _ in pairs)


class HttpError(PenstockError):
    """The error of a server that refused a request, or did not answer it in all the tries; `status` 0 is no answer.

    Names and passwords that stand in an address are not shown, nor are the values of its query, of which one may be a
    key.
    """

    def __init__(self, message: str, url: str, status: int = 0) -> None:
        super().__init__(without_secrets(message, url))
        self.url = without_secrets(url, url)
        self.status = status

    def __reduce__(self) -> tuple[type[HttpError], tuple[str, str, int]]:
        return (type(self), (str(self), self.url, self.status))


@dataclass(frozen=True, slots=True)
class Tries:
    """How often a request is made, and how long to wait between: twice as long each time, and a random part of it less.

    A server that says `Retry-After` is obeyed.

    >>> [Tries(pause=1.0).longest_pause(tries) for tries in (1, 2, 3, 20)]
    [1.0, 2.0, 4.0, 60.0]
    """

    count: int = 6
    """How often a request is made at most without an answer."""
    pause: float = 0.5
    """How many seconds to wait at most before the second try."""
    most: float = 60.0
    """How many seconds to wait at most, whatever the server says: it is a failure if that wants more."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"http: count must be >= 1, got {self.count!r}")
        if not (0 < self.pause <= self.most):
            raise ValueError(f"http: pause must be > 0 and most at least as long, got {self.pause!r} and {self.most!r}")

    def longest_pause(self, tries: int) -> float:
        """Return how many seconds to wait at most behind so many tries."""
        return float(min(self.pause * 2 ** min(tries - 1, 30), self.most))

    async def wait(self, tries: int, said: float | None) -> None:
        """Wait as the server said, or between half of the longest pause and the whole."""
        longest = self.longest_pause(tries)
        await asyncio.sleep(random.uniform(longest / 2, longest) if said is None else said)  # spread, not secret


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return how many seconds a server wants to be left alone, said as seconds or as a date.

    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> retry_after({"retry-after": "3"}, now), retry_after({"retry-after": "Thu, 01 Jan 2026 00:00:05 GMT"}, now)
    (3.0, 5.0)
    """
    text = headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer that was read to its end."""

    response: httpx.Response
    content: bytes

    @property
    def text(self) -> str:
        """Return the content as text, whatever it is."""
        return as_text(self.response, self.content)


@dataclass(frozen=True, slots=True)
class HttpCaller:
    """How requests are made: with which client, headers and patience; a value, as all that a stream is made of."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # which may hold secrets
    retry: Tries = Tries()
    timeout: float = 30.0
    client: Callable[[], httpx.AsyncClient] | None = None

    def connect(self) -> httpx.AsyncClient:
        """Make the client of a run."""
        if self.client is not None:
            return self.client()
        return httpx.AsyncClient(timeout=self.timeout, verify=trusted())

    async def ask(self, client: httpx.AsyncClient, at: httpx.URL) -> HttpAnswer:
        """Get an answer with all of its content."""
        tries = 0
        while True:
            tries += 1
            said: float | None = None
            try:
                response, content = await self._answer(client, at)
            except BROKEN as error:
                reason, status = f"{type(error).__name__}: {error}".rstrip(": "), 0
            else:
                if response.is_success:
                    return HttpAnswer(response, content)
                refuse_for_good(str(at), response, content)
                reason, status = f"status {response.status_code} {response.reason_phrase}", response.status_code
                said = retry_after(response.headers, datetime.now(UTC))
            await self.pause(str(at), tries, reason, status, said)

    async def pause(self, url: str, tries: int, reason: str, status: int, said: float | None = None) -> None:
        """Wait before the next try, or fail if there is none."""
        if tries >= self.retry.count:
            raise HttpError(f"http: {url} gave no answer in {tries} tries, the last one: {reason}", url, status)
        if said is not None and said > self.retry.most:
            raise HttpError(
                f"http: {url} wants to be left alone for {said:.0f} seconds ({reason}), and Tries(most=) is "
                f"{self.retry.most:.0f}",
                url,
                status,
            )
        await self.retry.wait(tries, said)

    async def _answer(self, client: httpx.AsyncClient, url: httpx.URL) -> tuple[httpx.Response, bytes]:
        async with client.stream("GET", url, headers=[*self.headers] or None) as response:
            chunks, size = list[bytes](), 0
            async for chunk in response.aiter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if size > LARGEST:
                    said = f"http: {url} answers with more than {LARGEST} bytes; ask for smaller pages"
                    raise HttpError(said, str(url))
            return response, b"".join(chunks)


def as_text(response: httpx.Response, content: bytes) -> str:
    """Return the content of an answer as text, whatever it is and whatever the server calls it."""
    try:
        return content.decode(response.charset_encoding or "utf-8", "replace")
    except (LookupError, ValueError):  # no encoding at all, or one that is not for texts
        return content.decode("utf-8", "replace")


async def what_is_said(response: httpx.Response, seconds: float) -> bytes:
    """Return what the server says to a refusal: the beginning, as far as it comes in so many seconds."""
    content = b""
    try:
        async with asyncio.timeout(seconds):
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) >= _SAID:
                    break
    except (*BROKEN, TimeoutError):
        pass  # the status says enough
    return content


def refuse_for_good(url: str, response: httpx.Response, content: bytes) -> None:
    """Raise what will not get better by asking again: 4xx but for 408 and 429, and 3xx."""
    status = response.status_code
    if status >= 500 or status in (408, 429):
        return
    if status in (301, 302, 303, 307, 308):
        to = response.headers.get("location", "")
        raise HttpError(f"http: {url} has moved to {to!r} (status {status}); give that address", url, status)
    said = as_text(response, content).strip()[:200]
    raise HttpError(f"http: {url} is refused with status {status} {response.reason_phrase}: {said!r}", url, status)


__all__ = [
    "BROKEN", "HttpAnswer", "HttpCaller", "HttpError", "Tries", "refuse_for_good", "retry_after", "what_is_said",
    "without_secrets",
]  # fmt: skip
