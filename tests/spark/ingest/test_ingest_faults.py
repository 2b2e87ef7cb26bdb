"""Ingest when something is in the way: a sink that stands still, another's checkpoint, a publisher that breaks off."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Sink, Stream, flow
from penstock.engine.places.clocks import SYSTEM_CLOCK
from penstock.spark import PlanError, Spark
from penstock.spark.ingest.frames import FrameFeed, Ingest
from penstock.spark.ingest.intake import IngestError
from penstock.spark.ingest.spool import SpoolError
from penstock.spark.wire.failure import Kept, original
from penstock.spark.wire.gate import DoorCall
from penstock.spark.wire.schema import Schema
from tests.spark.asker import WAIT, Asker

NUMBERS = "n long"


def numbers(stop: int) -> Stream[tuple[int]]:
    return Stream.range(stop).map(lambda n: (n,))


def fails(start: Callable[[], Any]) -> Exception:
    """Return what a query fails with, without Spark's own words around it."""
    query = start()
    try:
        query.awaitTermination(WAIT)
    except Exception as error:
        return original(error)
    finally:
        query.stop()
    raise AssertionError("it did not fail")


# Bounds.


class Unbounded:
    """A publisher that has any number of rows at once, and knows at each request how many rows were through by then."""

    def __init__(self, through: Callable[[], int]) -> None:
        self._through = through
        self.asked = self.sent = 0
        self.most_ahead = 0
        self.cancelled = threading.Event()

    def subscribe(self, subscriber: Any, /) -> None:
        self._subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int, /) -> None:
        self.asked += n
        self.most_ahead = max(self.most_ahead, self.asked - self._through())
        while self.sent < self.asked and not self.cancelled.is_set():
            self.sent += 1
            self._subscriber.on_next((self.sent - 1,))

    def cancel(self) -> None:
        self.cancelled.set()


def test_a_sink_that_stands_still_lets_the_publisher_stand_still_too(spark: Spark, tmp_path: Path) -> None:
    capacity = 70
    rows: list[int] = []
    stalled, go_on, enough = threading.Event(), threading.Event(), threading.Event()

    def sink(df: Any, number: int) -> None:
        found = [row.n for row in df.collect()]
        if number == 1:
            stalled.set()
            go_on.wait(WAIT)
        rows.extend(found)
        if number == 3:
            enough.set()

    publisher = Unbounded(lambda: len(rows))
    df = spark.frame(publisher, NUMBERS, capacity=capacity)
    query = df.writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        assert stalled.wait(WAIT)
        asked = publisher.asked
        assert asked - len(rows) <= capacity
        assert not go_on.wait(0.5)  # time to ask for more, if it could
        assert publisher.asked - len(rows) <= capacity
        go_on.set()
        assert enough.wait(WAIT)
    finally:
        go_on.set()
        query.stop()
    assert publisher.most_ahead == capacity  # it was asked for all that it might be, and never for more
    assert rows == list(range(len(rows)))
    assert publisher.cancelled.wait(WAIT)


# Publishers that break off.


def test_a_publisher_that_fails_loses_and_repeats_none_of_the_rows_before(spark: Spark, tmp_path: Path) -> None:
    error = LookupError("the feed broke")
    df = spark.frame(numbers(3000).concat(Stream.error(error)), NUMBERS, capacity=500)
    out = tmp_path / "out"

    def start() -> Any:
        writer = df.writeStream.format("parquet").option("path", str(out)).trigger(availableNow=True)
        return writer.option("checkpointLocation", str(tmp_path / "c")).start()

    assert fails(start) is error
    found = spark.session.read.schema(NUMBERS).parquet(str(out))
    row = found.selectExpr("count(*)", "count(distinct n)", "sum(n)", "min(n)", "max(n)").first()
    assert row is not None
    assert tuple(row) == (3000, 3000, sum(range(3000)), 0, 2999)


def test_a_subscriber_that_leaves_ends_the_query_and_the_publisher(spark: Spark) -> None:
    def leave(_: Any) -> None:
        if len(asker.rows) == 10:
            asker.subscription.cancel()

    publisher = Unbounded(lambda: 0)
    asker = Asker(leave)
    spark.stream(spark.frame(publisher, NUMBERS, capacity=100)).subscribe(asker)
    asker.subscription.request(10**9)
    assert publisher.cancelled.wait(WAIT)
    gone(spark)
    assert [row.n for row in asker.rows] == list(range(10))
    assert asker.ends == []


