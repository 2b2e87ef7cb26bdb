"""When a run has ended, nothing works for it any more, and it has given out nothing as final that was not."""

from __future__ import annotations

import datetime as dt
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as f

from penstock import Dropped, RunCancelledError, Sink, Stream, branch, set_on_dropped
from penstock.spark import Spark, StoppedElsewhereError, entry, frame, spark_sink, spark_source
from penstock.spark.egress import microbatch
from penstock.spark.pipeline import run as pipeline_run
from penstock.spark.wire.gate import GateError

WAIT = 600
NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
ROWS, PART = 600, 330

pytestmark = pytest.mark.usefixtures("few_partitions")


class Numbers:
    """Numbers of which only a part comes until the others are let come."""

    def __init__(self) -> None:
        self.others = threading.Event()

    def __call__(self, after: int) -> Iterator[int]:
        """Give the numbers from one on."""
        for n in range(after, ROWS):
            if n == PART:
                self.others.wait(WAIT)
            yield n

    def stream(self) -> Any:
        """Return them as rows with times, on their way into Spark."""
        rows = Stream.resumable(self, counted=True).map(lambda n: (n, NOON + dt.timedelta(seconds=n)))
        return rows | entry("n long, at timestamp", latency=0.1) | frame(lambda df: df.withWatermark("at", "5 seconds"))


@pytest.fixture
def numbers() -> Iterator[Numbers]:
    """Return numbers that are let go on at the end, whatever happens."""
    found = Numbers()
    yield found
    found.others.set()


class SlowStop:
    """A stop of queries that waits until it is let go on."""

    def __init__(self, stop: Callable[[Any], None]) -> None:
        self._stop = stop
        self.asked, self.let = threading.Event(), threading.Event()

    def __call__(self, query: Any) -> None:
        """Wait, then stop the query."""
        self.asked.set()
        self.let.wait(WAIT)
        self._stop(query)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowStop]:
    """Let queries whose rows come back be stopped slowly."""
    found = SlowStop(microbatch.stop_now)
    monkeypatch.setattr(microbatch, "stop_now", found)
    yield found
    found.let.set()


def windows(df: Any) -> Any:
    """Count the rows of each minute."""
    counted = df.groupBy(f.window("at", "1 minute")).agg(f.count("*").alias("rows"))
    noon = int(NOON.timestamp())
    return counted.select(((f.col("window.start").cast("long") - noon) / 60).cast("int").alias("minute"), "rows")


def parquet(folder: Path) -> Any:
    """Write into a folder."""
    return spark_sink(lambda df: df.writeStream.format("parquet").option("path", str(folder)))


def active(spark: Spark) -> set[str]:
    """Return the queries that run."""
    return {str(query.runId) for query in spark.session.streams.active}


def caught_up(run: Any) -> None:
    """Wait until all rows that have come are committed."""
    pause = threading.Event()
    while run.now().rows_in < PART or run.now().lag != 0:
        assert not run.done
        pause.wait(0.05)


def test_a_failure_is_told_once_the_other_query_has_ended(
    spark: Spark, numbers: Numbers, slow: SlowStop, tmp_path: Path
) -> None:
    before = active(spark)
    graph = numbers.stream() | branch(
        frame(windows) | Sink.for_each(lambda _: None),
        frame(lambda df: df.select(f.expr("if(n = 300, raise_error('broken'), n) as n"))) | parquet(tmp_path / "out"),
    )
    run = graph.run(spark, checkpoint=tmp_path / "checkpoint")
    assert slow.asked.wait(WAIT)  # the first query is to be stopped, as the second one has failed
    with pytest.raises(TimeoutError):
        run.wait(1)
    slow.let.set()
    with pytest.raises(Exception, match="broken"):
        run.wait(WAIT)
    assert active(spark) <= before  # what a test before this one has left may have ended meanwhile


