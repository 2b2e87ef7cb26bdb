"""registry: a small service on loopback that knows planes, one line for a question and one for the answer.

It takes its time, as services do: what a caller gains by asking several questions at once is what it would gain with
a real one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]


class Registry:
    """Answer questions about planes, each after some milliseconds, and count them; to be used in a `with`."""

    def __init__(self, planes: Mapping[str, str], seconds: float = 0.02) -> None:
        self.seconds = seconds
        self.questions = 0
        self.most_at_once = 0
        self.address: Address = ("", 0)
        self._planes = planes
        self._at_once = 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="registry")
        self._ready = threading.Event()

    def __enter__(self) -> Registry:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=1000)
        async with server:
            self.address = server.sockets[0].getsockname()
            self._ready.set()
            await self._over.wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tail = (await reader.readline()).decode().strip()
        self.questions += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(self.seconds)
        self._at_once -= 1
        writer.write(f"{self._planes.get(tail, 'unknown')}\n".encode())
        writer.close()


async def ask(registry: Address, tail: str) -> str:
    """Ask which plane has a registration."""
    reader, writer = await asyncio.open_connection(*registry)
    try:
        writer.write(f"{tail}\n".encode())
        return (await reader.readline()).decode().strip()
    finally:
        writer.close()
        await writer.wait_closed()
