"""Spool: what was promised to Spark is on disk, and a killed driver goes on with nothing lost and nothing twice."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock import Stream
from penstock.engine.places.clocks import VirtualClock
from penstock.spark.ingest.intake import Intake
from penstock.spark.ingest.pace import Pace
from penstock.spark.ingest.spool import Spool, SpoolError
from penstock.spark.wire.schema import Schema

SCHEMA = pa.schema([("n", pa.int64())])
WAIT = 120


def batch(first, end):
    return pa.record_batch([pa.array(range(first, end), pa.int64())], schema=SCHEMA)


def held(spool):
    return [n for _, batch in spool.batches() for n in batch.column(0).to_pylist()]


def test_rows_are_found_again(tmp_path):
    spool = Spool(tmp_path / "s", SCHEMA)
    assert (spool.first, spool.end, held(spool)) == (0, 0, [])
    spool.write(batch(0, 5))
    spool.write(batch(5, 7))
    spool.close()
    again = Spool(tmp_path / "s", SCHEMA)
    assert (again.first, again.end, held(again)) == (0, 7, list(range(7)))
    again.write(batch(7, 9))
    assert held(again) == list(range(9))
    again.close()


def test_committed_rows_are_removed_but_never_the_newest(tmp_path):
    spool = Spool(tmp_path, SCHEMA)
    for first in (0, 10, 20):
        spool.write(batch(first, first + 10))
    spool.forget(15)
    assert (spool.first, spool.end) == (10, 30)
    spool.forget(30)
    assert (spool.first, spool.end) == (20, 30)
    assert len(list(tmp_path.glob("*.arrow"))) == 1
    spool.close()
    again = Spool(tmp_path, SCHEMA)
    assert again.end == 30
    again.close()


def test_what_a_crash_left_half_written_does_not_count(tmp_path):
    spool = Spool(tmp_path, SCHEMA)
    spool.write(batch(0, 5))
    spool.close()
    (tmp_path / f"{5:020d}-{9:020d}.new").write_bytes(b"half")
    again = Spool(tmp_path, SCHEMA)
    assert again.end == 5
    assert not list(tmp_path.glob("*.new"))
    again.close()


def test_a_folder_has_one_owner(tmp_path):
    spool = Spool(tmp_path, SCHEMA)
    with pytest.raises(SpoolError, match=rf"^spool: {tmp_path} is in use by another stream$"):
        Spool(tmp_path, SCHEMA)
    spool.close()
    Spool(tmp_path, SCHEMA).close()


def test_damage_is_named(tmp_path):
    spool = Spool(tmp_path, SCHEMA)
    for first in (0, 10, 20):
        spool.write(batch(first, first + 10))
    spool.close()
    other = Spool(tmp_path, pa.schema([("m", pa.string())]))
    with pytest.raises(SpoolError, match=rf"^spool: {tmp_path} holds rows of another schema: n: int64$"):
        other.batches()
    other.close()
    last = max(tmp_path.glob("*.arrow"))
    last.write_bytes(b"rubbish")
    damaged = Spool(tmp_path, SCHEMA)
    with pytest.raises(SpoolError, match=rf"^spool: {last} cannot be read: "):
        damaged.batches()
    damaged.close()
    min(tmp_path.glob(f"{10:020d}*.arrow")).unlink()
    with pytest.raises(SpoolError, match=rf"^spool: {tmp_path} lacks rows 10 to 20$"):
        Spool(tmp_path, SCHEMA)


def intake(tmp_path, capacity=40):
    spool = Spool(tmp_path, SCHEMA)
    pace = Pace(1.0, 10_000, VirtualClock())
    return Intake(Schema.of(SCHEMA), capacity, spool.first, pace, spool, None), spool


def test_rows_are_on_disk_before_spark_hears_of_them(tmp_path):
    first, spool = intake(tmp_path)
    first.start(Stream.range(1000).map(lambda n: (n,)))
    end, _ = first.poll(0, None, WAIT)
    assert end > 0
    assert spool.end >= end
    assert held(spool)[:end] == list(range(end))
    first.close()  # as a crash would: nothing was committed
    second, spool = intake(tmp_path)
    kept = spool.end
    second.start(Stream.range(kept, 1000).map(lambda n: (n,)))
    seen, done = 0, False
    rows = []
    while not done:
        end, done = second.poll(seen, None, WAIT)
        rows += [n for each in second.rows(seen, end) for n in each.column(0).to_pylist()]
        seen = end
    assert rows == list(range(1000))
    assert spool.first >= 1000 - 40  # what was committed is gone
    second.close()
