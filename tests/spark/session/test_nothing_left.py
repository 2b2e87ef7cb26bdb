"""Runs in one session leave nothing behind, in this process and in the JVM."""

from __future__ import annotations

import gc
import threading

from penstock.spark import Spark
from tests.spark.census import Jvm, census, grown
from tests.spark.kinds import cancelled, left_early, live, whole_batch

TIMES = {live: 4, cancelled: 3, left_early: 10, whole_batch: 10}
ROUNDS = 100
"""Looks before something counts as left; both collectors must see an object before it has gone from both sides."""


def test_runs_leave_nothing_behind(spark: Spark) -> None:
    for kind in TIMES:
        kind(spark)
    jvm, pause = Jvm(spark), threading.Event()
    for _ in range(5):
        gc.collect()
        jvm.heap()
        pause.wait(0.2)
    before = census(spark)
    for kind, times in TIMES.items():
        for _ in range(times):
            kind(spark)
    left = {}
    for _ in range(ROUNDS):
        gc.collect()
        jvm.heap()
        left = grown(before, census(spark))
        if not left:
            break
        pause.wait(0.2)
    assert left == {}
