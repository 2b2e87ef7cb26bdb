"""failing_programs: fail in an executor, be cancelled, and fail without penstock; what is printed is looked at."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from penstock import RunCancelledError, Sink, Stream, flow
from penstock.spark import Spark, entry, executor_sink, spark_sink
from penstock.spark.wire.failure import ExecutorError
from tests.spark import kinds
from tests.spark.processes import QUICK_JVM


def say(word: str) -> None:
    print(word, file=sys.stderr, flush=True)


def refuse(_: Any, batch: int) -> None:
    raise LookupError(batch)


def failing_write(spark: Spark) -> None:
    """Fail in a function of the user's that Spark calls, in a query whose name is the user's."""
    end = spark_sink(lambda df: df.writeStream.queryName("users").foreachBatch(refuse))
    with pytest.raises(LookupError, match=r"^LookupError: 0\n"):
        (Stream.range(3) | entry("n long") | end).run(spark).wait(kinds.WAIT)


def failing_sinks(spark: Spark) -> None:
    """Fail in a sink on an executor, whose text is long."""
    end = executor_sink(lambda part: Sink.for_each(lambda row: refuse(row, part.epoch)))
    with pytest.raises(LookupError, match=r"^LookupError: 0\n"):
        (Stream.range(3) | entry("n long") | end).run(spark).wait(kinds.WAIT)


def failing_batch_sinks(spark: Spark) -> None:
    """Fail in a sink on an executor that a batch is written to."""
    with pytest.raises(LookupError, match=r"^LookupError: 0\n"):
        spark.write(spark.session.range(3), lambda part: Sink.for_each(lambda row: refuse(row, part.epoch)))


def cancelled_sinks(spark: Spark) -> None:
    """Cancel sinks on an executor that are at work; they would go on until their file is gone."""
    with tempfile.TemporaryDirectory(prefix="failing-") as folder:
        begun, held = Path(folder, "begun"), Path(folder, "held")
        os.mkfifo(begun)
        held.touch()

        def work(_: object) -> None:
            begun.write_text("x")
            while held.exists():
                time.sleep(0.01)

        end = executor_sink(lambda part: Sink.for_each(work))
        run = (Stream.range(3) | entry("n long") | end).run(spark)
        assert begun.read_text() == "x"
        run.cancel()
        with pytest.raises(RunCancelledError):
            run.wait(kinds.WAIT)
        while query_runs(spark):
            time.sleep(0.01)


def query_runs(spark: Spark) -> bool:
    return bool(spark.session.streams.active)


def unknown_format(spark: Spark) -> None:
    end = spark_sink(lambda df: df.writeStream.format("nowhere"))
    with pytest.raises(Exception, match=r"^\[DATA_SOURCE_NOT_FOUND\] .*nowhere.*$") as caught:
        (Stream.range(3) | entry("n long") | end).run(spark).wait(kinds.WAIT)
    assert caught.value.__cause__ is None


def lost_worker(spark: Spark) -> None:
    leaving = flow(lambda rows: rows.map(lambda row: os._exit(9)))
    frame = spark.session.range(1).transform(spark.stage(leaving, "n long"))
    with pytest.raises(ExecutorError, match=r"^WorkerLost: a Python worker of an executor has ended [^\n]*$"):
        list(spark.stream(frame))


def main() -> None:
    with Spark(master="local[1]", conf={"spark.driver.extraJavaOptions": QUICK_JVM}) as spark:
        say("OURS")
        kinds.failing_batch(spark)
        kinds.failing(spark)
        kinds.cancelled(spark)
        failing_write(spark)
        failing_sinks(spark)
        failing_batch_sinks(spark)
        cancelled_sinks(spark)
        unknown_format(spark)
        lost_worker(spark)
        say("THEIRS")
        try:
            spark.session.range(1).rdd.map(lambda row: 1 // row.id).collect()
        except Exception:
            say("END")


if __name__ == "__main__":
    main()
