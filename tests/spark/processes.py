"""processes: which processes descend from which, as the kernel tells, for tests that end them or count them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

R = TypeVar("R")

WAIT = 120.0
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a JVM that lives for minutes: it compiles less, which leaves the cores to the tests."""
_LOOK = 0.05
_TRIES = 30
_LATE = "failed to connect back"


def waited_for(query: Callable[[], R]) -> R:
    """Run a query in a session of plain PySpark and return its answer; again where Spark did not wait for its Python.

    Spark gives the process that plans a Python source ten seconds to start, which a busy machine may take; in a session
    that penstock starts, that process answers first and imports later.
    """
    for _ in range(_TRIES - 1):
        try:
            return query()
        except Exception as error:
            if _LATE not in str(error):
                raise
    return query()


def _parents() -> dict[int, int]:
    """Return the parent of each process that has not ended."""
    found: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:  # it ended while we looked
                continue
            if state != "Z":
                found[int(folder.name)] = int(parent)
    return found


def below(pid: int) -> set[int]:
    """Return the processes that descend from one."""
    parents = _parents()
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def above(pid: int) -> list[int]:
    """Return the processes that one descends from, the nearest first."""
    parents = _parents()
    found = []
    while pid := parents.get(pid, 0):
        found.append(pid)
    return found


def command(pid: int) -> str:
    """Return the command line of a process, or nothing if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def wait_gone(pids: set[int]) -> None:
    """Wait until processes have ended; the JVM notices the death of its driver a little later."""
    left = pids
    pause = threading.Event()
    for _ in range(int(WAIT / _LOOK)):
        left = pids & _parents().keys()
        if not left:
            return
        pause.wait(_LOOK)
    raise AssertionError(f"processes have not ended: {[command(pid)[:200] for pid in left]}")


def _held(pid: int) -> int | None:
    """Return a file that stands for a process, whatever becomes of its number; None if it has ended."""
    with suppress(ProcessLookupError):
        return os.pidfd_open(pid)
    return None


def kill_tree(pid: int) -> set[int]:
    """End a process and all below it with SIGKILL; return which they were, once they are gone."""
    held = {each: file for each in (pid, *below(pid)) if (file := _held(each)) is not None}
    pids = held.keys() & {pid, *below(pid)}  # what has ended since may have left its number to another process
    for each in pids:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(held[each], signal.SIGKILL)
    for file in held.values():
        os.close(file)
    wait_gone(pids)
    return pids
