"""A graph with states whose driver is killed and started again gives the answer of one whole run."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from penstock.spark import Spark
from tests.spark.killed_graph import AHEAD, NOON, Life
from tests.spark.test_killed_driver import killed

ROWS = 1800
WAIT = 300


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_windows_and_a_join_of_two_sources_are_exact_in_two_sinks_across_kills(
    spark: Spark, few_partitions: None, tmp_path: Path
) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    moments = [chance.randrange(100, 500), chance.randrange(100 + AHEAD, ROWS - AHEAD)]
    for moment in moments:
        killed("tests.spark.killed_graph", tmp_path, [ROWS, moment], f"{seed=}, {moments=}")
    last = Life(tmp_path, ROWS, None)
    last.run(spark).wait(WAIT)  # the last life is in this process
    told = f"{seed=}, {moments=}"

    noon = int(NOON.timestamp())
    counts = Counter(noon + second // 60 * 60 for second in [*range(ROWS), *range(5, ROWS + 5)])
    assert last.ledger.windows() == sorted(counts.items()), told
    found = spark.session.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(tuple(row) for row in found if row.m is not None) == [(n, n) for n in range(ROWS) if n % 3], told
    assert sorted(row.n for row in found if row.m is None) == [n for n in range(ROWS) if n % 3 == 0], told
