"""server: a real redis-server on loopback, its data in a folder that is thrown away."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

LIMIT = 200.0
"""Seconds after which what is waited for has gone wrong."""


def until(condition: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"{what}: not after {LIMIT:g} s"
        time.sleep(0.01)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class RedisServer:
    """A server that can be killed, and started again on the same folder and port."""

    def __init__(self, folder: Path, *, lasting: bool = False) -> None:
        self.folder = folder
        self.lasting = lasting
        """Whether it writes each command to its file before it answers."""
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        binary = shutil.which("redis-server")
        assert binary is not None, "redis-server is missing: apt-get install redis-server"
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self.folder),
            "appendonly": "yes" if self.lasting else "no",
            "appendfsync": "always",
            "save": "",
        }
        command = [binary, *(word for name, value in options.items() for word in (f"--{name}", value))]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until(self._answers, f"a server on port {self.port}")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "redis-server has ended"
        try:
            with self.client() as redis:
                return bool(redis.ping())
        except RedisError:
            return False

    def kill(self) -> None:
        """End it as a power cut does (kill -9)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> Redis:
        """Return a client, to be used in a `with`."""
        return Redis.from_url(self.url)

    def connections(self) -> int:
        """Return how many other clients it has."""
        with self.client() as redis:
            return len(redis.client_list()) - 1

    def fill(self, key: str, count: int) -> None:
        """Add entries with numbers, from 1 on, which are their ids as well."""
        with self.client() as redis:
            for first in range(1, count + 1, 10_000):
                commands = redis.pipeline(transaction=False)
                for number in range(first, min(first + 10_000, count + 1)):
                    commands.xadd(key, {"n": number}, id=f"{number}-0")
                commands.execute()

    def numbers(self, key: str) -> list[int]:
        """Return the numbers in a stream."""
        with self.client() as redis:
            return [int(fields[b"n"]) for _, fields in redis.xrange(key)]

    def group(self, key: str, group: str) -> tuple[int, int]:
        """Return how many entries were given to a group and not acknowledged, and how many were not given."""
        with self.client() as redis:
            [found] = [each for each in redis.xinfo_groups(key) if each["name"] == group.encode()]
        return int(found["pending"]), int(found["lag"])
