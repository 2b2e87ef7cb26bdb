"""Commits: a source that could not be told what Spark has committed fails the run, in the middle and at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Dropped, NotCarriedError, Sink, Stream, branch, set_on_dropped
from penstock.connectors import reading
from penstock.run.carrying.committing import CommitError
from penstock.spark import PlanError, Spark, entry, frame, spark_sink

WAIT = 300


@frame
def same(df: Any) -> Any:
    return df


class Numbers:
    """A reader of the numbers from 1 on, which fails to take note from one of them on."""

    def __init__(self, count: int | None, fails_at: int) -> None:
        self.count = count
        self.fails_at = fails_at
        self.last = 0
        self.told: list[int] = []
        self.closed = threading.Event()

    def stream(self) -> Stream[int]:
        async def opened(_: int | None) -> Numbers:
            return self

        return reading(opened, most=10)

    async def fetch(self, most: int) -> list[tuple[int, int]] | None:
        first = self.last + 1
        self.last = first + most - 1 if self.count is None else min(first + most - 1, self.count)
        return [(number, number) for number in range(first, self.last + 1)] or None

    async def commit(self, position: int) -> None:
        if position >= self.fails_at:
            raise ConnectionError("the server has gone")
        self.told.append(position)

    async def close(self) -> None:
        self.closed.set()


def test_a_source_that_cannot_be_told_of_the_end_fails_the_run(spark: Spark) -> None:
    numbers = Numbers(25, fails_at=25)
    pipeline = numbers.stream() | entry("value long", capacity=10) | same | Sink.count()
    with pytest.raises(CommitError, match=r"^run: a source could not be told what is done at the end: .*the server"):
        pipeline.run(spark).wait(WAIT)
    assert numbers.closed.is_set()


def test_a_source_that_is_told_of_the_end_is_closed_with_the_run(spark: Spark) -> None:
    numbers = Numbers(25, fails_at=26)
    assert (numbers.stream() | entry("value long") | same | Sink.count()).run(spark).wait(WAIT) == 25
    assert numbers.told[-1] == 25
    assert numbers.closed.is_set()


def test_a_source_is_closed_with_a_run_that_needs_no_more_of_it(spark: Spark) -> None:
    numbers = Numbers(None, fails_at=1_000_000)
    assert (numbers.stream() | entry("value long", capacity=10) | same | Sink.first()).run(spark).wait(WAIT)
    assert numbers.closed.is_set()


def test_a_commit_that_fails_in_the_middle_fails_the_run(spark: Spark) -> None:
    numbers = Numbers(None, fails_at=1)
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (numbers.stream() | entry("value long", capacity=10) | same | Sink.count()).run(spark).wait(WAIT)
    assert numbers.closed.wait(WAIT)


@pytest.fixture
def dropped() -> Iterator[list[Dropped]]:
    found: list[Dropped] = []
    before = set_on_dropped(found.append)
    yield found
    set_on_dropped(before)


def test_of_a_query_of_ones_own_the_last_commit_that_fails_is_logged(spark: Spark, dropped: list[Dropped]) -> None:
    numbers = Numbers(25, fails_at=25)
    df = spark.frame(numbers.stream().map(lambda n: (n,)), "n long")
    query = df.writeStream.format("noop").trigger(availableNow=True).start()
    assert query.awaitTermination(WAIT)
    assert numbers.closed.wait(WAIT)
    tick = threading.Event()
    for _ in range(WAIT * 100):
        if dropped:
            break
        tick.wait(0.01)
    assert [each.what for each in dropped] == ["frame: the stream could not be told what is done at the end"]
    assert isinstance(dropped[0].error, ConnectionError)


def test_a_source_that_a_function_makes_is_refused_on_spark_too(spark: Spark) -> None:
    numbers = Numbers(25, fails_at=26)
    hidden = Stream.just(1).flat_map(lambda _: numbers.stream(), concurrency=1)
    with pytest.raises(NotCarriedError, match=r"^resumable: this source wants to be told what is done, and the run"):
        (hidden | entry("value long") | same | Sink.count()).run(spark).wait(WAIT)
    assert numbers.last == 0


def test_a_source_that_several_queries_would_share_is_refused(spark: Spark, tmp_path: Path) -> None:
    numbers = Numbers(25, fails_at=26)

    def written(name: str) -> Sink[Any, Any]:
        return spark_sink(lambda df: df.writeStream.format("parquet").option("path", str(tmp_path / name)))

    ends = branch(written("one"), written("two"))
    with pytest.raises(PlanError, match=r"^run: several queries share .*, which wants to be told what is committed"):
        (numbers.stream() | entry("value long") | same | ends).run(spark).wait(WAIT)
    assert numbers.last == 0
