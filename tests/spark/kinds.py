"""kinds: one short run of each kind that a session can be asked for."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from penstock import RunCancelledError, Sink, Stream, flow
from penstock.spark import Spark, entry, keyed_by

WAIT = 120.0


@flow
def plus_one(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n + 1)


@flow
def refusing(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: 1 // (n - 3))


@dataclass
class Pair:
    key: int
    n: int


@flow
def two(pairs: Stream[Pair]) -> Stream[Pair]:
    return pairs.take(2)


def live(spark: Spark) -> None:
    run = (Stream.range(5) | entry("n long") | plus_one | Sink.to_list()).run(spark)
    assert run.wait(WAIT) == [1, 2, 3, 4, 5]


def with_checkpoint(spark: Spark) -> None:
    with tempfile.TemporaryDirectory(prefix="kinds-") as folder:
        for rows in (5, 0):
            assert (Stream.range(5) | entry("n long") | Sink.count()).run(spark, folder).wait(WAIT) == rows


def cancelled(spark: Spark) -> None:
    came = threading.Event()
    numbers = Stream.from_iterable(itertools.count())
    run = (numbers | entry("n long", capacity=100) | Sink.for_each(lambda _: came.set())).run(spark)
    assert came.wait(WAIT)
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait(WAIT)


def failing(spark: Spark) -> None:
    run = (Stream.range(5) | entry("n long") | refusing | Sink.count()).run(spark)
    with pytest.raises(ZeroDivisionError):
        run.wait(WAIT)


def keyed(spark: Spark) -> None:
    pairs = Stream.range(6).map(lambda n: Pair(n % 2, n))
    assert (pairs | entry(Pair) | keyed_by(two, "key") | Sink.count()).run(spark).wait(WAIT) == 4


def left_early(spark: Spark) -> None:
    assert len(list(spark.stream(spark.session.range(10_000)).take(3))) == 3


def whole_batch(spark: Spark) -> None:
    assert len(list(spark.stream(spark.session.range(50)))) == 50


def failing_batch(spark: Spark) -> None:
    divided = flow(lambda rows: rows.map(lambda row: 1 // row.id))
    frame = spark.session.range(5).transform(spark.stage(divided, "n long"))
    with pytest.raises(ZeroDivisionError):
        list(spark.stream(frame))


def open_part(part: int) -> Stream[int]:
    return Stream.range(3)


def partitions(spark: Spark) -> None:
    assert spark.partitioned([1, 2], open_part, "n long").count() == 6


def open_from(part: int, row: int) -> Stream[int]:
    return Stream.range(row, 3)


def live_partitions(spark: Spark) -> None:
    shards = spark.partitioned([1, 2], open_from, "n long", streaming=True)
    assert len(list(spark.stream(shards))) == 6


def live_frame(spark: Spark) -> None:
    """Read a live stream by a query of Spark's own, outside of any pipeline."""
    frame = spark.frame(Stream.range(5).map(lambda n: (n,)), "n long")
    query = frame.selectExpr("n + 1 AS n").writeStream.format("noop").trigger(availableNow=True).start()
    assert query.awaitTermination(WAIT)
    assert sum(each.numInputRows for each in query.recentProgress) == 5


KINDS: dict[Callable[[Spark], None], int] = {
    live: 4, with_checkpoint: 1, cancelled: 4, failing: 2, keyed: 2, left_early: 36, whole_batch: 24,
    failing_batch: 1, partitions: 20, live_partitions: 2, live_frame: 4,
}  # fmt: skip
"""How often each is run; together a hundred times."""
