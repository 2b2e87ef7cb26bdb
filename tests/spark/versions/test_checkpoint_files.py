"""checkpoint_files: how a query that penstock starts writes its checkpoint, and that nothing else does so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from penstock import Stream
from penstock.spark import Spark, entry, spark_sink
from penstock.spark.versions.checkpoint_files import SETTING, stays_here

OTHER = "FileSystemBasedCheckpointFileManager"
NUMBERS = "n long"


@pytest.fixture(autouse=True)
def quickly(spark: Spark) -> Iterator[str]:
    """Take back what the session of these tests is set to, and return it."""
    before = str(spark.session.conf.get(SETTING))
    spark.session.conf.unset(SETTING)
    yield before
    spark.session.conf.set(SETTING, before)


def in_use(batch: DataFrame) -> str:
    """Return what the query of a micro-batch was told when it started."""
    return str(batch.sparkSession.conf.get(SETTING, ""))


def while_read(spark: Spark, checkpoint: Path | None = None) -> str:
    """Return what a query was told whose rows are read here, and see that they are all there."""
    told: set[str] = set()
    live = spark.frame(Stream.range(1000), NUMBERS, capacity=300)
    rows = spark.stream(live, checkpoint=checkpoint, also=lambda batch, _: told.add(in_use(batch)))
    assert sorted(row.n for row in rows) == list(range(1000))
    (found,) = told
    return found


@pytest.mark.parametrize("kept", [False, True])
def test_a_local_checkpoint_is_written_by_the_other_way(spark: Spark, kept: bool, tmp_path: Path) -> None:
    assert while_read(spark, tmp_path / "checkpoint" if kept else None).endswith(OTHER)
    assert not spark.session.conf.get(SETTING, "")


def test_a_sink_of_spark_has_it_as_well(spark: Spark) -> None:
    told: set[str] = set()

    def written(df: DataFrame) -> Any:
        return df.writeStream.foreachBatch(lambda batch, _: told.add(in_use(batch)))

    (Stream.range(10) | entry(NUMBERS) | spark_sink(written)).run(spark).wait()
    (found,) = told
    assert found.endswith(OTHER)
    assert not spark.session.conf.get(SETTING, "")


def test_what_the_user_has_chosen_stays(spark: Spark, quickly: str) -> None:
    own = quickly.replace(OTHER, "FileContextBasedCheckpointFileManager")
    spark.session.conf.set(SETTING, own)
    assert while_read(spark) == own
    assert spark.session.conf.get(SETTING) == own


def test_a_session_whose_settings_are_closed_runs_as_ever(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = type(spark.session.conf)

    def refused(*_: Any) -> None:
        raise PermissionError("no settings here")

    monkeypatch.setattr(conf, "set", refused)
    assert while_read(spark) == ""


@pytest.mark.parametrize(
    ("place", "default", "local"),
    [
        (None, "file:///", True),
        (None, "hdfs://far/", False),
        ("/tmp/here", "file:///", True),
        ("/tmp/there", "hdfs://far/", False),
        ("file:/tmp/here", "hdfs://far/", True),
        ("hdfs://far/there", "file:///", False),
        ("s3a://far/there", "file:///", False),
        ("here/a:b", "file:///", True),
    ],
)
def test_a_checkpoint_elsewhere_is_written_as_spark_does(
    spark: Spark, place: str | None, default: str, local: bool
) -> None:
    writer: Any = spark.session.readStream.format("rate").load().writeStream
    conf = spark.session.sparkContext._jvm.org.apache.hadoop.conf.Configuration(False)  # type: ignore[union-attr]
    conf.set("fs.defaultFS", default)
    assert stays_here(conf, writer if place is None else writer.option("checkpointLocation", place)) is local
    assert place is None or stays_here(conf, writer, place) is local
