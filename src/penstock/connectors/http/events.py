"""events: what a server sends in one answer that does not end, and in another one after each break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from penstock.connectors.http.asking import HttpCaller, HttpError, refuse_for_good, retry_after, what_is_said
from penstock.connectors.http.event_lines import EventParser, ServerEvent

Place = list[Any]

RETRY = 3.0
"""How many seconds pass before the server is connected to again, unless it says another number."""


@dataclass(frozen=True, slots=True)
class OpenEvents:
    """What opens the events of a run."""

    url: str = field(repr=False)  # which may hold a login
    caller: HttpCaller

    async def __call__(self, after: Place | None, /) -> EventReader:
        if after is not None and (not isinstance(after, list) or len(after) != 2 or not isinstance(after[0], str)):
            raise ValueError(f"events: a position is [id, count], got {after!r:.100}")
        last_id, count = after or ["", 0]
        return EventReader(self, last_id, count)


class EventReader:
    """The events of one run; a position is the last id, and how many events have come since that have none."""

    def __init__(self, options: OpenEvents, last_id: str, count: int) -> None:
        self._options = options
        self._client = options.caller.connect()
        self._last_id = last_id
        self._count = count
        self._tries = 0
        self._retry = RETRY
        self._parser = EventParser()
        self._chunks: AsyncIterator[bytes] | None = None
        self._skip = 0
        self._answer = AsyncExitStack()
        self._ready: list[tuple[Place, ServerEvent]] = []
        self._at = 0

    async def fetch(self, most: int, /) -> Sequence[tuple[Place, ServerEvent]] | None:
        """Give what has come, or read on; a break is mended by another connection that goes on behind the last id."""
        while self._at >= len(self._ready):
            try:
                if self._chunks is None and not await self._connect():
                    return None
                assert self._chunks is not None
                chunk = await anext(self._chunks, None)
            except (httpx.TransportError, TimeoutError) as error:
                await self._mend(f"{type(error).__name__}: {error}".rstrip(": "))
                continue
            if chunk is None:
                await self._mend("the answer ended")
                continue
            self._ready, self._at = self._numbered(self._parser.feed(chunk)), 0
            self._retry = self._retry if self._parser.retry is None else self._parser.retry
            if self._ready:
                self._tries = 0
        at, self._at = self._at, min(self._at + most, len(self._ready))
        return self._ready[at : self._at]

    def _numbered(self, events: list[ServerEvent]) -> list[tuple[Place, ServerEvent]]:
        found: list[tuple[Place, ServerEvent]] = []
        for event in events:
            if event.id != self._last_id:
                self._last_id, self._count, self._skip = event.id, 0, 0
            elif self._skip:
                self._skip -= 1  # it was had before the break
                continue
            self._count += 1
            found.append(([event.id, self._count], event))
        return found

    async def _connect(self) -> bool:
        """Connect behind the last id; False if the server wants no more of it."""
        url, caller = self._options.url, self._options.caller
        headers: list[tuple[str, Any]] = [
            *caller.headers,
            ("accept", "text/event-stream"),
            ("accept-encoding", "identity"),
        ]
        headers.append(("cache-control", "no-store"))
        if self._last_id.strip(" \t"):  # which no value of a header begins or ends with
            headers.append(("last-event-id", self._last_id.strip(" \t").encode()))
        while True:
            self._tries += 1
            # Between two events there may be hours; the beginning of the answer is what is waited for.
            timeout = httpx.Timeout(caller.timeout, read=None)
            opening = self._client.stream("GET", url, headers=headers, timeout=timeout)
            async with asyncio.timeout(caller.timeout):
                response = await self._answer.enter_async_context(opening)
            if response.status_code == 204:
                return False
            if response.is_success:
                break
            refuse_for_good(url, response, await what_is_said(response, caller.timeout))
            said = retry_after(response.headers, datetime.now(UTC))
            reason = f"status {response.status_code} {response.reason_phrase}"
            await self._answer.aclose()
            await caller.pause(url, self._tries, reason, response.status_code, said)
        kind, encoding = _media_type(response), response.headers.get("content-encoding", "identity").lower()
        if kind != "text/event-stream" or encoding != "identity":
            so = "" if encoding == "identity" else f" encoded as {encoding!r}, which was not asked for"
            raise HttpError(
                f"events: {url} must answer with text/event-stream, got {kind!r}{so}", url, response.status_code
            )
        self._parser = EventParser()
        self._parser.last_id = self._last_id
        self._skip = max(self._count - 1, 0) if self._last_id else 0  # the event that has the id is not sent again
        self._chunks = response.aiter_raw()
        return True

    async def _mend(self, reason: str) -> None:
        """Let go of a broken connection, and wait before the next."""
        self._chunks = None
        await self._answer.aclose()
        retry = self._options.caller.retry
        if self._tries >= retry.count:
            url = self._options.url
            raise HttpError(f"events: {url} gave no event in {self._tries} tries, the last one: {reason}", url)
        await asyncio.sleep(min(self._retry, retry.most))

    async def commit(self, position: Place, /) -> None:
        """Do nothing: the server does not ask, and the checkpoint of the run keeps the position."""

    async def close(self) -> None:
        """Close the connection."""
        try:
            await self._answer.aclose()
        finally:
            await self._client.aclose()


def _media_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


__all__ = ["EventReader", "OpenEvents"]
