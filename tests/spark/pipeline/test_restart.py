"""Restart of a pipeline: with a checkpoint each row is written once, or the run is refused with the cure."""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import PenstockError, Pipeline, Sink, Stream, branch, flow
from penstock.spark import Numbered, PlanError, Spark, entry, frame, keyed_by, numbered, spark_sink, spark_source

WAIT = 300


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: 2 * n)


@flow
def shouted(words: Stream[str]) -> Stream[str]:
    return words.map(str.upper)


def written(folder: Path) -> Sink[Any, Any]:
    return spark_sink(lambda df: df.writeStream.format("parquet").option("path", str(folder / "out")))


def values(spark: Spark, folder: Path) -> list[Any]:
    return sorted(row.value for row in spark.session.read.parquet(str(folder / "out")).collect())


def test_a_cold_source_that_is_run_twice_with_one_checkpoint_is_written_once(spark: Spark, tmp_path: Path) -> None:
    """The first program of the findings: 2,000 rows, of which 1,000 were distinct."""
    for _ in range(2):
        pipeline = Stream.range(1000) | doubled | written(tmp_path)
        pipeline.run(spark, tmp_path / "checkpoint").wait(WAIT)
        assert values(spark, tmp_path) == list(range(0, 2000, 2))
    assert not (tmp_path / "checkpoint" / "spool").exists()


def test_a_run_that_was_stopped_goes_on_behind_what_it_had(spark: Spark, tmp_path: Path) -> None:
    told: list[int] = []
    reached = threading.Event()

    def numbers(after: int) -> Iterator[int]:
        for n in range(after, 500):
            if n == 120 and not reached.is_set():
                reached.set()
            yield n

    def pipeline() -> Pipeline[Any]:
        source = Stream.resumable(numbers, told.append, counted=True)
        return source | entry(capacity=60, latency=0.1) | doubled | written(tmp_path)

    first = pipeline().run(spark, tmp_path / "checkpoint")
    assert reached.wait(WAIT)
    first.stop()
    first.wait(WAIT)
    had = values(spark, tmp_path)
    assert had == list(range(0, 2 * len(had), 2))
    assert len(had) < 500
    assert told[-1] == len(had)
    pipeline().run(spark, tmp_path / "checkpoint").wait(WAIT)
    assert values(spark, tmp_path) == list(range(0, 1000, 2))
    assert told == sorted(told)
    assert told[-1] == 500


@pytest.mark.parametrize("timed", [False, True])
def test_what_keys_hold_at_a_stop_stays_for_the_next_run(
    spark: Spark, few_partitions: None, tmp_path: Path, timed: bool
) -> None:
    came, stopped = threading.Event(), threading.Event()

    def numbers(after: int) -> Iterator[tuple[int, int]]:
        for n in range(after, 60):
            if n == 40:
                came.set()
                stopped.wait(WAIT)
            yield n % 2, n

    @flow
    def collected(rows: Stream[Any]) -> Stream[tuple[int, int]]:
        some = rows.buffer_timeout(1000, 3600.0) if timed else rows.buffer(1000)
        return some.map(lambda held: (held[0][0], len(held)))

    def run() -> Any:
        source = Stream.resumable(numbers, counted=True) | entry("k long, n long", capacity=20, latency=0.1)
        return (source | keyed_by(collected, "k") | Sink.to_list()).run(spark, tmp_path)

    first = run()
    assert came.wait(WAIT)
    first.stop()
    stopped.set()
    assert first.wait(WAIT) == []
    assert sorted(map(tuple, run().wait(WAIT))) == [(0, 30), (1, 30)]


