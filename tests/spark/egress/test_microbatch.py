"""Streaming egress: each micro-batch arrives once, also after a restart, and Spark waits for the subscriber."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from penstock import Stream
from penstock.spark.egress.microbatch import Ledger
from penstock.spark.wire.storage import LocalFolder

SCHEMA = pa.schema([("n", pa.int64())])
WAIT = 120


def upto(stop):
    return lambda row: Stream.range(row, stop).map(lambda n: (n,))


def stream(spark, tmp_path, stop, **options):
    return spark.stream(spark.frame(upto(stop), SCHEMA, **options), rows="tuple", checkpoint=tmp_path / "checkpoint")


def test_a_restart_goes_on_after_the_last_micro_batch(spark, tmp_path):
    assert list(stream(spark, tmp_path, 200, capacity=150)) == [(n,) for n in range(200)]
    assert list(stream(spark, tmp_path, 300)) == [(n,) for n in range(200, 300)]


def test_a_micro_batch_that_spark_repeats_is_not_delivered_again(spark, tmp_path):
    assert list(stream(spark, tmp_path, 100)) == [(n,) for n in range(100)]
    commits = tmp_path / "checkpoint" / "commits"
    last = max((path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    last.unlink()  # as if the driver had died between our note and Spark's
    (commits / f".{last.name}.crc").unlink()
    assert list(stream(spark, tmp_path, 150)) == [(n,) for n in range(100, 150)]


def test_a_micro_batch_that_was_not_delivered_whole_is_repeated_from_its_start(spark, tmp_path):
    assert list(stream(spark, tmp_path, 200, capacity=100_000).take(3)) == [(0,), (1,), (2,)]
    assert list(stream(spark, tmp_path, 200)) == [(n,) for n in range(200)]


def test_moments_have_the_time_zone_of_the_session_however_micro_batches_are_cut(spark):
    moments = [datetime.fromtimestamp(second, UTC) for second in range(3)]
    nested = "at timestamp, more array<struct<at: timestamp>>"
    live = spark.frame(Stream.from_iterable(moments).map(lambda at: (at, [(at,)])), nested, capacity=1)
    rows = list(spark.stream(live))
    zone = spark.session.conf.get("spark.sql.session.timeZone")
    assert [row.at for row in rows] == moments
    assert {str(at.tzinfo) for row in rows for at in (row.at, row.more[0]["at"])} == {zone}


def test_spark_waits_for_the_subscriber(spark):
    class Slow:
        def __init__(self):
            self.rows = []
            self.changed = threading.Condition()

        def on_subscribe(self, subscription):
            self.subscription = subscription
            subscription.request(5)

        def on_next(self, element):
            with self.changed:
                self.rows.append(element)
                self.changed.notify_all()

        def on_error(self, error):
            self.on_next(error)

        def on_complete(self):
            self.on_next("complete")

    slow = Slow()
    asked = []
    source = Stream.range(10_000).map(lambda n: (n,)).tap(on_request=asked.append)
    spark.stream(spark.frame(source, SCHEMA, capacity=20), rows="tuple").subscribe(slow)
    with slow.changed:
        assert slow.changed.wait_for(lambda: len(slow.rows) >= 5, WAIT)
    assert slow.rows == [(n,) for n in range(5)]
    assert sum(asked) <= 5 + 2 * 20  # what was delivered, what waits in a micro-batch, what waits at the gate
    slow.subscription.request(45)
    with slow.changed:
        assert slow.changed.wait_for(lambda: len(slow.rows) >= 50, WAIT)
    assert slow.rows == [(n,) for n in range(50)]
    slow.subscription.cancel()


def test_cancel_stops_the_query(spark):
    rate = spark.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    assert len(list(spark.stream(rate.select("value"), rows="tuple").take(25))) == 25
    pause = threading.Event()
    for _ in range(WAIT * 20):
        if not spark.session.streams.active:
            break
        pause.wait(0.05)
    assert not spark.session.streams.active


def test_a_finite_trigger_completes(spark, tmp_path):
    spark.session.range(0, 30, 1, 1).write.parquet(str(tmp_path / "in"))
    files = spark.session.readStream.schema("id long").parquet(str(tmp_path / "in"))
    assert list(spark.stream(files, rows="tuple", trigger={"availableNow": True})) == [(n,) for n in range(30)]


def test_an_exception_in_an_executor_arrives_with_its_type(spark):
    def failing(batches):
        for each in batches:
            raise ZeroDivisionError("by hand")
            yield each

    df = spark.frame(upto(10), SCHEMA).mapInArrow(failing, "n long")
    with pytest.raises(ZeroDivisionError) as caught:
        spark.stream(df).count().get()
    assert caught.value.message == "by hand"
    assert "in failing" in caught.value.remote_traceback


def test_a_ledger_remembers(tmp_path):
    ledger = Ledger(LocalFolder(tmp_path / "new"))
    assert ledger.last == -1
    ledger.deliver(4)
    assert Ledger(LocalFolder(tmp_path / "new")).last == 4
    (tmp_path / "new" / "penstock-delivered").write_text("four")
    with pytest.raises(ValueError, match=r"must hold the number of a micro-batch, got 'four'$"):
        Ledger(LocalFolder(tmp_path / "new"))
