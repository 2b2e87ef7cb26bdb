"""lifecycle: start and close sessions in a process of its own, and tell in JSON what was seen and what was left."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock import flow
from penstock.spark import Spark

NAMES = ("JAVA_HOME", "PYSPARK_PYTHON", "PYTHONPATH", "SPARK_LOCAL_IP")


def processes() -> set[int]:
    """Return the processes that descend from this one and have not ended."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(folder.name)] = int(parent)
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def listening(pids: set[int]) -> list[str]:
    """Return the addresses, as the kernel writes them, on which these processes listen, one for each port."""
    sockets: set[str] = set()
    for pid in pids:
        with suppress(OSError):  # it may end while we look
            sockets |= {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


def state() -> dict[str, Any]:
    gc.collect()
    mine = processes() | {os.getpid()}
    return {
        "processes": len(mine) - 1,
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "ports": len(listening(mine)),
        "environment": [os.environ.get(name) for name in NAMES],
    }


def failure(**options: Any) -> str:
    try:
        Spark(**options).close()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main() -> None:
    seen: dict[str, Any] = {"before": state()}
    seen["bad conf"] = failure(conf={"spark.driver.memory": "nonsense"})  # the JVM ends before it is up
    seen["bad master"] = failure(master="local[nonsense]")  # the JVM is up, the session does not start
    seen["after failures"] = state()

    with Spark(master="local[2]") as spark:
        doubled = flow(lambda rows: rows.map(lambda row: 2 * row.id))
        frame = spark.session.range(5).transform(spark.stage(doubled, "n long"))
        seen["answer"] = [row.n for row in frame.collect()]
        gate = spark.gate
        seen["one gate"] = spark.gate is gate
        seen["second"] = failure()
        seen["running"] = state()
        seen["addresses"] = listening(processes() | {os.getpid()})
        seen["files"] = sorted(path.name for path in Path().iterdir())
    seen["closed"] = state()
    seen["gate closed"] = gate.closed
    spark.close()

    print("BORROWING", file=sys.stderr, flush=True)
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    with Spark(session=session) as borrowed:
        seen["borrowed"] = borrowed.session.range(3).count()
    seen["lent"] = session.range(4).count()
    session.stop()
    seen["stopped"] = failure(session=session)
    seen["gateway kept"] = SparkContext._gateway is not None
    print("SEEN", json.dumps(seen))


if __name__ == "__main__":
    main()