def test_a_stop_before_the_rows_of_a_planned_micro_batch_came_is_no_failure(spark: Spark, tmp_path: Path) -> None:
    begun, stopped = threading.Event(), threading.Event()
    stopped.set()
    found: list[int] = []

    def numbers(after: int) -> Iterator[int]:
        begun.set()
        stopped.wait(WAIT)
        yield from range(after, 100)

    def run(fn: Callable[[Any], object]) -> Any:
        source = Stream.resumable(numbers, counted=True) | entry("n long", capacity=50)
        return (source | Sink.for_each(fn)).run(spark, tmp_path)

    def refuse(row: Any) -> None:
        if row.n == 60:
            raise LookupError(row.n)

    with pytest.raises(LookupError):
        run(refuse).wait(WAIT)
    begun.clear()
    stopped.clear()
    second = run(found.append)
    assert begun.wait(WAIT)
    second.stop()  # before the rows come that the life before has planned
    stopped.set()
    assert second.wait(WAIT) == 0
    run(lambda row: found.append(row.n)).wait(WAIT)
    assert found == list(range(50, 100))


def test_what_comes_later_is_spooled(spark: Spark, tmp_path: Path) -> None:
    for word, live in (("a", Stream.create(emits("a"))), ("b", Stream.create(emits("b")))):
        got = (live | shouted | Sink.to_list()).run(spark, tmp_path).wait(WAIT)
        assert got == [word.upper()]
    assert list((tmp_path / "spool").glob("*.arrow"))


def emits(word: str) -> Any:
    def attach(emitter: Any) -> None:
        emitter.emit(word)
        emitter.complete()

    return attach


