"""processes: what this process and those below it (the JVM, Spark's Python workers) have used so far."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")


def cpu_seconds() -> float:
    """Return the CPU time of this process and all below it, those that have ended included."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            parents[int(folder.name)] = int(fields[1])
            used[int(folder.name)] = sum(map(int, fields[11:15])) / TICKS
    return sum(seconds for process, seconds in used.items() if _is_below(process, parents))


def _is_below(process: int, parents: dict[int, int]) -> bool:
    while process and process != os.getpid():
        process = parents.get(process, 0)
    return process == os.getpid()


def resident() -> int:
    """Return the bytes of memory that this process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


@contextmanager
def watching(seen: list[int]) -> Iterator[None]:
    """Append the memory in use to `seen`, again and again."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.005):
            seen.append(resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def growth(work: Callable[[], T]) -> tuple[T, int]:
    """Return what some work gives, and by how many bytes this process grew meanwhile at most."""
    before = resident()
    seen = [before]
    with watching(seen):
        result = work()
    return result, max(seen) - before
