"""Checkpoints, spools and ledgers on a file system of Hadoop's that is not local: restarts are exact there, too."""

from __future__ import annotations

import threading

import pytest

from penstock import Sink, Stream
from penstock.spark import entry, spark_sink
from penstock.spark.ingest.spool import SpoolError
from penstock.spark.wire.places import folder
from penstock.spark.wire.storage import StorageError
from tests.spark.wire.test_storage import mounted

WAIT = 300
NUMBERS = "n long"


def spooled(folder):
    """Return the number after the last row in a spool."""
    return max((int(path.name.split("-")[1]) for path in folder.glob("*.arrow")), default=0)


def test_a_pipeline_goes_on_from_its_spool_and_its_ledger(spark, tmp_path):
    checkpoint = f"{mounted(spark, tmp_path)}/checkpoint"
    seen = []

    def life(first, end, take):
        hot = Stream.from_iterable((n,) for n in range(first, end))
        return (hot | entry(NUMBERS, capacity=500, again="later") | Sink.for_each(take)).run(spark, checkpoint)

    def fails(row):
        pause = threading.Event()
        for _ in range(WAIT * 20):
            if spooled(tmp_path / "checkpoint" / "spool") == 200:
                raise ZeroDivisionError("by hand")
            pause.wait(0.05)

    with pytest.raises(ZeroDivisionError, match="by hand"):
        life(0, 200, fails).wait(WAIT)
    life(200, 300, lambda row: seen.append(row.n)).wait(WAIT)
    assert seen == list(range(300))  # the rows of the first life came out of the spool
    life(300, 400, lambda row: seen.append(row.n)).wait(WAIT)
    assert seen == list(range(400))  # what was delivered is not delivered again
    assert (tmp_path / "checkpoint" / "query" / "offsets" / "0").exists()
    assert len(list((tmp_path / "checkpoint" / "query").glob("penstock-delivered-*"))) == 1


def test_a_pipeline_that_spark_ends_goes_on(spark, tmp_path):
    far = mounted(spark, tmp_path)

    def life(first, end):
        hot = Stream.from_iterable((n,) for n in range(first, end))
        sink = spark_sink(lambda df: df.writeStream.format("parquet").option("path", f"{far}/out"))
        return (hot | entry(NUMBERS, again="later") | sink).run(spark, f"{far}/checkpoint")

    assert life(0, 50).wait(WAIT) == 50
    assert life(50, 80).wait(WAIT) == 30
    assert sorted(row.n for row in spark.session.read.parquet(f"{far}/out").collect()) == list(range(80))


def test_a_stream_that_is_cancelled_goes_on_from_a_spool(spark, tmp_path):
    far = mounted(spark, tmp_path)
    opened = []

    def numbers(row):
        opened.append(row)
        return Stream.range(row, 300).map(lambda n: (n,))

    def life():
        df = spark.frame(numbers, NUMBERS, capacity=100, spool=f"{far}/spool")
        return spark.stream(df, rows="tuple", checkpoint=f"{far}/query")

    assert list(life().take(3)) == [(0,), (1,), (2,)]
    assert list(life()) == [(n,) for n in range(300)]
    assert opened[0] == 0
    assert opened[1] > 0  # rows before that were in the spool


def test_a_replaced_run_fails(spark, tmp_path):
    place = f"{mounted(spark, tmp_path)}/spool"
    df = spark.frame(lambda row: Stream.range(row, 1000).map(lambda n: (n,)), NUMBERS, capacity=10, spool=place)
    rows = iter(spark.stream(df, rows="tuple"))
    assert next(rows) == (0,)
    folder(place, spark.session, "test").claim()
    with pytest.raises(SpoolError, match=rf"^spool: {place} was taken over by another run$"):
        list(rows)


def test_what_cannot_be_reached_is_refused_before_anything_starts(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []
    source = Stream.range(3).map(lambda n: (n,)).tap(on_request=asked.append)
    words = r"Spark has no file system for s3a://, wanted for s3a://bucket/ck"
    with pytest.raises(StorageError, match=rf"^run: checkpoint: {words}"):
        (source | entry(NUMBERS) | Sink.to_list()).run(spark, "s3a://bucket/ck").wait(WAIT)
    with pytest.raises(StorageError, match=rf"^frame: spool: {words}"):
        spark.frame(source, NUMBERS, spool="s3a://bucket/ck")
    df = spark.frame(source, NUMBERS)
    with pytest.raises(StorageError, match=rf"^stream: checkpoint: {words}"):
        spark.stream(df, checkpoint="s3a://bucket/ck")
    assert asked == []
    assert list(tmp_path.iterdir()) == []  # no folder named s3a:


def test_a_file_uri_and_a_path_are_one_place(spark, tmp_path):
    def life(end, checkpoint):
        df = spark.frame(lambda row: Stream.range(row, end).map(lambda n: (n,)), NUMBERS)
        return list(spark.stream(df, rows="tuple", checkpoint=checkpoint))

    assert life(20, f"file://{tmp_path}/ck") == [(n,) for n in range(20)]
    assert life(30, tmp_path / "ck") == [(n,) for n in range(20, 30)]
