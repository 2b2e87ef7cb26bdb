"""samples: what the driver, its JVM and Spark's Python processes hold at a moment of a long run."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.spark.processes import PAGE

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen after a number of micro-batches; memory is in MB, times are in seconds."""

    batches: int
    seconds: float
    """Since the run began."""
    batch_seconds: float
    """The median of the micro-batches since the sample before, as Spark reports them."""
    python_rss: float
    workers_rss: float
    """Spark's Python processes together."""
    jvm_rss: float
    jvm_heap: float
    """After a collection."""
    jvm_non_heap: float
    """Classes and compiled code."""
    python_threads: int
    jvm_threads: int
    python_files: int
    jvm_files: int
    workers: int
    checkpoint_files: int


def below(pid: int) -> set[int]:
    """Return the processes that descend from one."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has just ended
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def resident(pids: Iterable[int]) -> float:
    """Return the memory that processes have in use, in MB."""
    pages = 0
    for pid in pids:
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue  # it has just ended
    return pages * PAGE / MB


def open_files(pid: int) -> int:
    """Return how many files and sockets a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Lookout:
    """What looks at the processes of one run."""

    def __init__(self, jvm: Any, checkpoint: Path) -> None:
        self._runtime = jvm.java.lang.System
        beans = jvm.java.lang.management.ManagementFactory
        self._memory, self._threads = beans.getMemoryMXBean(), beans.getThreadMXBean()
        self._jvm = int(jvm.java.lang.ProcessHandle.current().pid())
        self._checkpoint = checkpoint

    def sample(self, batches: int, seconds: float, batch_seconds: float) -> Sample:
        """Look once, after both collectors have run."""
        gc.collect()
        self._runtime.gc()
        own = os.getpid()
        workers = below(own) - {self._jvm}
        return Sample(
            batches,
            round(seconds, 1),
            round(batch_seconds, 4),
            python_rss=round(resident([own]), 1),
            workers_rss=round(resident(workers), 1),
            jvm_rss=round(resident([self._jvm]), 1),
            jvm_heap=round(self._memory.getHeapMemoryUsage().getUsed() / MB, 1),
            jvm_non_heap=round(self._memory.getNonHeapMemoryUsage().getUsed() / MB, 1),
            python_threads=threading.active_count(),
            jvm_threads=int(self._threads.getThreadCount()),
            python_files=open_files(own),
            jvm_files=open_files(self._jvm),
            workers=len(workers),
            checkpoint_files=sum(len(files) for _, _, files in os.walk(self._checkpoint)),
        )
