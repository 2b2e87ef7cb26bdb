"""taking: what tests take from streams of files, and what those have open."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from penstock import Stream
from penstock.run.resumption import Resumption


def taken(stream: Stream[Any], count: int, after: Any = None) -> tuple[list[Any], Any]:
    """Take so many elements behind a position; return them and the position of the last."""
    pairs = list(Resumption.of(stream).open(after).take(count))
    return [element for _, element in pairs], pairs[-1][0] if pairs else after


def opened() -> set[str]:
    """Return the files that this process has open."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.add(str(each.readlink()))
        except OSError:
            continue
    return found


def until_closed(path: Path) -> None:
    """Wait until a file is closed and the threads that read files have ended."""
    while str(path) in opened() or any(each.name.startswith("penstock-files") for each in threading.enumerate()):
        threading.Event().wait(0.002)
