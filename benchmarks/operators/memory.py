"""memory: a chain of twenty mixed operators over millions of elements, and how much the process grows meanwhile.

Run as a program it does so in a process of its own, in which nothing else happened before, and prints what it saw.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from operator import add

from benchmarks.workload import Check, Finding
from penstock import Stream

SIZE = 5_000_000
WARM_UP = 20_000
AT_MOST = 20.0
"""Megabytes."""


def chain(size: int) -> Stream[int]:
    """Return a chain of twenty operators; a third of them hold elements for a while."""
    return (
        Stream.range(size)  # 1
        .map(lambda n: n + 1)
        .filter(lambda n: n % 7)
        .scan(lambda total, n: (total + n) % 1_000_003, 0)
        .enumerate()
        .starmap(add)  # 6
        .pairwise()
        .map(lambda pair: pair[1] - pair[0])
        .drop_repeats()
        .sliding(3)
        .flatten()  # 11
        .buffer(64)
        .flat_map(lambda batch: batch[::2])
        .skip(5)
        .distinct(lambda n: n // 2, size=1000)
        .stateful_map(lambda before, n: (n, n - before), int)  # 16
        .tap(abs)
        .merge(Stream.range(size // 10))
        .zip(Stream.generate(0, lambda n: (n, n + 1)))
        .map(lambda pair: pair[0] ^ pair[1])
        .reduce(lambda a, b: (a + b) % 1_000_003, 0)
    )


def peak() -> float:
    """Return how many megabytes this process has had at the most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def grown(size: int) -> float:
    """Return by how many megabytes this process grows over a run of that size."""
    chain(min(size, WARM_UP)).get()
    before = peak()
    chain(size).get()
    return peak() - before


def finding(size: int = SIZE) -> Finding:
    """Let a new process do it, and say what it saw."""
    done = subprocess.run([sys.executable, "-m", __name__, str(size)], capture_output=True, text=True, check=True)
    megabytes = float(done.stdout)
    return Finding(megabytes < AT_MOST, f"grew by {megabytes:.1f} MB over {size:,} elements")


def check_of(size: int) -> Check:
    """Return what looks at a run of that size."""
    return Check(f"20 operators grow by less than {AT_MOST:g} MB", lambda: finding(size))


if __name__ == "__main__":
    print(grown(int(sys.argv[1])))
