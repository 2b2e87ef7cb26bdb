"""On a standalone cluster: the same answers as in process, and nothing lost or repeated by what breaks there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from penstock import Stream
from penstock.spark.wire.schema import row_type
from tests.spark.chains import STEPS, chained
from tests.spark.cluster import Cluster, Driver
from tests.spark.on_cluster import item_stages, running_sum


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """Start one master, two workers and a driver, for all tests here."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        driver = Driver(cluster)
        try:
            yield driver
        finally:
            assert driver.close() == 0
        alive = [process.poll() is None for process in cluster.processes]
        assert alive[0]
        assert sum(alive[1:]) == 2  # the cluster outlives the session


def once(rows: int) -> dict[str, int]:
    """Return what is told of the numbers below `rows` if none is lost and none is there twice."""
    return {"count": rows, "sum": sum(range(rows)), "distinct": rows, "first": 0, "last": rows - 1}


def test_item_stages_answer_as_in_process(driver: Driver) -> None:
    assert driver.ask("item") == list(Stream.from_iterable([(n,) for n in range(1000)]) | item_stages)


def test_keyed_stages_answer_as_in_process(driver: Driver) -> None:
    row = row_type(("k", "n"))
    expected = [
        list(pair)
        for key in range(7)
        for pair in Stream.from_iterable([row(n % 7, n) for n in range(1000) if n % 7 == key]) | running_sum
    ]
    assert driver.ask("keyed") == sorted(expected)


def test_executors_that_lack_the_package_are_given_it(driver: Driver) -> None:
    files = driver.ask("files")
    assert files
    assert all(file.endswith("penstock.zip/penstock/__init__.py") for file in files), files


CHAIN = st.tuples(
    st.lists(st.sampled_from(sorted(STEPS)), max_size=5),
    st.lists(st.integers(-(10**6), 10**6), max_size=250),
    st.integers(1, 3),
)


@settings(max_examples=3, deadline=None, phases=[Phase.generate])  # a job each, so what fails is not made smaller
@given(chains=st.lists(CHAIN, min_size=8, max_size=8))
def test_any_chain_of_item_stages_answers_as_in_process(
    driver: Driver, chains: list[tuple[list[str], list[int], int]]
) -> None:
    here = [sorted(Stream.from_iterable([(n,) for n in data]) | chained(names)) for names, data, _ in chains]
    assert driver.ask("chains", chains=chains) == here


@pytest.mark.parametrize("report", [False, True], ids=["told by Spark", "reported"])
def test_a_task_that_fails_twice_repeats_no_row_on_its_way_out(driver: Driver, report: bool) -> None:
    assert driver.ask("retried_egress", rows=6000, parts=3, report=report) == once(6000)


def test_a_task_that_fails_twice_repeats_no_row_on_its_way_in(driver: Driver, tmp_path: Path) -> None:
    assert driver.ask("retried_ingest", rows=6000, folder=str(tmp_path)) == once(6000)


def test_a_task_that_fails_always_is_given_up(driver: Driver) -> None:
    assert driver.ask("hopeless", rows=3000) == ["ExecutorOSError", "not yet", "True"]


def test_a_killed_worker_loses_and_repeats_no_row_on_its_way_out(driver: Driver, tmp_path: Path) -> None:
    driver.ask("executors", count=2)
    try:
        found = driver.ask("killed_egress", rows=16_000, parts=4, folder=str(tmp_path))
    finally:
        driver.cluster.start_workers()
    assert found.pop("killed") >= 4  # the worker, its executor, the daemon of its Python, and a task's process
    assert found.pop("before") < 16_000
    assert found.pop("attempts") == [0, 1]  # both gave a part of the partition
    assert found == once(16_000)


def test_a_killed_worker_loses_and_repeats_no_row_on_its_way_in(driver: Driver, tmp_path: Path) -> None:
    driver.ask("executors", count=2)
    try:
        found = driver.ask("killed_ingest", rows=40_000, folder=str(tmp_path))
    finally:
        driver.cluster.start_workers()
    assert found.pop("killed") >= 4
    assert found.pop("again") > 0  # rows that another attempt has read again
    assert found.pop("asked") >= 40_000
    assert found == once(40_000)


def test_a_killed_worker_loses_and_repeats_no_row_that_executors_read_and_write(driver: Driver, tmp_path: Path) -> None:
    driver.ask("executors", count=2)
    try:
        found = driver.ask("killed_parts", rows=30_000, parts=3, folder=str(tmp_path))
    finally:
        driver.cluster.start_workers()
    assert found.pop("killed") >= 4
    assert found.pop("attempts") > 0  # a sink ran again, for the same epoch and partition
    assert found.pop("written") >= 30_000  # as Spark counts them, the second attempt's too
    assert found == once(30_000)
