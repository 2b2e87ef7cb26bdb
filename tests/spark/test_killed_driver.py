"""A driver that is killed with SIGKILL and started again loses nothing that it had promised, and repeats nothing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.spark import Spark
from tests.spark.cluster import ROOT
from tests.spark.killed_driver import LIVES, NUMBERS, ROWS, Life
from tests.spark.processes import below, wait_gone

KILLS = 3
STOP = 12_000


def spooled(folder: Path) -> int:
    """Return the number of the last row that a spool has held."""
    return max((int(path.stem.partition("-")[2]) for path in folder.glob("*.arrow")), default=0)


@pytest.mark.slow
def test_three_kills_of_the_driver_lose_and_repeat_nothing(spark: Spark, tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    part = STOP // KILLS
    ends = [0]
    for life in range(KILLS):
        moments = [part * life + chance.randrange(ROWS), chance.randrange(100, 3000)]
        killed("tests.spark.killed_driver", tmp_path, [life, STOP, *moments], f"{seed=}, {life=}, {moments=}")
        ends.append(spooled(tmp_path / "live" / "spool"))
    # The last life is in this process.
    for query in Life(tmp_path, KILLS, STOP, None).queries(spark):
        query.awaitTermination()
    told = f"{seed=}, {ends=}"

    # A publisher that can start again: every row, once.
    found = spark.session.read.schema(NUMBERS).parquet(str(tmp_path / "replayed" / "out"))
    row = found.selectExpr("count(*)", "count(distinct n)", "sum(n)", "min(n)", "max(n)").first()
    assert row is not None
    assert tuple(row) == (STOP, STOP, sum(range(STOP)), 0, STOP - 1), told

    # One that cannot: of each life what was in the spool, once and without a gap; no more was lost.
    rows = spark.session.read.schema(LIVES).parquet(str(tmp_path / "live" / "out")).collect()
    counts = [*(end - before for before, end in pairwise(ends)), ROWS]
    for life, count in enumerate(counts):
        assert sorted(n for number, n in rows if number == life) == list(range(count)), (life, told)
    assert sum(counts[:KILLS]) > 0, told


def killed(module: str, folder: Path, given: Sequence[object], told: str) -> None:
    """Start a driver, end it with SIGKILL at its moment, and wait until its JVM has noticed."""
    with (folder / "errors").open("ab") as errors:
        driver = subprocess.Popen(
            [sys.executable, "-m", module, folder, *map(str, given)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert driver.stdout is not None
    try:
        assert driver.stdout.readline() == b"now\n", (told, (folder / "errors").read_text()[-3000:])
        left = below(driver.pid)
    finally:
        driver.kill()
        driver.wait()
        driver.stdout.close()
    wait_gone(left)
