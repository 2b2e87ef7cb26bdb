"""server: a real PostgreSQL on loopback with throw-away data."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

CONNECTIONS = "select count(*) from pg_stat_activity where application_name = 'penstock'"
PATIENCE = 60.0  # seconds until a server that neither starts nor ends fails the test
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "10",
    "max_replication_slots": "10",
    "shared_buffers": "64MB",
    # The data is thrown away: no test pulls the plug of the machine, and a process that is killed loses nothing by it.
    "fsync": "off",
    "full_page_writes": "off",
    # Short enough for a test to see that a slow consumer is not given up, long enough for a machine that is busy.
    "wal_sender_timeout": "10s",
    "client_min_messages": "warning",
    "timezone": "UTC",
}


def binary(name: str) -> str:
    """Return the path of one of PostgreSQL's programs; Debian keeps those of the server off PATH."""
    found = shutil.which(name)
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    if kept:
        return str(kept[-1])
    assert found, f"PostgreSQL's {name} is missing: run scripts/ensure-servers"
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def account() -> str | None:
    """Return whom the server runs as: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def limited(largest_file: int | None) -> list[str]:
    """Return what is put before a command whose files are limited."""
    return [] if largest_file is None else ["sh", "-c", 'ulimit -f "$0" && exec "$@"', str(largest_file // 512)]


class Server:
    """A server with a folder, a port and a password, which are thrown away with it."""

    def __init__(self) -> None:
        self.port = free_port()
        self.password = secrets.token_hex(8)
        self._account = account()
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        secret = self._folder / "password"
        secret.write_text(self.password)
        if self._account:
            for path in (self._folder, secret):
                shutil.chown(path, self._account)
        self._call(
            "initdb", "--pgdata", str(self._data), "--username", "owner", "--pwfile", str(secret),
            "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync",
        )  # fmt: skip

    def _call(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [binary(program), *arguments], capture_output=True, text=True, cwd=self._folder, **self._as_whom()
        )
        assert done.returncode == 0, done.stderr

    def _as_whom(self) -> dict[str, Any]:
        if self._account is None:
            return {}
        return {"user": self._account, "group": pwd.getpwnam(self._account).pw_gid, "extra_groups": []}

    @property
    def conninfo(self) -> str:
        return make_conninfo(
            host="127.0.0.1",
            port=self.port,
            user="owner",
            password=self.password,
            dbname="postgres",
            connect_timeout=10,
        )

    def start(self, *, largest_file: int | None = None) -> None:
        """Start the server and wait until it answers; the system refuses to let a file of it grow beyond a size."""
        options = [f"--{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*limited(largest_file), binary("postgres"), "-D", str(self._data), f"--port={self.port}", *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self._folder, **self._as_whom(),
            )  # fmt: skip
        until = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.conninfo).close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, self.log()
                assert time.monotonic() < until, self.log()
                time.sleep(0.02)
            else:
                return

    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")

    def kill(self) -> None:
        """Kill the server without a word, and wait until the last of its processes is gone."""
        assert self._process is not None
        children = [int(row[0]) for row in self.rows("select pid from pg_stat_activity")]
        self.connection.close()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE)
        until = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{pid}").exists() for pid in children):
            assert time.monotonic() < until, "a process of the killed server stays"
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server and remove its data."""
        self.halt()
        shutil.rmtree(self._folder, ignore_errors=True)

    def halt(self) -> None:
        """End the server."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # a fast shutdown: clients are let go
            try:
                self._process.wait(PATIENCE)
            finally:
                self._process.kill()

    @property
    def connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection that tests look with; to make a new one for each look would cost more than the look."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.conninfo, autocommit=True, prepare_threshold=None)
        return self._connection

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement.encode())

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement.encode()).fetchall()

    def value(self, statement: str) -> Any:
        return self.rows(statement)[0][0]

    def connections(self) -> int:
        """Count the connections of penstock; the server takes a moment to notice that one was closed."""
        return int(self.value(CONNECTIONS))

    def eventually(self, statement: str, wanted: Any) -> None:
        """Wait until a query gives a value."""
        until = time.monotonic() + PATIENCE
        while (found := self.rows(statement)) != [(wanted,)]:
            assert time.monotonic() < until, f"{statement}: {found!r}, and not {wanted!r}"
            time.sleep(0.01)

    def clean(self) -> None:
        """Remove what a test has made, and see to it that it has left no connection."""
        self.eventually(CONNECTIONS, 0)
        self.run(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots",
            "drop schema public cascade",
            "create schema public",
            *(f'drop publication "{name}"' for (name,) in self.rows("select pubname from pg_publication")),
        )
