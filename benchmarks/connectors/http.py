"""http: pages of a server on loopback read by hand and by penstock, in one process and in turns.

The server is another process, so that its time is not taken for that of the readers. It has its pages ready, and keeps
connections open. The loop by hand calls the functions that the stream calls, and does not read the certificates anew
for each client, as penstock does not.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection

import httpx

from benchmarks.connectors import pairs
from penstock.connectors import http

PAGES = 200
SIZE = 1000
TRUSTED = httpx.create_ssl_context()


def answers() -> list[bytes]:
    """Return the pages as they are sent."""
    made = []
    for page in range(PAGES):
        body = json.dumps([{"n": n, "text": "x" * 60} for n in range(page * SIZE, (page + 1) * SIZE)]).encode()
        link = f"link: </a?page={page + 1}>; rel=next\r\n" if page < PAGES - 1 else ""
        made.append(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n{link}\r\n".encode() + body)
    return made


def serve(told: Connection) -> None:
    """Serve the pages until the process is ended; tell the port."""
    made = answers()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(made[int(head.split(None, 2)[1].partition(b"=")[2] or 0)])
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def serving() -> Iterator[str]:
    """Run the server, and give the address of the first page."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/a"
    finally:
        server.terminate()
        server.join()


def number(row: dict[str, int]) -> int:
    return row["n"]


def add(total: int, n: int) -> int:
    return total + n


def by_hand(url: str) -> int:
    async def read() -> int:
        total, following = 0, url
        async with httpx.AsyncClient(verify=TRUSTED) as client:
            while following:
                response = await client.get(following)
                for row in response.json():
                    total = add(total, number(row))
                following = str(httpx.URL(url).join(response.links["next"]["url"])) if "next" in response.links else ""
        return total

    return asyncio.run(read())


def by_penstock(url: str) -> int:
    return http.pages(url).map(number).reduce(add, 0).get()


def main() -> None:
    with serving() as url:
        assert by_hand(url) == by_penstock(url)
        print("read pages:", pairs(partial(by_hand, url), partial(by_penstock, url), rounds=9))


if __name__ == "__main__":
    main()
