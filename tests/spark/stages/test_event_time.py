"""event_time: steps per key that go by the times of their rows, in process, in a batch and on a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from penstock import Stream, flow
from penstock.bridges.shared.columns import SchemaError
from penstock.spark import Spark, StageError, keyed_by
from penstock.spark.stages.event_time import KeyByTime, seconds_in
from penstock.spark.versions import stream_readers
from tests.spark import event_timed
from tests.spark.event_timed import ROWS, Moment, in_micro_batches, moment


@flow
def sessions(rows: Stream[Any]) -> Stream[Any]:
    return (
        rows.window(gap=10)
        .concat_map(lambda session: session.map(lambda row: row.n).to_list())
        .map(lambda ns: (0, len(ns), repr(ns)))
    )


SET_BACK = 1_729_987_200
"""When clocks in Berlin show two o'clock for the first time of two."""


@pytest.fixture
def in_berlin(spark: Spark) -> Iterator[None]:
    before = spark.session.conf.get("spark.sql.session.timeZone")
    spark.session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield
    spark.session.conf.set("spark.sql.session.timeZone", before)


def test_random_flows_answer_the_same_by_the_times_of_rows() -> None:
    assert [text for number in range(40) if (text := event_timed.differs(number)) is not None] == []


def test_a_row_that_is_let_through_too_early_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    advance = KeyByTime.advance
    monkeypatch.setattr(KeyByTime, "advance", lambda self, watermark: advance(self, watermark + 8))
    assert event_timed.main(["--flows", "8"]) == 1
    assert "event flow" in capsys.readouterr().out


ROWS_GIVEN = [
    Moment(1, moment(100), 0, 1), Moment(2, moment(103), 1, 2), Moment(1, moment(108), 2, 3),
    Moment(1, moment(104), 3, 4), Moment(1, moment(130), 4, 5), Moment(2, moment(140), 5, 6),
]  # fmt: skip
SESSIONS = ["[1, 4, 3]", "[2]", "[5]", "[6]"]


def test_rows_come_in_the_order_of_their_times_and_what_is_due_between_them() -> None:
    here = Stream.from_iterable(ROWS_GIVEN) | keyed_by(sessions, "k", time="at", watermark=timedelta(seconds=10))
    assert sorted(row[2] for row in here) == SESSIONS
    assert sorted(row[2] for row in here) == SESSIONS  # another run begins anew
    mappings = Stream.from_iterable([row._asdict() for row in ROWS_GIVEN])
    counted = flow(lambda rows: rows.buffer_timeout(9, 5).map(len))
    assert sorted(mappings | keyed_by(counted, "k", time="at", watermark=10)) == [1, 1, 1, 1, 2]


def test_a_late_row_is_dropped_and_one_within_the_watermark_never_is() -> None:
    rows = [Moment(1, moment(100), 0, 1), Moment(2, moment(200), 1, 2), Moment(1, moment(189), 2, 3)]
    held = Moment(1, moment(190), 3, 4)
    here = Stream.from_iterable([*rows, held]) | keyed_by(sessions, "k", time="at", watermark=10)
    assert sorted(row[2] for row in here) == ["[1]", "[2]", "[4]"]
    states: dict[Any, dict[Any, Any]] = {}
    first = list(in_micro_batches(sessions, [rows[:2]], states, 0, ends=False))
    second = list(in_micro_batches(sessions, [[rows[2], held]], states, 190_000, ends=False))
    last = list(in_micro_batches(sessions, [], states, 190_000, ends=True))
    assert [[row.text for row in made] for made in (first, second, last)] == [[], ["[1]"], ["[2]", "[4]"]] or [
        [row.text for row in made] for made in (first, second, last)
    ] == [[], ["[1]"], ["[4]", "[2]"]]


@pytest.mark.parametrize("behind", [0.1, 0.3, 1.1, 0.000_7, timedelta(microseconds=1)])
def test_in_this_process_a_row_that_is_late_by_just_the_watermark_is_not_late(behind: float | timedelta) -> None:
    counted = keyed_by(flow(lambda rows: rows.count()), "_1", time="_2", watermark=behind)
    late = behind if isinstance(behind, timedelta) else timedelta(seconds=behind)
    for milliseconds in range(0, 1000, 7):
        newest = moment(1_729_987_200) + timedelta(milliseconds=milliseconds)
        assert list(Stream.just((1, newest), (1, newest - late)) | counted) == [2]
        assert list(Stream.just((1, newest), (1, newest - late - timedelta(microseconds=1))) | counted) == [1]


def test_rows_before_1970_are_held_until_there_is_a_watermark() -> None:
    states: dict[Any, dict[Any, Any]] = {}
    old = [Moment(1, moment(-50), 0, 1), Moment(1, moment(-45), 1, 2), Moment(1, moment(0), 2, 3)]
    assert list(in_micro_batches(sessions, [old], states, 0, ends=False)) == []
    last = list(in_micro_batches(sessions, [], states, 0, ends=True))
    assert [row.text for made in (last,) for row in made] == ["[1, 2]", "[3]"]


