"""server: servers on loopback that the tests write the answers of, each on a port that was free."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Handle = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Request:
    """A request as a server got it."""

    path: str
    headers: dict[str, str]


@dataclass
class Serving:
    """A server that runs on a thread, and what it has seen."""

    url: str = ""
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    open: int = 0
    """How many connections are open."""
    loop: Any = None

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do something on the loop of the server."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)


@contextmanager
def on_a_thread(
    main: Callable[[Serving, asyncio.Event, threading.Event], Coroutine[Any, Any, None]],
) -> Iterator[Serving]:
    """Run a server until the block is left."""
    serving, ready = Serving(), threading.Event()
    stop: list[asyncio.Event] = []

    async def run() -> None:
        serving.loop = asyncio.get_running_loop()
        stop.append(asyncio.Event())
        await main(serving, stop[0], ready)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert ready.wait(60)
    try:
        yield serving
    finally:
        serving.loop.call_soon_threadsafe(stop[0].set)
        thread.join(60)


@contextmanager
def http_server(handle: Handle, port: int = 0) -> Iterator[Serving]:
    """Serve answers that a function writes; a connection is closed behind each."""

    async def main(serving: Serving, stop: asyncio.Event, ready: threading.Event) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving.open += 1
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                request = Request(head[0].split()[1], headers)
                serving.requests.append(request)
                await handle(request, writer)
                await writer.drain()
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                serving.open -= 1
                writer.close()
                with suppress(ConnectionError, asyncio.CancelledError):
                    await writer.wait_closed()  # else the loop may end before the socket is closed

        server = await asyncio.start_server(connected, "127.0.0.1", port)
        serving.port = server.sockets[0].getsockname()[1]
        serving.url = f"http://127.0.0.1:{serving.port}"
        ready.set()
        await stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    with on_a_thread(main) as serving:
        yield serving


def answer(writer: asyncio.StreamWriter, body: bytes, status: str = "200 OK", **headers: str) -> None:
    """Write a whole answer."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
