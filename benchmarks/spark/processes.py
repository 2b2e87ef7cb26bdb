"""processes: what this process and those below it (the JVM, Spark's Python workers) have used so far."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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


def workers_growth(work: Callable[[], T], warm: float = 0.25) -> tuple[T, int, int]:
    """Return what some work gives, by how many bytes a Python worker of Spark's grew, and the most that one had.

    A worker that has just begun imports and makes its first batches, so it is compared with itself after the first
    part of the time that it was seen, `warm`.
    """
    seen: dict[int, list[int]] = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            for process in _workers():
                with suppress(OSError, IndexError):
                    words = Path(f"/proc/{process}/statm").read_text().split()
                    seen.setdefault(process, []).append(int(words[1]) * PAGE)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        result = work()
    finally:
        over.set()
        watcher.join()
    grown = [max(sizes[int(len(sizes) * warm) :]) - sizes[int(len(sizes) * warm)] for sizes in seen.values() if sizes]
    return result, max(grown, default=0), max((max(sizes) for sizes in seen.values()), default=0)


def _workers() -> list[int]:
    """Return the Python workers of the executors below this process: what the daemons there have forked.

    A daemon is a program, or a child of the nursery, whose name it then has, and so have its workers.
    """
    parents: dict[int, int] = {}
    daemons: set[int] = set()
    nursed: set[int] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                words = (folder / "cmdline").read_bytes()
                if b"nursery.py" in words:
                    nursed.add(int(folder.name))
                elif b"daemon" in words:
                    daemons.add(int(folder.name))
    grown = {one for one in nursed if parents.get(one) in nursed}
    found = [one for one in daemons if parents.get(one) in daemons] + [one for one in grown if parents[one] in grown]
    return [one for one in found if _is_below(one, parents)]