def test_a_query_that_is_slow_to_start_does_not_start_beside_the_next_run(
    spark: Spark, numbers: Numbers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would stop the query of the next run then, as both have one checkpoint."""
    before, taken, let = active(spark), [], threading.Event()
    start, calls = microbatch.start, iter(range(10))

    def late(*given: Any) -> Any:
        if next(calls) == 0:
            let.wait(WAIT)
        return start(*given)

    def graph(expression: str) -> Any:
        return numbers.stream() | branch(
            frame(windows) | Sink.for_each(lambda row: taken.append(tuple(row))),
            frame(lambda df: df.select(f.expr(expression))) | parquet(tmp_path / "out"),
        )

    monkeypatch.setattr(microbatch, "start", late)
    run = graph("if(n = 300, raise_error('broken'), n) as n").run(spark, checkpoint=tmp_path / "checkpoint")
    pause = threading.Event()
    while run.failure is None:
        pause.wait(0.05)
    try:
        with pytest.raises(TimeoutError):
            run.wait(1)
    finally:
        let.set()
    with pytest.raises(Exception, match="broken"):
        run.wait(WAIT)
    assert active(spark) <= before  # what a test before this one has left may have ended meanwhile
    numbers.others.set()
    graph("n").run(spark, checkpoint=tmp_path / "checkpoint").wait(WAIT)
    assert sorted(taken) == [(minute, 60) for minute in range(10)]
    assert spark.session.read.parquet(str(tmp_path / "out")).count() == ROWS


def test_a_query_that_does_not_end_is_waited_for_only_so_long(
    spark: Spark, numbers: Numbers, slow: SlowStop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_run, "PATIENCE", 0.1)
    dropped: list[Dropped] = []
    before = set_on_dropped(dropped.append)
    try:
        run = (numbers.stream() | Sink.for_each(lambda _: None)).run(spark)
        caught_up(run)
        run.cancel()
        with pytest.raises(RunCancelledError):
            run.wait(WAIT)
    finally:
        set_on_dropped(before)
    said = "run: it is over, and a query of it has not ended within 0.1 seconds"
    assert [(each.what, each.element) for each in dropped] == [(said, "query 1 of 1")]


def test_a_session_that_is_closed_makes_no_window_final(spark: Spark, numbers: Numbers, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = {address.door for address, _ in spark.gate.admitted()}
    run = (numbers.stream() | frame(windows) | parquet(out)).run(spark, checkpoint=tmp_path / "checkpoint")
    caught_up(run)
    for address, door in reversed(spark.gate.admitted()):
        if address.door not in before:
            door.close()  # as the gate does when it is closed
    with pytest.raises(GateError, match=r"^run: the Spark session was closed$"):
        run.wait(WAIT)
    numbers.others.set()
    (numbers.stream() | frame(windows) | parquet(out)).run(spark, checkpoint=tmp_path / "checkpoint").wait(WAIT)
    found = sorted(tuple(row) for row in spark.session.read.parquet(str(out)).collect())
    assert found == [(minute, 60) for minute in range(10)]


def test_a_query_whose_streams_were_let_go_of_fails_and_makes_no_window_final(
    spark: Spark, numbers: Numbers, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    before = {address.door for address, _ in spark.gate.admitted()}
    run = (numbers.stream() | frame(windows) | parquet(out)).run(spark, checkpoint=tmp_path / "checkpoint")
    caught_up(run)
    for address, door in spark.gate.admitted():
        if address.door not in before:
            door.close()  # the stream first
            break
    with pytest.raises(Exception, match=r"frame: the (query was ended before its stream|Spark session was closed)"):
        run.wait(WAIT)
    numbers.others.set()
    (numbers.stream() | frame(windows) | parquet(out)).run(spark, checkpoint=tmp_path / "checkpoint").wait(WAIT)
    found = sorted(tuple(row) for row in spark.session.read.parquet(str(out)).collect())
    assert found == [(minute, 60) for minute in range(10)]


def test_a_stop_leaves_the_jobs_alone_that_make_a_query(spark: Spark, numbers: Numbers, tmp_path: Path) -> None:
    begun, stopped, counted = threading.Event(), threading.Event(), []

    def made(df: Any) -> Any:
        begun.set()
        assert stopped.wait(WAIT)
        counted.extend(df.sparkSession.range(number).count() for number in range(20))
        return df.writeStream.format("parquet").option("path", str(tmp_path / "out"))

    run = (numbers.stream() | spark_sink(made)).run(spark, checkpoint=tmp_path / "checkpoint")
    assert begun.wait(WAIT)
    run.stop()
    stopped.set()
    assert run.wait(WAIT) == 0
    assert counted == list(range(20))


def test_a_query_that_the_function_has_started_ends_with_its_streams(spark: Spark) -> None:
    started = spark_sink(lambda df: df.writeStream.format("noop").start())
    assert (Stream.range(300) | entry("n long") | started).run(spark).wait(WAIT) == 300


def test_a_query_that_was_started_without_the_checkpoint_is_stopped_and_refused(spark: Spark, tmp_path: Path) -> None:
    started = spark_sink(lambda df: df.writeStream.format("noop").start())
    with pytest.raises(TypeError, match=r"^spark_sink: .*; return the writer without start\(\)$"):
        (Stream.range(3) | entry("n long") | started).run(spark, tmp_path / "checkpoint").wait(WAIT)
    assert not active(spark)


def test_a_run_that_is_cancelled_before_its_write_has_begun_writes_nothing(spark: Spark, tmp_path: Path) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    def made(df: Any) -> Any:
        begun.set()
        assert cancelled.wait(WAIT)
        return df.write.format("parquet").option("path", str(tmp_path / "out"))

    slowly = f.udf(lambda n: threading.Event().wait(0.05) or n, "long")
    run = (spark_source(lambda session: session.range(4000).select(slowly("id"))) | spark_sink(made)).run(spark)
    assert begun.wait(WAIT)
    run.cancel()
    cancelled.set()
    with pytest.raises(RunCancelledError):
        run.wait(WAIT)
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.parametrize("native", [False, True])
def test_a_run_whose_query_is_stopped_by_another_run_does_not_end_well(
    spark: Spark, numbers: Numbers, tmp_path: Path, *, native: bool
) -> None:
    def started() -> Any:
        end: Any = parquet(tmp_path / "out") if native else Sink.for_each(lambda _: None)
        return (numbers.stream() | end).run(spark, checkpoint=tmp_path / "checkpoint")

    first = started()
    caught_up(first)
    second = started()
    with pytest.raises(StoppedElsewhereError, match="another run is started from the same checkpoint"):
        first.wait(WAIT)
    numbers.others.set()
    assert second.wait(WAIT) == ROWS - PART


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_a_function_of_the_users_for_each_batch_is_let_go_of_with_its_thread(
    spark: Spark, fails: bool, started: bool
) -> None:
    threads: list[threading.Thread] = []

    def batch(df: Any, number: int) -> None:
        threads.append(threading.current_thread())
        if df.count() and fails:
            raise LookupError("it is wrong")

    held = weakref.ref(batch)

    def written(df: Any) -> Any:
        writer = df.writeStream.foreachBatch(held())
        return writer.start() if started else writer

    run = (Stream.from_iterable([1, 2, 3]) | entry("n long") | spark_sink(written)).run(spark)
    if fails:
        with pytest.raises(LookupError, match="it is wrong"):
            run.wait(WAIT)
    else:
        assert run.wait(WAIT) == 3
    del batch
    assert threads
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    gc.collect()
    assert fails or held() is None  # a log that was captured holds the error, and so the function that raised it
