"""The crossings by what asyncio has: a task fills it, and an asynchronous generator empties it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from penstock import Stream
from penstock.bridges.asyncio import from_queue, from_reader, to_queue, to_writer
from tests.bridges.crossings import Crossing
from tests.engine.watch import PATIENCE

SIZE = 4
LENGTH = 65536


class Anew:
    """Be an asynchronous iterable that starts anew for each subscriber, and knows how many are under way."""

    def __init__(self, make: Callable[[], AsyncIterator[Any]]) -> None:
        self._make = make
        self._open = 0
        self._changed = threading.Condition()

    async def __aiter__(self) -> AsyncIterator[Any]:
        self._count(1)
        items = self._make()
        try:
            async for item in items:
                yield item
        finally:
            try:
                await items.aclose()  # type: ignore[attr-defined]
            finally:
                self._count(-1)

    def _count(self, change: int) -> None:
        with self._changed:
            self._open += change
            self._changed.notify_all()

    def wait_until_over(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: not self._open, PATIENCE)


async def give_up(filling: asyncio.Task[Any]) -> None:
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)


async def by_queue(stream: Stream[Any]) -> AsyncIterator[Any]:
    queue: asyncio.Queue[Any] = asyncio.Queue(SIZE)

    async def fill() -> None:
        await (stream | to_queue(queue))

    filling = asyncio.ensure_future(fill())
    try:
        async for element in from_queue(queue):
            yield element
    finally:
        await give_up(filling)


async def by_wire(stream: Stream[Any]) -> AsyncIterator[Any]:
    ours, theirs = socket.socketpair()
    writers: list[asyncio.StreamWriter] = []
    try:
        for each in (ours, theirs):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LENGTH // 2)
        reader, back = await asyncio.open_connection(sock=theirs, limit=LENGTH)
        writers.append(back)
        _, writer = await asyncio.open_connection(sock=ours)
        writers.append(writer)
        lines = over_wire(stream, reader, writer)
        try:
            async for line in lines:
                yield line
        finally:
            await lines.aclose()  # type: ignore[attr-defined]
    finally:
        for each in writers:
            each.close()
        await asyncio.gather(*[each.wait_closed() for each in writers], return_exceptions=True)
        ours.close()
        theirs.close()


async def over_wire(
    stream: Stream[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> AsyncIterator[Any]:
    async def fill() -> None:
        try:
            await (stream | to_writer(writer))
        finally:
            writer.close()

    filling = asyncio.ensure_future(fill())
    try:
        async for line in from_reader(reader):
            yield line
        await filling  # a wire carries no failure, so it comes from who has written
    finally:
        await give_up(filling)


def crossing(
    by: Callable[[Stream[Any]], AsyncIterator[Any]],
) -> Callable[[Stream[Any]], AbstractContextManager[Stream[Any]]]:
    @contextmanager
    def crossed(stream: Stream[Any]) -> Iterator[Stream[Any]]:
        over = Stream.subject()
        runs = Anew(lambda: by(stream))
        yield Stream.from_async_iterable(runs).take_until(over)
        over.emit("over")  # for those who have left without a word
        runs.wait_until_over()

    return crossed


def line(n: int) -> bytes:
    return b"%*d\n" % (LENGTH - 1, n)


CROSSINGS = [
    Crossing("asyncio.Queue", crossing(by_queue), window=SIZE + 2),
    Crossing("asyncio reader and writer", crossing(by_wire), window=8, element=line),
]
