"""Partitions of a Kafka topic that executors open: each record once, by its offset, also after a restart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Stream
from penstock.connectors import kafka
from penstock.spark import Spark
from tests.connectors.kafka.server import MockCluster

COUNT = 400


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    """Run a mock cluster, which the processes of executors reach too."""
    one = MockCluster()
    yield one
    one.stop()


def written(cluster: MockCluster, first: int, end: int) -> None:
    records = [kafka.Record.of(b"%d" % n, topic="numbers", partition=n % 4) for n in range(first, end)]
    (Stream.from_iterable(records) | kafka.sink(servers=cluster.servers)).run().wait()


@pytest.mark.proves(
    "kafka.source", "partitions on executors, the query started again", "each record once, by its offset"
)
def test_executors_read_partitions_and_a_second_query_goes_on(
    spark: Spark, cluster: MockCluster, tmp_path: Path
) -> None:
    written(cluster, 0, COUNT)
    parts = kafka.parts("numbers", servers=cluster.servers, group="spark", live=False)
    assert parts() == ["numbers/0", "numbers/1", "numbers/2", "numbers/3"]

    def row(record: kafka.Record) -> tuple[int, int, int, int]:  # in here, since executors do not know this module
        return (record.partition, record.offset, int(record.value or b""), os.getpid())

    def query() -> list[Any]:
        df = spark.partitioned(
            parts,
            parts.rows(row),
            "part int, at long, n long, pid int",
            streaming=True,
            start=parts.start,
            commit=parts.commit,
        )
        return [tuple(one) for one in spark.stream(df, checkpoint=tmp_path / "checkpoint")]

    first = query()
    assert sorted(n for _, _, n, _ in first) == list(range(COUNT))
    assert all(n == 4 * at + part for part, at, n, _ in first)
    assert os.getpid() not in {pid for *_, pid in first}
    written(cluster, COUNT, COUNT + 40)
    assert sorted(n for _, _, n, _ in query()) == list(range(COUNT, COUNT + 40))