def gone(spark: Spark) -> None:
    """Wait until no query runs."""
    pause = threading.Event()
    for _ in range(int(WAIT * 20)):
        if not spark.session.streams.active:
            return
        pause.wait(0.05)
    raise AssertionError("a query still runs")


# Checkpoints of others.


@flow
def shouted(words: Stream[str]) -> Stream[str]:
    return words.map(str.upper)


def test_a_checkpoint_that_cannot_be_written_is_refused(spark: Spark, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    message = f"run: checkpoint must be a folder that can be written, got {file}: File exists"
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        (Stream.just("a") | shouted | Sink.count()).run(spark, file).wait(WAIT)
    message = f"stream: checkpoint must be a folder that can be written, got {file}: File exists"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        spark.stream(spark.frame(numbers(3), NUMBERS), checkpoint=file).count().get()


def test_a_checkpoint_of_another_kind_of_query_is_refused(spark: Spark, tmp_path: Path) -> None:
    def run(df: Any) -> Any:
        writer = df.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
        return writer.trigger(availableNow=True).start()

    rate = spark.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    first = run(rate.selectExpr("value AS n"))
    assert first.awaitTermination(WAIT)
    error = fails(lambda: run(spark.frame(numbers(3), NUMBERS)))
    assert isinstance(error, ValueError)
    assert re.fullmatch(
        r"frame: the checkpoint is at .*, which is no row of a stream; it belongs to another query", error.message
    ), error.message


def test_a_spool_of_another_schema_or_no_folder_is_refused(spark: Spark, tmp_path: Path) -> None:
    def run(schema: str, spool: Path) -> Any:
        df = spark.frame(numbers(3), schema, spool=spool)
        return df.writeStream.format("noop").trigger(availableNow=True).start()

    spool = tmp_path / "spool"
    assert run(NUMBERS, spool).awaitTermination(WAIT)
    error = fails(lambda: run("m double", spool))
    assert isinstance(error, SpoolError)
    assert str(error) == f"spool: {spool} holds rows of another schema: n: int64"
    file = tmp_path / "file"
    file.touch()
    error = fails(lambda: run(NUMBERS, file))
    assert isinstance(error, SpoolError)
    assert str(error) == f"spool: it must be a folder that can be written, got {file}: File exists"


# What is left at the gate.


def ingest() -> Ingest:
    return Ingest(FrameFeed(numbers(10**9), Schema.of("n long"), 10, 1.0, None, None, SYSTEM_CLOCK))


def test_a_task_of_a_query_that_has_ended_begins_nothing(spark: Spark) -> None:
    door = ingest()
    with pytest.raises(IngestError, match=r"^frame: the query that planned this task has ended$"):
        door.get({"run": "gone", "row": 0, "end": 10})
    assert door.intakes == []


def test_a_door_is_let_go_when_its_last_query_has_ended(spark: Spark) -> None:
    door = ingest()
    let_go: list[str] = []
    assert door.act(DoorCall(lambda: False), "begin", {"run": "one"}) == {"row": 0}
    door.act(DoorCall(lambda: False), "begin", {"run": "two"})
    door.retire(lambda: let_go.append("now"))
    door.act(DoorCall(lambda: True), "lease", {"run": "one"})
    assert let_go == []
    door.act(DoorCall(lambda: True), "lease", {"run": "two"})
    assert let_go == ["now"]
    assert door.intakes == []
    idle = ingest()
    idle.retire(lambda: let_go.append("at once"))
    assert let_go == ["now", "at once"]


def test_flows_and_pipelines_leave_no_door_behind(spark: Spark) -> None:
    before = {address.door for address, _ in spark.gate.admitted()}
    identity = spark.flow(lambda df: df, NUMBERS)
    assert numbers(3).via(identity).count().get() == 3
    assert list(numbers(10**9).via(identity).take(2)) == [(0,), (1,)]
    assert (Stream.just("a") | shouted | Sink.count()).run(spark).wait(WAIT) == 1
    pause = threading.Event()
    for _ in range(int(WAIT * 20)):  # until the processes that planned the queries have gone
        left = {address.door for address, _ in spark.gate.admitted()} - before
        if not left:
            break
        pause.wait(0.05)
    assert left == set()


def test_the_latest_failures_are_kept_and_no_others() -> None:
    kept = Kept(most=3)
    errors = [LookupError(str(number)) for number in range(5)]
    words = [RuntimeError(kept.keep(f"{number:016x}", error)) for number, error in enumerate(errors)]
    assert [kept.original(each) for each in words] == [*words[:2], *errors[2:]]
