"""timing: time one run on Spark, with the garbage collector at work as in any program."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

from benchmarks.measure import Sample, check
from benchmarks.spark.processes import cpu_seconds
from benchmarks.workload import Contender, Workload


@dataclass(frozen=True, slots=True)
class Timed:
    """Be a result whose time is not that of the whole run, because starting is not what is measured."""

    result: object
    seconds: float


def run(workload: Workload, contender: Contender, size: int, expected: object) -> Sample:
    """Time one run, with the CPU time of all its processes, and refuse a wrong result."""
    gc.collect()
    cpu, wall = cpu_seconds(), time.perf_counter()
    result = contender.run(size)
    seconds, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    if isinstance(result, Timed):
        result, seconds = result.result, result.seconds
    check(workload, contender, result, expected)
    return Sample(seconds, cpu)
