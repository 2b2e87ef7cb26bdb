"""What is told of a run while it goes on: rows that are kept, and up to which time."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from penstock import Sink, Stream
from penstock.run import Progress
from penstock.spark import Spark, entry, frame

WAIT = 300
NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)


def hourly(df: DataFrame) -> DataFrame:
    return df.withWatermark("at", "30 minutes").groupBy(f.window("at", "1 hour")).count().select("count")


def at(hours: int) -> tuple[int, dt.datetime]:
    return hours, NOON + dt.timedelta(hours=hours)


def of_windows(spark: Spark, few_partitions: None) -> list[Progress]:
    """Return what is known whenever a row comes out of hourly windows, and at the end."""
    told: list[Progress] = []
    rows = Stream.range(6).map(at)
    pipeline = rows | entry("n long, at timestamp", capacity=1) | frame(hourly)
    run: Any = (pipeline | Sink.for_each(lambda _: told.append(run.now()))).run(spark)
    run.wait(WAIT)
    return [*told, run.now()]


def test_the_rows_that_are_kept_and_the_watermark_are_told(spark: Spark, few_partitions: None) -> None:
    told = of_windows(spark, few_partitions)
    kept = [each.state_rows for each in told if each.state_rows is not None]
    assert kept[0] > 0, "windows that are open"
    assert kept[-1] == 0, "the end closes all windows"
    times = [each.watermark for each in told if each.watermark is not None]
    assert times == sorted(times)
    assert times[0].startswith("2026-01-05T")
    assert "2026-01-05T12:00:00.000Z" < times[-1] < "2026-01-05T17:00:00.000Z", "before the last row"


def test_a_run_that_keeps_nothing_tells_of_none(spark: Spark) -> None:
    run = (Stream.range(3).map(at) | entry("n long, at timestamp") | frame(lambda df: df) | Sink.count()).run(spark)
    assert run.wait(WAIT) == 3
    assert (run.now().state_rows, run.now().watermark) == (None, None)


def test_rows_that_do_not_fit_are_no_lag(spark: Spark) -> None:
    stays = threading.Event()

    def given() -> Iterator[Any]:
        yield from (1, "two", 3, "four", 5)
        stays.wait(WAIT)

    letters = Sink.for_each(lambda _: None)
    rows = Stream.from_iterable(given()) | entry("n long", capacity=2, latency=0.1, dead_letter=letters)
    run = (rows | Sink.count()).run(spark)
    assert any(report.rows_in == 5 and report.lag == 0 for report in run.progress_every(0.05).take(600))
    stays.set()
    assert run.wait(WAIT) == 3
