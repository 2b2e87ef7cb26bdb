"""http: pages of a server on loopback read by hand and by penstock, in one process and in turns."""

from __future__ import annotations

import asyncio
import json
import time
from statistics import median

import httpx

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


def ratio(url: str, rounds: int = 5) -> float:
    """Return the median of how many times longer penstock takes, each round paired; the server's time is in both."""
    ratios = []
    for _ in range(rounds):
        begun = time.process_time()
        expected = by_hand(url)
        between = time.process_time()
        assert by_penstock(url) == expected
        ratios.append((time.process_time() - between) / (between - begun))
    return median(ratios)


def main() -> None:
    with http_server(serve) as server:
        print(f"read pages: {ratio(f'{server.url}/a'):.2f}x the loop")


if __name__ == "__main__":
    main()
