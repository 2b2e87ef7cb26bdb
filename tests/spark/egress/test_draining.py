"""draining: stop() lets the micro-batch of a Spark source that runs come to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as f

from penstock import Sink
from penstock.spark import Spark, frame, spark_sink, spark_source
from penstock.spark.egress.draining import stop_after_batch, stop_now
from penstock.spark.pipeline import work

WAIT = 120
ROWS = 10


def rate(session: Any) -> Any:
    return session.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()


def test_a_sink_of_sparks_own_has_whole_micro_batches(spark: Spark, tmp_path: Path) -> None:
    inside, released = threading.Event(), threading.Event()
    whole: list[int] = []

    def write(df: Any, batch: int) -> None:
        inside.set()
        assert released.wait(WAIT)
        whole.append(batch)

    run = (spark_source(rate) | spark_sink(lambda df: df.writeStream.foreachBatch(write))).run(spark, tmp_path)
    assert inside.wait(WAIT)
    run.stop()
    assert not run.done
    released.set()
    run.wait(WAIT)
    committed = sorted(int(file.name) for file in (tmp_path / "query" / "commits").iterdir() if file.name.isdigit())
    assert committed[0] == whole[0] == 0


def test_a_sink_of_this_process_gets_whole_micro_batches(spark: Spark) -> None:
    got: list[int] = []
    second = threading.Event()

    def take(row: Any) -> None:
        got.append(row.value)
        if len(got) > ROWS:
            second.set()  # so one micro-batch is through

    values: Callable[[Any], Any] = lambda df: df.select("value")  # noqa: E731
    run = (spark_source(rate) | frame(values) | Sink.for_each(take)).run(spark)
    assert second.wait(WAIT)
    for report in run.progress_every(0.1):
        if report.batches:  # Spark tells of a micro-batch a little after its rows
            break
    run.stop()
    assert run.wait(WAIT) == len(got)
    assert len(got) % ROWS == 0


def test_a_stop_in_the_middle_of_a_micro_batch_is_no_failure(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "stop_after_batch", stop_now)  # as if the next one had begun before Spark heard of it
    got: list[int] = []
    slowly = f.udf(lambda n: threading.Event().wait(0.2) or n, "long")
    values: Callable[[Any], Any] = lambda df: df.select(slowly("value").alias("value"))  # noqa: E731
    run = (spark_source(rate) | frame(values) | Sink.for_each(lambda row: got.append(row.value))).run(spark)
    for report in run.progress_every(0.1):
        if report.batches:
            break
    run.stop()
    assert run.wait(WAIT) == len(got)
    assert len(got) % ROWS == 0


class Query:
    """Be a query that is in the middle of a micro-batch for some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.stopped = 0
        self.isActive = True

    @property
    def status(self) -> dict[str, bool]:
        self.looks -= 1
        return {"isTriggerActive": self.looks >= 0}

    lastProgress = None

    def stop(self) -> None:
        self.stopped += 1


def test_it_waits_for_a_micro_batch_and_not_without_one() -> None:
    for looks in (0, 3):
        query = Query(looks)
        stop_after_batch(query)
        assert query.stopped == 1
        assert query.looks == -1
