"""The crossings by memory object streams: the end, a failure and a cancel travel with what is closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import anyio

from penstock import Stream
from penstock.bridges.anyio import from_memory_stream, to_memory_stream
from tests.bridges.crossing_asyncio import crossing
from tests.bridges.crossings import Crossing

SIZE = 4


async def by_memory_stream(stream: Stream[Any], size: float = SIZE) -> AsyncIterator[Any]:
    sender, receiver = anyio.create_memory_object_stream[Any](size)

    async def fill() -> None:
        await (stream | to_memory_stream(sender))

    filling = asyncio.ensure_future(fill())
    received = aiter(from_memory_stream(receiver))
    try:
        async for element in received:
            yield element
    finally:
        await received.aclose()  # type: ignore[attr-defined]
        await asyncio.wait([filling])  # which ends by itself, as nobody receives any more
        filling.exception()


async def by_one_without_room(stream: Stream[Any]) -> AsyncIterator[Any]:
    async for element in by_memory_stream(stream, 0):
        yield element


CROSSINGS = [
    Crossing("memory object stream", crossing(by_memory_stream), window=SIZE + 2),
    Crossing("memory object stream without room", crossing(by_one_without_room), window=2),
]
