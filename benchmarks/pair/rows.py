"""rows: what penstock does in the benchmarks, row by row, and the process that measures them on one tree.

Run as a program it reads one request after another, `{"row": ..., "quick": ...}`, and answers each with what one run
took, or with why there is none. What it imports as penstock is decided by PYTHONPATH.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import penstock
from benchmarks.measure import checked_run
from benchmarks.operators.__main__ import GROUPS
from benchmarks.workload import PENSTOCK, Contender, Workload
from benchmarks.workloads import WORKLOADS

SUITES: dict[str, tuple[Workload, ...]] = dict(
    zip(("bench", "operator", "joint", "signals", "listener"), (WORKLOADS, *GROUPS), strict=True)
)


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one way of penstock through one workload."""

    workload: Workload
    contender: Contender


def every_row() -> dict[str, Row]:
    """Return the rows by their names; the peers and the loops by hand are the same on every tree."""
    return {
        name_of(suite, workload, contender): Row(workload, contender)
        for suite, workloads in SUITES.items()
        for workload in workloads
        for contender in workload.contenders
        if contender.name.startswith(PENSTOCK)
    }


def name_of(suite: str, workload: Workload, contender: Contender) -> str:
    """Name a row after its suite, its workload and, if it is not the usual one, its way."""
    way = contender.name.removeprefix(PENSTOCK).strip(", ")
    return f"{suite}: {workload.name}{f' ({way})' if way else ''}"


def answers(requests: Iterable[str]) -> Iterator[str]:
    """Answer with where penstock came from, then each request."""
    yield json.dumps({"penstock": str(Path(penstock.__file__).resolve())})
    rows = every_row()
    expected: dict[tuple[str, int], object] = {}
    for request in requests:
        asked = json.loads(request)
        row = rows[asked["row"]]
        size = row.workload.quick_size if asked["quick"] else row.workload.size
        key = (asked["row"], size)
        try:
            if key not in expected:
                expected[key] = row.workload.expected(size)
                checked_run(row.workload, row.contender, size, expected[key])  # to warm up
            yield json.dumps(asdict(checked_run(row.workload, row.contender, size, expected[key])))
        except Exception as error:  # noqa: BLE001  one tree may not have what the other has
            yield json.dumps({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    for answer in answers(sys.stdin):
        print(answer, flush=True)
