"""also: one run writes with Spark and feeds a subscriber of this process, the same rows, each once."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyspark import StorageLevel, cloudpickle

from penstock import RunCancelledError, Sink, Stream, flow
from penstock.engine.weaving.blame import function_name
from penstock.spark import PlanError, also, entry, frame, spark_sink, spark_source

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not know the tests

WAIT = 240


@dataclass(frozen=True)
class Letter:
    letter: str
    place: int


@flow
def placed(words: Stream[str]) -> Stream[Letter]:
    return words.flat_map(lambda word: [Letter(letter, place) for place, letter in enumerate(word)])


@flow
def shouted(words: Stream[str]) -> Stream[str]:
    return words.map(str.upper)


def nothing(df, batch):
    pass


def folder_of(path):
    """Write each batch to a folder of its own, which is replaced if it comes again."""

    def write(df, batch):
        df.write.mode("overwrite").parquet(f"{path}/batch={batch}")

    return write


def written(spark, path):
    return spark.session.read.parquet(str(path)).drop("batch").collect()


# Planning.


def test_the_plan_shows_it():
    pipeline = Stream.just("a") | shouted | also(nothing) | Sink.count()
    assert str(pipeline.explain()).splitlines()[-6:] == [
        "         Spark ├─ also(nothing)",
        "               │    each micro-batch, computed once and held until its rows have gone on",
        "               │",
        "  this process ├─ count",
        "               │    rows come back through the gate as they are asked for",
        "               │    until then Spark waits",
    ]


def test_a_live_source_right_before_it_needs_a_schema():
    with pytest.raises(
        PlanError,
        match=r"^run: the rows of just must have a schema to enter Spark;"
        r" say which, right behind it: entry\(schema\)$",
    ):
        (Stream.just("a") | also(nothing) | Sink.count()).explain()


def test_it_takes_a_function():
    with pytest.raises(TypeError, match=r"^also: write must be callable, got 'parquet'$"):
        also("parquet")


def test_it_does_not_run_in_this_process():
    with pytest.raises(
        TypeError, match=r"^also: this step runs on Spark; end the pipeline with a Sink and run\(\) it, and put no step"
    ):
        list(Stream.just("a") | shouted | also(nothing))


# Running.


def counts_of(df):
    return df.groupBy("value").count()


def test_it_stands_before_a_stage_and_before_an_aggregation(spark, few_partitions):
    words, batches, letters = [], [], []

    def note(df, batch):
        batches.append(batch)
        words.extend(row.value for row in df.collect())

    pipeline = (
        Stream.just("a", "b", "a", "c", "a")
        | entry("value string", capacity=2)
        | also(note)
        | shouted
        | also(lambda df, batch: letters.extend(row.value for row in df.collect()))
        | frame(counts_of)
        | Sink.to_list()
    )
    assert sorted(map(tuple, pipeline.run(spark).wait(WAIT))) == [("A", 3), ("B", 1), ("C", 1)]
    assert sorted(words) == ["a", "a", "a", "b", "c"]
    assert sorted(letters) == ["A", "A", "A", "B", "C"]
    assert batches == list(range(len(batches)))
    assert len(batches) > 2


def test_it_stands_before_a_sink_of_sparks_own(spark, tmp_path):
    words = []
    end = spark_sink(lambda df: df.writeStream.format("parquet").option("path", str(tmp_path / "out")))
    pipeline = (
        Stream.just("a", "b") | shouted | also(lambda df, batch: words.extend(row.value for row in df.collect())) | end
    )
    assert pipeline.run(spark, tmp_path / "state").wait(WAIT) == 2
    assert sorted(words) == ["A", "B"]
    assert sorted(row.value for row in written(spark, tmp_path / "out")) == ["A", "B"]


def test_the_same_rows_are_written_and_go_on(spark, tmp_path):
    numbers = []
    pipeline = (
        Stream.just("one", "two")
        | placed
        | also(folder_of(tmp_path))
        | also(lambda df, batch: numbers.append((batch, df.count())))
        | Sink.to_list()
    )
    went_on = pipeline.run(spark).wait(WAIT)
    assert went_on == [Letter(letter, place) for word in ("one", "two") for place, letter in enumerate(word)]
    assert [batch for batch, _ in numbers] == list(range(len(numbers)))
    assert sum(rows for _, rows in numbers) == 6
    assert sorted(map(tuple, written(spark, tmp_path))) == sorted((each.letter, each.place) for each in went_on)


def test_steps_in_fluent_style_behind_it_run_with_the_sink(spark, tmp_path):
    pipeline = (Stream.just("a", "b") | shouted | also(folder_of(tmp_path))).map(str.lower) | Sink.to_list()
    assert pipeline.run(spark).wait(WAIT) == ["a", "b"]
    assert sorted(row.value for row in written(spark, tmp_path)) == ["A", "B"]


@pytest.mark.parametrize("live", [True, False])
def test_a_batch_is_computed_once(spark, tmp_path, live):
    seen = tmp_path / "seen"

    def note(word: str) -> str:
        with seen.open("a") as file:
            file.write(f"{word}\n")
        return word

    @flow
    def noted(words: Stream[str]) -> Stream[str]:
        return words.map(note)

    words = [f"word{n}" for n in range(20)]
    rows = [(word,) for word in words]
    source = (
        Stream.from_iterable(words) if live else spark_source(lambda session: session.createDataFrame(rows, "w string"))
    )
    batches = []

    def write(df, batch):
        batches.append(batch)
        folder_of(tmp_path / "out")(df, batch)

    run = (source | noted | also(write) | Sink.to_list()).run(spark)
    assert sorted(run.wait(WAIT)) == sorted(words)
    assert sorted(seen.read_text().split()) == sorted(words)
    assert sorted(row.value for row in written(spark, tmp_path / "out")) == sorted(words)
    assert live or batches == [0]


def test_a_batch_is_held_while_its_rows_go_on_and_no_longer(spark):
    rows = spark.session.range(0, 10, 1, 2)
    levels = []

    def write(df, batch):
        levels.append(df.storageLevel)

    assert len(list(spark.stream(rows, also=write))) == 10
    assert levels == [StorageLevel.MEMORY_AND_DISK_DESER]
    assert rows.storageLevel == StorageLevel.NONE


def test_a_batch_that_its_owner_holds_stays_held(spark):
    rows = spark.session.range(0, 10, 1, 2).persist(StorageLevel.DISK_ONLY)
    try:
        assert len(list(spark.stream(rows, also=nothing))) == 10
        assert rows.storageLevel == StorageLevel.DISK_ONLY
    finally:
        rows.unpersist()


def test_nothing_is_written_twice_across_restarts(spark, tmp_path):
    def rows_from(row):
        # One element is one micro-batch, so what is cut short below is always the whole of it.
        return Stream.just(pa.record_batch([range(row, 200)], schema=pa.schema([("n", pa.int64())])))

    batches = []

    def write(df, batch):
        batches.append(batch)
        folder_of(tmp_path / "out")(df, batch)

    def rows():
        numbers = spark.frame(rows_from, "n long")
        return spark.stream(numbers, rows="tuple", checkpoint=tmp_path / "checkpoint", also=write)

    assert len(list(rows().take(3))) == 3
    assert sorted(rows()) == [(n,) for n in range(200)]
    assert batches == [0, 0]
    assert sorted(row.n for row in written(spark, tmp_path / "out")) == list(range(200))


@pytest.mark.parametrize("live", [True, False])
def test_its_own_exception_is_raised_and_no_row_goes_on(spark, live):
    def full(df, batch):
        raise OSError("disk full")

    source = Stream.just("a") if live else spark_source(lambda session: session.createDataFrame([("a",)], "w string"))
    got = []
    with pytest.raises(OSError, match=r"^disk full\n") as caught:
        (source | shouted | also(full) | Sink.for_each(got.append)).run(spark).wait(WAIT)
    assert got == []
    assert str(caught.value.__notes__[0]).startswith(f"in also({function_name(full)}), test_also.py:")


def test_an_executors_exception_is_raised_with_its_type(spark, tmp_path):
    @flow
    def parsed(words: Stream[str]) -> Stream[int]:
        return words.map(int)

    with pytest.raises(ValueError, match="invalid literal for int\\(\\) with base 10: 'a'"):
        (Stream.just("a") | parsed | also(folder_of(tmp_path)) | Sink.count()).run(spark).wait(WAIT)


def test_a_cancel_ends_a_write_and_lets_go_of_its_batch(spark, tmp_path):
    begun = threading.Event()

    @flow
    def stuck(words: Stream[str]) -> Stream[str]:
        return words.map(lambda word: threading.Event().wait(WAIT) or word)

    def write(df, batch):
        begun.set()
        folder_of(tmp_path)(df, batch)

    run = (Stream.just("a") | stuck | also(write) | Sink.count()).run(spark)
    assert begun.wait(WAIT)
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait(WAIT)
    pause = threading.Event()
    held = spark.session.sparkContext._jsc.getPersistentRDDs
    for _ in range(WAIT * 20):
        if not spark.session.streams.active and not held().size():
            break
        pause.wait(0.05)
    assert not spark.session.streams.active
    assert not held().size()
