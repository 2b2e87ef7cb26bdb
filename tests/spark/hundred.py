"""python -m tests.spark.hundred: a hundred runs of all kinds in one session, and what they leave behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.spark import Spark
from penstock.spark.versions.planner_threads import end_planner_threads
from tests.spark.census import Jvm, census, grown
from tests.spark.kinds import KINDS
from tests.spark.processes import QUICK_JVM

LOOKS = 100
"""Looks before something counts as left; both collectors must see an object before it has gone from both sides."""
PAUSE = 0.2
WARM = 5
MEGABYTE = 1 << 20


def left_by(spark: Spark, kinds: Mapping[Callable[[Spark], None], int]) -> dict[str, Any]:
    """Run each kind once, then so often; return what there is more of after that, looked at until it is nothing."""
    for kind in kinds:
        kind(spark)
    settled(spark)
    before = census(spark)
    for kind, times in kinds.items():
        for _ in range(times):
            kind(spark)
    pause = threading.Event()
    left: dict[str, Any] = {}
    for _ in range(LOOKS):
        settle(spark)
        left = grown(before, census(spark))
        if not left:
            break
        pause.wait(PAUSE)
    return left


def settled(spark: Spark) -> None:
    """Let go of what is let go of late."""
    pause = threading.Event()
    for _ in range(WARM):
        settle(spark)
        pause.wait(PAUSE)


def settle(spark: Spark) -> None:
    """Let both collectors and the gate look once, and let go of the planners' threads, which waits for 16 queries."""
    end_planner_threads(spark.session.sparkContext)
    gc.collect()
    Jvm(spark).heap()
    spark.gate.look()


def figures(spark: Spark) -> str:
    """Say what this process and the JVM have."""
    settled(spark)
    found = census(spark)
    words = Path("/proc/self/statm").read_text().split()
    own = int(words[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE
    heap = Jvm(spark).heap() / MEGABYTE
    return (
        f"here {own:.0f} MB, {sum(found['threads'].values())} threads, {sum(found['files'].values())} files,"
        f" {found['doors']} doors, {sum(found['objects'].values())} objects of penstock; in the JVM {heap:.1f} MB after"
        f" a collection, {sum(found['JVM threads'].values())} threads, {found['JVM']}"
    )


def main() -> int:
    """Run each kind once, then all of them as often as it says; fail if anything has grown."""
    conf = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
    conf["spark.driver.extraJavaOptions"] = QUICK_JVM
    with Spark(master="local[2]", conf=conf) as spark:
        for kind in KINDS:
            kind(spark)
        print("after one of each kind:", figures(spark), flush=True)
        began = time.monotonic()
        left = left_by(spark, KINDS)
        print(f"after {sum(KINDS.values())} more, in {time.monotonic() - began:.0f} s:", figures(spark), flush=True)
    print("left:", left or "nothing")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