def test_in_this_process_rows_keys_and_orders_are_what_they_are_on_spark() -> None:
    counted = flow(lambda rows: rows.enumerate().map(lambda one: (one[0], one[1][-1])))
    tuples = Stream.just(("a", moment(3), 7), ("a", moment(1), 8), ("b", moment(2), 9))
    assert sorted(tuples | keyed_by(counted, "_1", time="_2", watermark=10)) == [(0, 8), (0, 9), (1, 7)]
    lists = Stream.just(([1], moment(3), 7), ([1], moment(1), 8), ([2], moment(2), 9))
    assert sorted(lists | keyed_by(counted, "_1", time="_2", watermark=10)) == [(0, 8), (0, 9), (1, 7)]
    holes = Stream.just(("a", moment(1), 5), ("a", moment(1), None), ("a", moment(1), 4))
    ordered = keyed_by(counted, "_1", time="_2", watermark=10, order_by="_3")
    assert list(holes | ordered) == [(0, None), (1, 4), (2, 5)]
    with pytest.raises(StageError, match=r"^keyed_by: column 'k' must be in each row, got \('a', "):
        list(tuples | keyed_by(counted, "k", time="_2", watermark=10))


def test_in_this_process_moments_are_told_apart_where_a_clock_is_set_back() -> None:
    zone = ZoneInfo("Europe/Berlin")
    hours = [moment(SET_BACK + 1800 * place).astimezone(zone) for place in (3, 1)]  # half past two, and once more
    counted = flow(lambda rows: rows.enumerate().map(lambda one: (one[0], one[1][-1])))
    given = Stream.just(("a", moment(1), hours[0], 7), ("a", moment(1), hours[1], 8))
    assert sorted(given | keyed_by(counted, "_3", time="_2", watermark=10)) == [(0, 7), (0, 8)]
    assert list(given | keyed_by(counted, "_1", time="_2", watermark=10, order_by="_3")) == [(0, 8), (1, 7)]


def test_a_key_without_rows_is_moved_by_the_rows_of_others() -> None:
    states: dict[Any, dict[Any, Any]] = {}
    assert list(in_micro_batches(sessions, [[Moment(1, moment(100), 0, 1)]], states, 0, ends=False)) == []
    assert list(in_micro_batches(sessions, [[Moment(2, moment(500), 1, 2)]], states, 90_000, ends=False)) == []
    moved = list(in_micro_batches(sessions, [], states, 490_000, ends=False))  # a micro-batch without rows
    assert [row.text for row in moved] == ["[1]"]


