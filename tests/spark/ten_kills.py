"""python -m tests.spark.ten_kills: kill the driver of a graph at ten random moments, on a cluster of two workers.

The graph has two sources, windows, a join and two sinks. Its tests kill it twice, without a cluster.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from tests.spark.cluster import Cluster
from tests.spark.killed_graph import AHEAD, Life, once, session
from tests.spark.test_killed_driver import killed

KILLS = 10
APART = 600
"""Rows between two kills at least, less what a moment differs by: a life begins behind what the one before has read."""
ROWS = (KILLS + 1) * APART


def main() -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    moments = [at * APART + chance.randrange(100, APART - AHEAD + 100) for at in range(KILLS)]
    print(f"{seed=}, {moments=}", flush=True)
    with tempfile.TemporaryDirectory(prefix="penstock-") as name, Cluster(Path(name)) as cluster:
        folder = Path(name)
        for moment in moments:
            killed("tests.spark.killed_graph", folder, [ROWS, moment, cluster.master], f"{seed=}, {moments=}")
            print(f"killed at row {moment}", flush=True)
        last = Life(folder, ROWS)
        with session(cluster.master) as spark:
            last.run(spark).wait()
            told = last.told(spark)
    print("right" if told == once(ROWS) else f"WRONG: {told}")


if __name__ == "__main__":
    main()
