"""install: run pip and show how far it is: one live line on a terminal, else a line now and then.

Usage: python scripts/install.py TITLE COMMAND...

What pip says is kept, and printed only if it fails. No package is needed for it: it runs before any is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from typing import TextIO

TICK, NOW_AND_THEN = 1.0, 10.0
"""Seconds between two states of the line: on a terminal, and elsewhere."""
CLEAR = "\r\x1b[K"
_NAME = r"([A-Za-z0-9][A-Za-z0-9._-]*)"
_FOUND = re.compile(rf"(?:Collecting|Requirement already satisfied:|Obtaining) {_NAME}")
_FETCHED = re.compile(r"\s*(?:Downloading|Using cached) (?!.*\.metadata)([^/\s]+?)-\d\S* ?(\([\d.]+ \wB\))?")
_INSTALLING = re.compile(r"Installing collected packages: (.*)")


class Install:
    """How far an install is, as far as pip has said it."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._fetched = 0
        self._now = ""
        self._installing = 0

    def heard(self, line: str) -> None:
        """Take a line of pip in."""
        if found := _FOUND.match(line.strip()):
            self._names.add(found[1].lower())
        elif found := _FETCHED.match(line):
            self._fetched += 1
            self._now = f": {found[1]} {found[2] or ''}".rstrip()
        elif found := _INSTALLING.match(line):
            self._installing = len(found[1].split(","))

    def __str__(self) -> str:
        if self._installing:
            return f"unpacking {self._installing} packages"
        if not self._names:
            return "asking pip"
        fetched = f", {self._fetched} fetched{self._now}" if self._fetched else ""
        return f"{len(self._names)} packages found{fetched}"


def shown(title: str, command: list[str], out: TextIO) -> int:
    """Run a command, show how far it is, and return its status."""
    live, began = out.isatty(), time.monotonic()
    state = Install()
    said: list[str] = []
    over = threading.Event()

    def line() -> str:
        return f"{title}: {state}, {time.monotonic() - began:.0f} s"

    def tell() -> None:
        while not over.wait(TICK if live else NOW_AND_THEN):
            print(f"{CLEAR}{line()}" if live else line(), end="" if live else "\n", file=out, flush=True)

    print(f"{title}", end="" if live else "\n", file=out, flush=True)
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
            assert pip.stdout is not None
            for text in pip.stdout:
                said.append(text)
                state.heard(text)
    finally:
        over.set()
        teller.join()
    done = "done" if pip.returncode == 0 else "failed"
    print(f"{CLEAR if live else ''}{title}: {done} in {time.monotonic() - began:.0f} s", file=out, flush=True)
    if pip.returncode:
        print("".join(said), end="", file=out, flush=True)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(shown(sys.argv[1], sys.argv[2:], sys.stdout))