def test_what_says_nothing_is_refused_with_the_cure(spark: Spark, tmp_path: Path) -> None:
    def lines() -> Stream[str]:
        return Stream.from_iterable(word for word in ("a", "b", "c"))

    message = (
        "run: a restart from the checkpoint would lose or repeat rows: Stream(from_iterable) cannot go on behind a"
        " position: from_iterable may give something else in another run; make it Stream.resumable(open_from), or say"
        " what it gives when the program is started again: entry(again='same') if it is the same rows from the first"
        " on, entry(again='later') if it is what comes from then on, which is spooled"
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        (lines() | shouted | Sink.to_list()).run(spark, tmp_path)
    assert not list(tmp_path.iterdir())
    same = lines() | entry(again="same") | shouted | Sink.to_list()
    assert sorted(same.run(spark, tmp_path / "same").wait(WAIT)) == ["A", "B", "C"]
    assert (lines() | entry(again="same") | shouted | Sink.to_list()).run(spark, tmp_path / "same").wait(WAIT) == []
    # Without a checkpoint no restart is promised.
    assert sorted((lines() | shouted | Sink.to_list()).run(spark).wait(WAIT)) == ["A", "B", "C"]
    with pytest.raises(ValueError, match=r"^entry: again must be 'same' or 'later', got True$"):
        entry(again=True)  # type: ignore[arg-type]


def test_a_step_that_time_decides_is_refused(spark: Spark, tmp_path: Path) -> None:
    pipeline = Stream.range(3).debounce(1) | doubled | Sink.to_list()
    with pytest.raises(PlanError, match=r"position: debounce may give something else in another run; make it "):
        pipeline.run(spark, tmp_path)


# A checkpoint belongs to one pipeline.


@dataclass(frozen=True)
class Reading:
    station: str
    celsius: float


@flow
def read(readings: Stream[Reading]) -> Stream[Reading]:
    return readings.map(lambda reading: reading)


def highest(most: float | None, reading: Reading) -> tuple[float, Reading]:
    found = reading.celsius if most is None else max(most, reading.celsius)
    return found, Reading(reading.station, found)


@flow
def kept(readings: Stream[Reading]) -> Stream[Reading]:
    return readings.stateful_map(highest, lambda: None)


READINGS = Stream.just(Reading("a", 1.0))
WORDS = Stream.just("a") | shouted


def test_a_checkpoint_is_of_runs_on_spark_or_of_runs_in_this_process(spark: Spark, tmp_path: Path) -> None:
    """Each would take the folder of the other for an empty one, and give everything again."""
    for kind in ("process", "spark"):
        (tmp_path / kind).mkdir()
    assert (WORDS | Sink.count()).run(checkpoint=tmp_path / "process").wait(WAIT) == 1
    assert (WORDS | Sink.count()).run(spark, tmp_path / "spark").wait(WAIT) == 1
    message = f"run: {tmp_path / 'process'} is the checkpoint of a run in this process; give this one another folder"
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        (WORDS | Sink.count()).run(spark, tmp_path / "process").wait(WAIT)
    message = f"run: {tmp_path / 'spark'} is the checkpoint of a run on Spark; give this one another folder"
    with pytest.raises(PenstockError, match=f"^{re.escape(message)}$"):
        (WORDS | Sink.count()).run(checkpoint=tmp_path / "spark")


def test_a_checkpoint_of_a_changed_pipeline_is_refused_with_what_changed(spark: Spark, tmp_path: Path) -> None:
    def refused(pipeline: Pipeline[Any], folder: str, changes: str) -> None:
        place = tmp_path / folder
        message = f"run: {place} is the checkpoint of another pipeline: {changes}; give this one another folder"
        with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
            pipeline.run(spark, place).wait(WAIT)

    assert (WORDS | Sink.count()).run(spark, tmp_path / "words").wait(WAIT) == 1
    counted = "just, resumed by counting its elements"
    refused(
        Stream.subject() | entry(str_schema()) | shouted | Sink.count(),
        "words",
        f"the source was {counted}, and is subject, spooled",
    )
    refused(
        Stream.just("a").filter(bool) | shouted | Sink.count(),
        "words",
        f"the source was {counted}, and is just, resumed by counting its results",
    )
    refused(Stream.just(1) | doubled | Sink.count(), "words", "column value was string, and is bigint")
    refused(READINGS | read | Sink.count(), "words", "column value was string, and is no more; column station was not"
            " there, and is string; column celsius was not there, and is double")  # fmt: skip
    noop = spark_sink(lambda df: df.writeStream.format("noop"))
    refused(WORDS | noop, "words", "the sink was one of this process, and is one of Spark's")
    rate = spark_source(lambda session: session.readStream.format("rate").load())
    refused(
        rate | Sink.count(), "words",
        f"the source was {counted}, and is one of Spark's; column value was string, and is no more",
    )  # fmt: skip
    assert (WORDS | Sink.count()).run(spark, tmp_path / "words").wait(WAIT) == 0  # the same one goes on


def str_schema() -> str:
    return "value string"


def test_a_stage_whose_state_spark_keeps_belongs_to_the_pipeline(spark: Spark, tmp_path: Path) -> None:
    def by(column: str) -> Pipeline[Any]:
        return READINGS | read | frame(lambda df: df.dropDuplicates([column])) | Sink.count()

    assert by("station").run(spark, tmp_path).wait(WAIT) == 1
    for pipeline, now in (
        (by("celsius"), "distinct rows by [celsius]"),
        (
            READINGS | keyed_by(kept, "station") | Sink.count(),
            "a state for each key; keyed_by 1 was not there, and is [station] with stateful_map(kept)",
        ),
    ):
        with pytest.raises(
            PlanError, match=rf"pipeline: state 1 was distinct rows by \[station\], and is {re.escape(now)}; give"
        ):
            pipeline.run(spark, tmp_path).wait(WAIT)
    with pytest.raises(PlanError, match=r"pipeline: state 1 was distinct rows by \[station\], and is no more; give"):
        (READINGS | read | Sink.count()).run(spark, tmp_path).wait(WAIT)


def test_the_steps_of_a_key_that_keep_something_belong_to_the_pipeline(spark: Spark, tmp_path: Path) -> None:
    """Spark itself says of some of them that there are now two sources."""

    def by(make: Callable[[Stream[Any]], Stream[Any]], **by_time: Any) -> Pipeline[Any]:
        steps = flow(lambda readings: make(readings))
        moments = Stream.just((1, dt.datetime.fromtimestamp(5, dt.UTC))) | entry("n long, at timestamp")
        return moments | keyed_by(steps | named, "n", **by_time) | Sink.count()

    @flow
    def named(rows: Stream[Any]) -> Stream[int]:
        return rows.map(lambda row: 1)

    assert by(lambda rows: rows.skip(1)).run(spark, tmp_path).wait(WAIT) == 0
    for pipeline, now in (
        (by(lambda rows: rows.buffer(2)), "[n] with buffer(items)"),
        (by(lambda rows: rows.skip(1), time="at", watermark=1), "[n] by at with skip(left)"),
        (by(lambda rows: rows.skip(1), time="at", watermark=1, order_by="n"), "[n] by at and n with skip(left)"),
    ):
        message = rf"pipeline: keyed_by 1 was \[n\] with skip\(left\), and is {re.escape(now)}; give"
        with pytest.raises(PlanError, match=message):
            pipeline.run(spark, tmp_path).wait(WAIT)
    others = by(lambda rows: rows.map(lambda row: row).skip(2).map(lambda row: row), order_by="at")
    assert others.run(spark, tmp_path).wait(WAIT) == 0


def test_a_run_that_comes_to_no_micro_batch_leaves_its_checkpoint_to_another_pipeline(
    spark: Spark, tmp_path: Path
) -> None:
    noop = spark_sink(lambda df: df.writeStream.format("noop"))

    def failing(after: int) -> Stream[int]:
        raise LookupError("there is nothing to open")

    hot = Stream.interval(0.01).take(3) | entry("value long")
    for number, (first, message, second, result) in enumerate((
        (hot | branch(Sink.count(), noop), "run: with a checkpoint, several queries each read", hot | Sink.count(), 3),
        (WORDS | spark_sink(lambda df: 5), "spark_sink: the function must return", WORDS | Sink.count(), 1),
        (Stream.resumable(failing, counted=True) | doubled | Sink.count(), "there is", WORDS | Sink.count(), 1),
    )):  # fmt: skip
        place = tmp_path / str(number)
        with pytest.raises((PlanError, TypeError, LookupError), match=f"^{message}"):
            first.run(spark, place).wait(WAIT)
        assert second.run(spark, place).wait(WAIT) == result
        with pytest.raises(PlanError, match="is the checkpoint of another pipeline: "):
            (READINGS | read | Sink.count()).run(spark, place).wait(WAIT)


# Where a row stands.


def test_rows_come_with_their_places(spark: Spark, tmp_path: Path) -> None:
    got: list[Numbered[int]] = []
    pipeline = Stream.range(1000) | entry(capacity=300, latency=0.1) | doubled | numbered() | Sink.for_each(got.append)
    assert pipeline.run(spark, tmp_path).wait(WAIT) == 1000
    assert sorted(one.row for one in got) == list(range(0, 2000, 2))
    batches = sorted({one.batch for one in got})
    assert batches == list(range(len(batches)))
    assert len(batches) > 1
    for batch in batches:
        rows = [one for one in got if one.batch == batch]
        assert [one.number for one in rows] == list(range(len(rows)))
        assert [one.last for one in rows] == [False] * (len(rows) - 1) + [True]


def test_numbers_stand_right_before_a_sink_of_this_process(spark: Spark) -> None:
    message = "run: numbered() must stand right before a sink of this process, once; move it there"
    for pipeline in (
        Stream.range(3) | numbered() | doubled | Sink.count(),
        Stream.range(3) | doubled | numbered() | spark_sink(lambda df: df.writeStream.format("noop")),
    ):
        with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
            pipeline.run(spark)
    with pytest.raises(TypeError, match=r"^numbered: this step runs on Spark; end the pipeline with a Sink and run"):
        list(Stream.range(3) | numbered())
    batch = spark.session.range(3)
    with pytest.raises(ValueError, match=r"^stream: numbered is for streaming DataFrames, which have micro-batches"):
        spark.stream(batch, numbered=True)
    with pytest.raises(ValueError, match=r"^stream: numbered is for rows, and rows='arrow' gives record batches"):
        spark.stream(batch, numbered=True, rows="arrow")
