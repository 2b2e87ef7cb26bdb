"""http: pages of a server on loopback read by hand and by penstock, in one process and in turns."""

from __future__ import annotations

import asyncio
import json
from functools import partial

import httpx

from benchmarks.connectors import pairs
from penstock.connectors import http
from tests.connectors.http.server import Request, answer, http_server

PAGES = 40
SIZE = 1000


async def serve(request: Request, writer: asyncio.StreamWriter) -> None:
    page = int(request.path.partition("=")[2] or 0)
    body = json.dumps([{"n": n, "text": "x" * 60} for n in range(page * SIZE, (page + 1) * SIZE)]).encode()
    link = {"link": f"</a?page={page + 1}>; rel=next"} if page < PAGES - 1 else {}
    answer(writer, body, **link)


def by_hand(url: str) -> int:
    async def read() -> int:
        total, following = 0, url
        async with httpx.AsyncClient() as client:
            while following:
                response = await client.get(following)
                for row in response.json():
                    total += row["n"]
                following = str(httpx.URL(url).join(response.links["next"]["url"])) if "next" in response.links else ""
        return total

    return asyncio.run(read())


def by_penstock(url: str) -> int:
    return http.pages(url).map(lambda row: row["n"]).reduce(lambda a, b: a + b, 0).get()


def main() -> None:
    with http_server(serve) as server:
        url = f"{server.url}/a"
        assert by_hand(url) == by_penstock(url)
        print("read pages, the server's time in both:", pairs(partial(by_hand, url), partial(by_penstock, url)))


if __name__ == "__main__":
    main()
