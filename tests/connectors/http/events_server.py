"""events_server: a program that sends events behind the last id, until it has sent all or is killed.

`python -m tests.connectors.http.events_server PORT MOST HOLD` prints its port. Behind the id HOLD it sends no more,
and keeps the connection open; 0 never holds.
"""

from __future__ import annotations

import asyncio
import sys

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nretry: 20\n"


async def main(port: int, most: int, hold: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        first = int(headers.get("last-event-id", "0")) + 1
        writer.write(HEAD if first <= most else b"HTTP/1.1 204 No Content\r\n\r\n")
        for number in range(first, most + 1):
            writer.write(b"id: %d\ndata: %d\n\n" % (number, number))
            await writer.drain()
            if number == hold:
                await asyncio.Event().wait()
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
