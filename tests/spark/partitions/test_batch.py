from __future__ import annotations

import os
import re
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException

from penstock import Stream
from penstock.spark import Spark, StageError
from penstock.spark.partitions.batch import elements_of


def collected(spark: Spark, partitions: Any, opened: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.partitioned(partitions, opened, "part string, n long").collect()]


def test_each_partition_is_a_stream_opened_on_an_executor(spark: Spark) -> None:
    def rows(part: str) -> Stream[tuple[str, int]]:
        return Stream.range(3).map(lambda n: (part, n))

    frame = spark.partitioned(["a", "b", "c"], rows, "part string, n long")
    assert frame.rdd.getNumPartitions() == 3
    assert [tuple(row) for row in frame.collect()] == [(part, n) for part in "abc" for n in range(3)]


def test_no_row_passes_through_the_driver(spark: Spark) -> None:
    found = collected(spark, [1, 2], lambda part: [(str(part), os.getpid())])
    assert os.getpid() not in {pid for _, pid in found}


def test_partitions_may_be_iterables_publishers_async_iterables_or_arrow_batches(spark: Spark) -> None:
    async def later() -> AsyncIterator[tuple[str, int]]:
        yield ("async", 1)

    def generated() -> Iterator[tuple[str, int]]:
        yield ("generator", 2)

    class Foreign:
        def subscribe(self, subscriber: Any, /) -> None:
            Stream.just(("publisher", 3)).subscribe(subscriber)

    def opened(part: str) -> Any:
        batch = pa.RecordBatch.from_pydict({"n": [4], "part": ["arrow"]})
        return {"async": later, "generator": generated, "publisher": Foreign, "arrow": lambda: [batch]}[part]()

    found = collected(spark, ["async", "generator", "publisher", "arrow"], opened)
    assert found == [("async", 1), ("generator", 2), ("publisher", 3), ("arrow", 4)]


def test_many_rows_cross_many_batches(spark: Spark) -> None:
    frame = spark.partitioned([0, 1], lambda part: Stream.range(part * 30_000, (part + 1) * 30_000), "n long")
    row = frame.selectExpr("count(*) as c", "sum(n) as s", "count(distinct n) as d").first()
    assert row is not None
    assert tuple(row) == (60_000, sum(range(60_000)), 60_000)


def test_no_partitions_give_an_empty_frame(spark: Spark) -> None:
    assert collected(spark, [], lambda part: []) == []


def test_an_error_names_the_partition(spark: Spark) -> None:
    def broken(part: int) -> Stream[Any]:
        return Stream.just(("a", part)) if part else Stream.error(OSError("no such shard"))

    with pytest.raises(PythonException, match=r"(?s)OSError: no such shard.*in partition 0, opened with .*broken"):
        collected(spark, [0], broken)


def test_what_is_not_a_stream_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^partitioned: open must return a Stream or an iterable, got 5$"):
        elements_of(5)


def test_what_cannot_be_sent_is_named(spark: Spark) -> None:
    lock = threading.Lock()

    def guarded(part: Any) -> Any:
        return [lock, part]

    cure = "cannot pickle '_thread.lock' object; open what it holds (a connection, a lock, a file) inside open"
    for partitions, opened, name in (
        ([1, lock], list, "partition 1"),
        ([1], guarded, "open (test_what_cannot_be_sent_is_named.guarded)"),
    ):
        message = f"partitioned: {name} cannot be sent to the executors: {cure}"
        with pytest.raises(StageError, match=f"^{re.escape(message)}$"):
            spark.partitioned(partitions, opened, "n long")
    with pytest.raises(TypeError, match=r"^partitioned: open must be callable, got 5$"):
        spark.partitioned([1], 5, "n long")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["shards", 3])
def test_parts_are_a_collection(spark: Spark, given: Any) -> None:
    message = f"partitioned: partitions must be a collection of parts, got {given!r}; [...] is one"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        spark.partitioned(given, list, "n long")