def test_a_failure_names_the_key() -> None:
    failing = flow(lambda rows: rows.map(lambda row: (0, 0, str(1 // row.n))))
    with pytest.raises(ZeroDivisionError) as caught:
        list(in_micro_batches(failing, [[Moment(7, moment(1), 0, 0)]], {}, 0, ends=True))
    assert caught.value.__notes__[-1] == "in keyed_by, key (7,)"


def test_a_failure_of_upstream_arrives() -> None:
    failed = Stream.error(ValueError("lost")) | keyed_by(sessions, "k", time="at", watermark=1)
    with pytest.raises(ValueError, match=r"^lost\n"):
        list(failed)


def test_a_row_without_a_time_is_refused() -> None:
    batch = pa.record_batch({"at": pa.array([None], pa.timestamp("us", "UTC"))})
    message = "keyed_by: time 'at' must not be null; leave such rows out, or give them a time, before it"
    with pytest.raises(StageError, match=f"^{re.escape(message)}$"):
        seconds_in(batch, 0, "at")
    row = Moment(1, 5, 0, 1)  # type: ignore[arg-type]
    with pytest.raises(StageError, match=r"^keyed_by: time 'at' must be a datetime, got 5"):
        list(Stream.just(row) | keyed_by(sessions, "k", time="at", watermark=1))


def test_what_is_given_wrongly_is_refused() -> None:
    together = (
        "keyed_by: time and watermark must be given together: the name of a column, and how many seconds its rows may"
        " come late, got time='at', watermark=None"
    )
    with pytest.raises(TypeError, match=f"^{re.escape(together)}$"):
        keyed_by(sessions, "k", time="at")
    with pytest.raises(TypeError, match=r"^keyed_by: time must be the name of a column, got 5$"):
        keyed_by(sessions, "k", time=5, watermark=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^keyed_by: watermark must be >= 0 and finite, got -1$"):
        keyed_by(sessions, "k", time="at", watermark=-1)
    plain = flow(lambda rows: rows.take(1))
    text = "keyed_by(take, 'k', time='at', watermark=1.0)"
    assert str(keyed_by(plain, "k", time="at", watermark=1)._chain.source) == text


def test_steps_and_columns_that_cannot_go_by_a_time_are_refused(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = keyed_by(flow(lambda rows: rows.keep_alive(1, 0)), "k", time="at", watermark=1)
    message = (
        "keyed_by: keep_alive would fill the time between rows for ever where steps go by the times of these: leave it"
        " out, or leave out time"
    )
    with pytest.raises(StageError, match=f"^{re.escape(message)}$"):
        spark.stage(alive, "n long")
    df = spark.session.createDataFrame([(1, 2)], "k long, at long")
    step = spark.stage(keyed_by(sessions, "k", time="at", watermark=1), "n long")
    with pytest.raises(SchemaError, match=r"^keyed_by: time 'at' must be a timestamp, got bigint$"):
        df.transform(step)
    rate = spark.session.readStream.format("rate").load()
    monkeypatch.setattr(stream_readers, "SAYS_START", False)
    older = "keyed_by: the times of rows need PySpark 4.2 or newer where rows stream, and this is "
    with pytest.raises(StageError, match=f"^{re.escape(older)}"):
        rate.transform(spark.stage(keyed_by(sessions, "value", time="timestamp", watermark=1), "n long"))


def test_on_spark_a_row_that_is_late_by_just_the_watermark_is_not_late(spark: Spark, few_partitions: None) -> None:
    times = [(1, 1000), (2, 990), (3, 1000), (1, 990), (4, 989)]  # the last is late
    rows = [Moment(k, moment(at), place, place) for place, (k, at) in enumerate(times)]
    each = flow(lambda of_key: of_key.enumerate().map(lambda one: (0, one[0], str(one[1].n))))
    step = spark.stage(keyed_by(each, "k", time="at", watermark=10), "flow long, number long, text string")
    live = spark.frame(Stream.from_iterable(rows), ROWS, capacity=1)
    assert sorted(row.text for row in spark.stream(live.transform(step))) == ["0", "1", "2", "3"]
    finer = [Moment(1, moment(1000), 0, 0), Moment(1, moment(1000) - timedelta(microseconds=400), 1, 1)]
    few = spark.stage(keyed_by(each, "k", time="at", watermark=0.0004), "flow long, number long, text string")
    live = spark.frame(Stream.from_iterable(finer), ROWS, capacity=1)
    assert sorted(row.text for row in spark.stream(live.transform(few))) == ["0", "1"]
    old = [Moment(1, moment(0), 0, 0), Moment(2, moment(-5), 1, 1)]
    live = spark.frame(Stream.from_iterable(old), ROWS)
    assert sorted(row.text for row in spark.stream(live.transform(step))) == ["0", "1"]


def test_on_spark_no_row_is_late_or_out_of_order_where_a_clock_is_set_back(
    spark: Spark, few_partitions: None, in_berlin: None
) -> None:
    rows = [Moment(1, moment(SET_BACK + 300 * place), place, place) for place in range(24)]
    texts = "flow long, number long, text string"
    counted = flow(lambda of_key: of_key.enumerate().map(lambda one: (0, one[0], str(one[1].n))))
    timed = spark.stage(keyed_by(counted, "k", time="at", watermark=10), texts)
    live = spark.frame(Stream.from_iterable(rows), ROWS, capacity=3)
    assert [row.text for row in spark.stream(live.transform(timed))] == [str(row.n) for row in rows]
    ordered = spark.stage(keyed_by(counted, "k", order_by="at"), texts)
    live = spark.frame(Stream.from_iterable(rows[::-1]), ROWS)
    assert sorted((row.number, row.text) for row in spark.stream(live.transform(ordered))) == [
        (row.n, str(row.n)) for row in rows
    ]
    hours = [row for row in rows if not row.n % 12]  # two o'clock, twice
    batch = spark.session.createDataFrame(pa.Table.from_batches([ROWS.batch(hours)])).coalesce(1)
    for by_time in ({}, {"time": "at", "watermark": 10}):
        by_hour = spark.stage(keyed_by(counted, "at", **by_time), texts)
        assert sorted((row.number, row.text) for row in batch.transform(by_hour).collect()) == [(0, "0"), (0, "12")]


def test_on_spark_a_batch_and_a_stream_answer_as_this_process_does(spark: Spark, tmp_path: Path) -> None:
    step = spark.stage(
        keyed_by(sessions, "k", order_by="place", time="at", watermark=10), "flow long, number long, text string"
    )
    batch = spark.session.createDataFrame(pa.Table.from_batches([ROWS.batch(ROWS_GIVEN)])).repartition(2)
    assert sorted(row.text for row in batch.transform(step).collect()) == SESSIONS
    late = [*ROWS_GIVEN, Moment(1, moment(50), 6, 9)]  # the watermark is beyond it when it comes
    live = spark.frame(lambda row: Stream.from_iterable(late[row:]), ROWS, capacity=4)
    made = live.transform(step)
    checkpoint = tmp_path / "query"
    before = [row.text for row in spark.stream(made, checkpoint=checkpoint).take(1)]
    after = [row.text for row in spark.stream(made, checkpoint=checkpoint)]
    assert sorted({*before, *after}) == SESSIONS
    assert len(after) in {len(SESSIONS), len(SESSIONS) - 1}  # the micro-batch that was broken off may come again
