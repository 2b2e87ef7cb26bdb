"""query_ends and stream_readers: a query over live streams ends with them, also by the way of a PySpark before 4.2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as f

from penstock import Sink, Stream
from penstock.spark import Spark, entry, frame, spark_sink
from penstock.spark.versions import stream_readers
from penstock.spark.versions.query_ends import doors_of
from penstock.spark.versions.stream_readers import RememberingReader

NUMBERS = "n long"


@pytest.fixture(params=["installed", "before 4.2"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Go the way of the installed PySpark, and that of one before 4.2, which every later one still knows."""
    if request.param == "before 4.2":
        monkeypatch.setattr(stream_readers, "SAYS_START", False)
    return str(request.param)


def upto(stop: int) -> Any:
    return lambda row: Stream.range(row, stop).map(lambda n: (n,))


def test_a_stream_ends_after_all_its_rows(spark: Spark, path: str) -> None:
    live = spark.frame(Stream.range(1000), NUMBERS, capacity=300)
    assert sorted(row.n for row in spark.stream(live)) == list(range(1000))


def test_a_restart_goes_on_where_it_was_and_ends_again(spark: Spark, path: str, tmp_path: Path) -> None:
    def rows(stop: int) -> list[int]:
        live = spark.frame(upto(stop), NUMBERS)
        return [row.n for row in spark.stream(live, checkpoint=tmp_path / "checkpoint")]

    assert rows(100) == list(range(100))
    assert rows(100) == []
    commits = tmp_path / "checkpoint" / "commits"
    last = max((each for each in commits.iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
    last.unlink()  # as if the driver had died between our note and Spark's
    (commits / f".{last.name}.crc").unlink()
    assert rows(150) == list(range(100, 150))


def test_two_streams_in_one_query_end_both(spark: Spark, path: str) -> None:
    one = spark.frame(Stream.range(300), NUMBERS)
    two = spark.frame(Stream.range(300, 900), NUMBERS, capacity=200)
    both = one.union(two)
    assert len(doors_of(both)) == 2
    assert sorted(row.n for row in spark.stream(both)) == list(range(900))


def test_windows_that_the_watermark_closes_come_before_the_end(spark: Spark, path: str) -> None:
    live = spark.frame(Stream.range(100), NUMBERS).select(f.timestamp_seconds("n").alias("at"))
    counted = live.withWatermark("at", "0 seconds").groupBy(f.window("at", "10 seconds")).count()
    counts = [row.rows for row in spark.stream(counted.selectExpr("count AS rows"))]
    assert counts[:9] == [10] * 9  # the tenth is closed by no later row


def test_a_failure_of_the_stream_is_the_failure_of_the_query(spark: Spark, path: str) -> None:
    live = spark.frame(Stream.just((1,)).concat(Stream.error(LookupError("the feed broke"))), NUMBERS)
    with pytest.raises(LookupError, match=r"^the feed broke$"):
        list(spark.stream(live))


def test_a_pipeline_to_a_sink_of_spark_ends(spark: Spark, path: str, tmp_path: Path) -> None:
    def files(df: Any) -> Any:
        return df.writeStream.format("parquet").option("path", str(tmp_path / "out"))

    source = Stream.range(500) | entry(NUMBERS) | frame(lambda df: df.where("n % 2 = 0"))
    assert (source | spark_sink(files)).run(spark, checkpoint=tmp_path / "checkpoint").wait() == 250
    assert spark.session.read.parquet(str(tmp_path / "out")).count() == 250


def test_spark_in_the_middle_of_a_stream_ends(spark: Spark, path: str) -> None:
    doubled = spark.flow(lambda df: df.selectExpr("n * 2 AS n"), NUMBERS)
    found = (Stream.range(100).map(lambda n: (n,)).via(doubled) | Sink.to_list()).run().wait()
    assert sorted(row.n for row in found) == list(range(0, 200, 2))


def test_a_trigger_that_would_end_too_early_is_refused(
    spark: Spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stream_readers, "SAYS_START", False)
    live = spark.frame(Stream.range(10), NUMBERS)
    writer = live.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    query = writer.start()
    with pytest.raises(Exception, match=rf"ShortTriggerError: frame: PySpark {spark.session.version} ends a query"):
        query.awaitTermination()


class Reader:
    """A reader that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def initialOffset(self) -> dict[str, int]:
        return {"row": 0}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        self.asked.append(("latest", start["row"]))
        return {"row": start["row"] + 5}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Any]:
        self.asked.append(("partitions", start["row"], end["row"]))
        return []


def test_a_planner_that_says_nothing_is_answered_from_the_last_answer_on() -> None:
    reader = Reader()
    asking = RememberingReader(reader)
    assert asking.latestOffset() == {"row": 5}
    assert asking.latestOffset() == {"row": 10}
    assert reader.asked == [("latest", 0), ("latest", 5)]


def test_a_restarted_planner_tells_the_offset_by_an_empty_plan() -> None:
    reader = Reader()
    asking = RememberingReader(reader)
    assert asking.partitions({"row": 20}, {"row": 20}) == []
    assert asking.latestOffset() == {"row": 25}
    asking.partitions({"row": 20}, {"row": 25})
    assert reader.asked == [("latest", 20), ("partitions", 20, 25)]


def test_a_restarted_planner_may_repeat_the_plan_it_had() -> None:
    reader = Reader()
    asking = RememberingReader(reader)
    assert asking.partitions({"row": 20}, {"row": 20}) == []  # the newest that it knows, which is not yet committed
    asking.partitions({"row": 10}, {"row": 20})
    assert asking.latestOffset() == {"row": 25}
    assert reader.asked == [("partitions", 10, 20), ("latest", 20)]
