"""killed: a consumer of pages or events that is killed again and again goes on where it was."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.connectors import files
from tests.connectors.http.server import Request, answer, http_server

ROOT = Path(__file__).parents[3]
COUNT = 6000
SIZE = 50


class Gate:
    """How far the server goes: a life of the consumer gets a part, and is killed in it."""

    def __init__(self) -> None:
        self.most = 0

    async def passed(self, number: int) -> None:
        while number >= self.most:
            await asyncio.sleep(0.002)

    async def pages(self, request: Request, writer: asyncio.StreamWriter) -> None:
        first = int(request.path.partition("=")[2] or 0)
        await self.passed(first)
        link = {"link": f"</a?first={first + SIZE}>; rel=next"} if first + SIZE < COUNT else {}
        answer(writer, json.dumps([{"n": n} for n in range(first, first + SIZE)]).encode(), **link)

    async def events(self, request: Request, writer: asyncio.StreamWriter) -> None:
        first = int(request.headers.get("last-event-id", "-1")) + 1
        if first >= COUNT:
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nretry: 5\n")
        for number in range(first, COUNT):
            await self.passed(number)
            writer.write(b"id: %d\ndata: %d\n\n" % (number, number))
            await writer.drain()


@pytest.mark.parametrize("kind", ["pages", "events"])
@pytest.mark.proves(
    "http.pages", "kill -9 of the consumer, ten times", "nothing lost; behind `roll(once=)`, nothing twice"
)
@pytest.mark.proves(
    "http.events", "kill -9 of the consumer, ten times", "nothing lost; behind `roll(once=)`, nothing twice"
)
def test_ten_kills_lose_nothing(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    gate = Gate()
    code = [sys.executable, "-m", "tests.connectors.http.consumer", kind]

    def finished() -> int:
        return len([*out.glob("0*")])

    with http_server(getattr(gate, kind)) as server:
        code += [f"{server.url}/a", str(out), str(tmp_path / "checkpoint")]
        for kill in range(10):
            gate.most += COUNT // 11
            before = finished()
            process = subprocess.Popen(code, cwd=ROOT)
            try:
                while finished() < before + 1 + kill % 3:
                    assert process.poll() is None, "the consumer ended"
                    threading.Event().wait(0.001)
            finally:
                process.kill()  # -9
                process.wait()
        gate.most = COUNT
        subprocess.run(code, cwd=ROOT, check=True, timeout=200)
    rows = list(files.folder(out, files.JsonLines(), follow=False))
    assert [row["n"] for row in rows] == list(range(COUNT))
