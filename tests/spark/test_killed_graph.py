"""A graph with states whose driver, worker or source is killed gives the answer of one whole run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from penstock.spark import Spark
from tests.spark.cluster import Cluster, Driver
from tests.spark.killed_graph import AHEAD, Life, once
from tests.spark.served_rows import Server, SourceGoneError, numbers_from
from tests.spark.test_killed_driver import killed

ROWS = 1800
WAIT = 900


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_windows_and_a_join_of_two_sources_are_exact_in_two_sinks_across_kills(
    spark: Spark, few_partitions: None, tmp_path: Path
) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    moments = [chance.randrange(100, 500), chance.randrange(100 + AHEAD, ROWS - AHEAD)]
    for moment in moments:
        killed("tests.spark.killed_graph", tmp_path, [ROWS, moment], f"{seed=}, {moments=}")
    last = Life(tmp_path, ROWS)
    last.run(spark).wait(WAIT)  # the last life is in this process
    assert last.told(spark) == once(ROWS), f"{seed=}, {moments=}"


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_they_are_exact_when_a_worker_is_killed_with_its_daemons(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    row = random.Random(seed).randrange(100, ROWS - 100)
    with Cluster(tmp_path) as cluster:
        driver = Driver(cluster)
        try:
            driver.ask("executors", count=2)
            found = driver.ask("killed_graph", rows=ROWS, row=row, folder=str(tmp_path))
        finally:
            assert driver.close() == 0
    assert found.pop("killed") >= 4, "the worker, its executor, the daemon of its Python, and a task's process"
    assert found == once(ROWS), f"{seed=}, {row=}"


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_they_are_exact_when_the_process_of_the_sources_is_killed(
    spark: Spark, few_partitions: None, tmp_path: Path
) -> None:
    seed = random.randrange(10**6)
    moment = random.Random(seed).randrange(700, ROWS - 100)  # rows before it are committed, as 500 may be ahead
    socket = tmp_path / "numbers"
    with Server(socket, ROWS, moment) as server:
        run = Life(tmp_path, ROWS, numbers=numbers_from(socket)).run(spark)
        server.kill_at_moment()
        with pytest.raises(SourceGoneError, match=r"^the source has gone before row \d+\n"):
            run.wait(WAIT)
    last = Life(tmp_path, ROWS, numbers=numbers_from(socket))
    with Server(socket, ROWS):
        last.run(spark).wait(WAIT)
    assert last.told(spark) == once(ROWS), f"{seed=}, {moment=}"
