"""Graphs: several sources, merged, joined and enriched, and several ends of one run, the same here and on Spark."""

from __future__ import annotations

import datetime as dt
import sys
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as f

from penstock import RunCancelledError, Sink, Stream, branch, flow
from penstock.spark import PlanError, also, entry, frame, numbered, spark_sink, spark_source

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not know the tests

WAIT = 300
NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
pytestmark = pytest.mark.usefixtures("few_partitions")


@dataclass(frozen=True)
class Order:
    order: int
    city: str
    ordered: dt.datetime


@dataclass(frozen=True)
class Payment:
    paid_order: int
    paid: dt.datetime


@flow
def orders(lines: Stream[str]) -> Stream[Order]:
    return lines.map(lambda line: Order(int(line.split()[0]), line.split()[1], at(int(line.split()[0]))))


@flow
def payments(numbers: Stream[int]) -> Stream[Payment]:
    return numbers.map(lambda number: Payment(number, at(number + 1)))


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n * 2)


@flow
def small(numbers: Stream[int]) -> Stream[int]:
    return numbers.filter(lambda n: n < 5)


@flow
def texts(numbers: Stream[int]) -> Stream[str]:
    return numbers.map(str)


def at(minutes: int) -> dt.datetime:
    return NOON + dt.timedelta(minutes=minutes)


LINES = [f"{n} {'AB'[n % 2]}" for n in range(8)]
PAID = [0, 1, 2, 5]


def paid_or_not(left, right):
    return (
        left.withWatermark("ordered", "5 minutes")
        .join(
            right.withWatermark("paid", "5 minutes"),
            f.expr("order = paid_order and paid between ordered and ordered + interval 10 minutes"),
            "leftOuter",
        )
        .select("order", "city", f.col("paid_order").isNotNull().alias("was_paid"))
    )


# Planning.


def numbers(session):
    return session.range(3)


def test_the_plan_is_drawn_as_a_graph():
    cities = spark_source(numbers)
    pipeline = (
        Stream.from_iterable(LINES)
        | orders
        | frame(paid_or_not, Stream.from_iterable(PAID) | payments, cities)
        | branch(Sink.count(), spark_sink(numbers))
    )
    text = str(pipeline.explain())
    assert [line.split("├─ ")[1] for line in text.splitlines() if "├─" in line] == [
        "1. from_iterable",
        "2. map(orders.<lambda>)",
        "3. from_iterable",
        "4. map(payments.<lambda>)",
        "5. spark_source(numbers)",
        "6. frame(paid_or_not), of 2, 4 and 5",
        "7. count",
        "8. spark_sink(numbers), of 6",
    ]
    ways = [line.strip() for line in pipeline.explain().mermaid().splitlines() if "-->" in line]
    assert ways == [
        "p0 --> p1", "p2 --> p3", "p1 --> p5", "p3 --> p5", "p4 --> p5", "p5 --> p6", "p5 --> p7",
    ]  # fmt: skip


def test_a_stream_that_is_used_twice_is_one():
    clean = Stream.from_iterable(LINES) | orders
    text = str((clean | frame(lambda a, b: a, clean) | Sink.count()).explain())
    assert text.count("from_iterable") == 1
    assert "of 2 and 2" in text


def test_branches_that_take_different_rows_of_a_live_source_are_refused_with_the_cure():
    @flow
    def words(lines: Stream[str]) -> Stream[str]:
        return lines

    with pytest.raises(PlanError) as caught:
        (Stream.just(1) | branch(doubled | Sink.count(), words | Sink.count())).explain(Stub())
    assert str(caught.value) == (
        "run: the rows of just must have one schema to enter Spark, and its branches take (value:bigint) and"
        " (value:string); say which, right behind it: entry(schema)"
    )


class Stub:
    """An engine that only plans."""

    def run(self, pipeline: Any, checkpoint: Any, /) -> Any:
        raise NotImplementedError

    def explain(self, pipeline: Any, /) -> Any:
        from penstock.spark.pipeline.run import explain

        return explain(pipeline, "nowhere")


def test_other_streams_are_streams():
    with pytest.raises(TypeError, match=r"^frame: others must be Streams, got 'orders'$"):
        frame(paid_or_not, "orders")


# Several sources.


def test_two_live_sources_are_joined_and_what_is_not_matched_comes_out_at_the_end(spark):
    pipeline = (
        Stream.from_iterable(LINES)
        | orders
        | frame(paid_or_not, Stream.from_iterable(PAID) | payments)
        | Sink.to_list()
    )
    found = sorted(map(tuple, pipeline.run(spark).wait(WAIT)))
    assert found == [(n, "AB"[n % 2], n in PAID) for n in range(8)]


def test_live_sources_are_merged_and_enriched_from_a_table(spark):
    table = [(n, f"n{n}") for n in range(20)]
    names = spark_source(lambda session: session.createDataFrame(table, "id long, name string"))
    merged = (Stream.range(3) | doubled).merge(Stream.just(5, 6) | entry("value long"))
    pipeline = (
        merged
        | frame(lambda df, names: df.join(names, df.value == names.id).select("value", "name"), names)
        | Sink.to_list()
    )
    assert sorted(map(tuple, pipeline.run(spark).wait(WAIT))) == [(n, f"n{n}") for n in (0, 2, 4, 5, 6)]


def test_a_live_source_and_one_of_sparks_own_run_until_they_are_stopped(spark):
    got, both = [], threading.Event()

    def arrived(row):
        got.append(row[0])
        if -1 in got and max(got) >= 0:
            both.set()

    rate = spark_source(
        lambda session: session.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load().select("value")
    )
    live = Stream.just(-1).concat(Stream.never()) | entry("value long")
    run = (live.merge(rate) | frame(lambda df: df) | Sink.for_each(arrived)).run(spark)
    assert both.wait(WAIT)
    run.stop()
    assert run.wait(WAIT) == len(got)


def test_a_batch_is_not_merged_with_a_stream(spark):
    batch = spark_source(lambda session: session.createDataFrame([(9,)], "value long"))
    with pytest.raises(PlanError, match=r"^run: Spark does not merge a stream with a batch; read it as a stream"):
        ((Stream.just(1) | doubled).merge(batch) | frame(lambda df: df) | Sink.count()).run(spark).wait(WAIT)


def test_a_silent_source_does_not_hold_the_others_back(spark):
    release, got = threading.Event(), []

    def silent():
        assert release.wait(WAIT)
        yield 100

    def arrived(number):
        got.append(number)
        if len(got) == 6:
            release.set()  # all of the other have come; only now there is one here

    merged = (Stream.defer(silent) | doubled).merge(Stream.from_iterable(range(6)) | entry(capacity=3) | doubled)
    assert (merged | frame(lambda df: df) | Sink.for_each(lambda row: arrived(row[0]))).run(spark).wait(WAIT) == 7
    assert sorted(got) == [0, 2, 4, 6, 8, 10, 200]


def test_what_is_merged_must_have_the_same_columns(spark):
    merged = (Stream.just(1) | doubled).merge(Stream.just(("a",)) | entry("name string"))
    with pytest.raises(
        PlanError, match=r"^run: streams that are merged must have the same columns, got \['value bigint"
    ):
        (merged | frame(lambda df: df) | Sink.count()).run(spark).wait(WAIT)


# Several ends.


def test_branches_are_served_by_one_run_and_computed_once(spark, tmp_path):
    seen = tmp_path / "seen"

    def note(number: int) -> int:
        with seen.open("a") as file:
            file.write(f"{number}\n")
        return number

    @flow
    def noted(numbers: Stream[int]) -> Stream[int]:
        return numbers.map(note)

    runs, written = [], []

    def run_of_ten():
        runs.append("begun")
        yield from range(10)

    source = Stream.defer(run_of_ten)
    pipeline = (
        source
        | noted
        | branch(
            Sink.to_list(),
            doubled
            | also(lambda df, batch: written.extend(row.value for row in df.collect()))
            | texts
            | Sink.to_list(),
            branch(small | Sink.count(), frame(lambda df: df.where("value > 7")) | Sink.to_list()),
        )
    )
    whole, strings, (few, large) = pipeline.run(spark).wait(WAIT)
    assert sorted(whole) == list(range(10))
    assert sorted(strings) == sorted(str(n * 2) for n in range(10))
    assert sorted(written) == [n * 2 for n in range(10)]
    assert few == 5
    assert sorted(map(tuple, large)) == [(8,), (9,)]
    assert runs == ["begun"]
    assert sorted(map(int, seen.read_text().split())) == list(range(10))


def counts(df):
    return df.groupBy("value").count()


def hourly(df):
    return df.withWatermark("at", "1 minute").groupBy(f.window("at", "1 hour")).count().select("count")


def test_windows_counts_and_rows_are_ends_of_one_run(spark):
    written: list[int] = []
    rows = Stream.range(6).map(lambda n: (n % 2, at(25 * n)))
    pipeline = (
        rows
        | entry("value long, at timestamp", capacity=3)
        | branch(
            frame(hourly) | Sink.to_list(),
            frame(counts) | Sink.to_list(),
            spark_sink(lambda df: df.writeStream.foreachBatch(lambda batch, _: written.append(batch.count()))),
            Sink.count(),
        )
    )
    run = pipeline.run(spark)
    windows, of_values, wrote, came = run.wait(WAIT)
    assert sorted(map(tuple, windows)) == [(1,), (2,), (3,)]
    assert sorted(map(tuple, of_values)) == [(0, 3), (1, 3)]
    assert wrote == came == 6
    assert sum(written) == 6
    assert run.now().rows_in == 6


def test_a_batch_has_several_ends(spark, tmp_path):
    batch = spark_source(lambda session: session.createDataFrame([(n,) for n in range(10)], "value long"))
    pipeline = (
        batch
        | doubled
        | branch(
            Sink.count(),
            small | Sink.to_list(),
            spark_sink(lambda df: df.write.parquet(str(tmp_path / "out"))),
        )
    )
    assert pipeline.run(spark).wait(WAIT) == (10, [0, 2, 4], None)
    assert spark.session.read.parquet(str(tmp_path / "out")).count() == 10


def test_a_failure_of_one_end_ends_the_others(spark):
    def refuse(row):
        raise LookupError("refused")

    pipeline = (
        Stream.defer(lambda: iter(int, 1))
        | doubled
        | branch(Sink.for_each(refuse), spark_sink(lambda df: df.writeStream.format("noop")))
    )
    with pytest.raises(LookupError, match="refused"):
        pipeline.run(spark).wait(WAIT)
    pause = threading.Event()
    while spark.session.streams.active:
        pause.wait(0.05)


def test_stop_and_cancel_reach_all_queries(spark):
    arrived = threading.Event()
    pipeline = (
        Stream.defer(lambda: iter(int, 1))
        | doubled
        | branch(Sink.for_each(lambda _: arrived.set()), spark_sink(lambda df: df.writeStream.format("noop")))
    )
    run = pipeline.run(spark)
    assert arrived.wait(WAIT)
    run.stop()
    one, two = run.wait(WAIT)
    assert one == two == run.now().rows_in
    arrived.clear()
    run = pipeline.run(spark)
    assert arrived.wait(WAIT)
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait(WAIT)
    pause = threading.Event()
    while spark.session.streams.active:
        pause.wait(0.05)


def test_each_source_and_query_has_its_part_of_the_checkpoint(spark, tmp_path):
    got: list[int] = []
    ends = branch(Sink.for_each(got.append), small | Sink.count())
    merged = (Stream.range(3) | entry(again="later") | doubled).merge(
        Stream.just(10) | entry("value long", again="later")
    )
    assert (merged | doubled | ends).run(spark, tmp_path).wait(WAIT) == (4, 2)
    assert {path.name for path in tmp_path.iterdir()} == {"pipeline", "query", "spool", "spool-2"}
    assert sorted(got) == [0, 4, 8, 20]


def test_sources_and_queries_go_on_from_their_places_in_the_checkpoint(spark, tmp_path):
    """Two queries, since one end is Spark's own; two cold sources, which need no spool."""
    ck, out = tmp_path / "ck", str(tmp_path / "out")

    def run(left, right):
        merged = (Stream.from_iterable(left) | doubled).merge(Stream.from_iterable(right) | entry("value long"))
        parquet = spark_sink(lambda df: df.writeStream.format("parquet").option("path", out))
        going = (merged | branch(Sink.to_list(), parquet)).run(spark, ck)
        rows, count = going.wait(WAIT)
        assert going.now().rows_in == count, "a row that two queries read was counted twice"
        return sorted(row.value for row in rows), count

    assert run([1, 2, 3], [10]) == ([2, 4, 6, 10], 4)
    assert {path.name for path in ck.iterdir()} == {"pipeline", "query", "branch-2"}
    assert run([1, 2, 3, 4], [10, 11, 12]) == ([8, 11, 12], 3)
    assert sorted(row.value for row in spark.session.read.parquet(out).collect()) == [2, 4, 6, 8, 10, 11, 12]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Stream.range(3) | entry("value long", again="later"), "which one of them would take and the others miss"),
        (
            Stream.resumable(lambda at: Stream.empty(), commit=lambda at: None) | entry("value long"),
            "what one of them has committed the others may still need",
        ),
    ],
)
def test_a_source_that_queries_cannot_read_apart_is_refused_with_a_checkpoint(spark, tmp_path, source, reason):
    ends = branch(Sink.to_list(), spark_sink(lambda df: df.writeStream.format("noop")))
    with pytest.raises(PlanError, match=rf"run: with a checkpoint, several queries .*{reason}; let one query serve"):
        (source | ends).run(spark, tmp_path).wait(WAIT)


def test_the_checkpoint_of_another_graph_is_refused(spark, tmp_path):
    def run(*others):
        found = Stream.range(3) | entry("value long")
        found = found.merge(*others) if others else found
        return (found | texts | branch(Sink.to_list(), Sink.count())).run(spark, tmp_path).wait(WAIT)

    run()
    with pytest.raises(PlanError, match=r"another pipeline: the source was range, .*, and is no more; .*source 2 was"):
        run(Stream.range(5) | entry("value long"))


def test_ends_of_one_query_have_their_own_numbers(spark):
    places: list[tuple[int, int, bool, int]] = []
    noted = numbered() | Sink.for_each(lambda one: places.append((one.batch, one.number, one.last, one.row)))
    pipeline = Stream.range(10) | doubled | branch(Sink.to_list(), small | noted)
    rows, count = pipeline.run(spark).wait(WAIT)
    assert sorted(rows) == [2 * n for n in range(10)]
    assert count == len(places) == 3
    assert sorted(row for *_, row in places) == [0, 2, 4]
    for batch in {batch for batch, *_ in places}:
        own = [(number, last) for of, number, last, _ in places if of == batch]
        assert own == [(number, number == len(own) - 1) for number in range(len(own))]


def test_a_row_that_does_not_fit_is_told_of_once_however_many_queries_read_it(spark):
    letters: list[Any] = []
    source = Stream.just((1,), ("one",), (2,)) | entry("n long", dead_letter=Sink.for_each(letters.append))
    rows, count = (
        (source | branch(Sink.to_list(), spark_sink(lambda df: df.writeStream.format("noop")))).run(spark).wait(WAIT)
    )
    assert ([row.n for row in rows], count) == ([1, 2], 2)
    assert [letter.row for letter in letters] == [("one",)]


# The same here and there.

NUMBERS = Stream.range(12)
GRAPHS = {
    "a line": lambda: NUMBERS | doubled | small | Sink.to_list(),
    "two ends": lambda: NUMBERS | doubled | branch(Sink.to_list(), texts | Sink.to_list()),
    "ends within ends": lambda: (
        NUMBERS | branch(small | branch(doubled | Sink.to_list(), Sink.count()), texts | Sink.to_list())
    ),
    "merged": lambda: NUMBERS.merge(Stream.just(3, 3)) | doubled | branch(Sink.to_list(), small | Sink.to_list()),
    "merged behind flows": lambda: (
        (NUMBERS | doubled).merge(Stream.just(1) | doubled) | texts | branch(Sink.to_list(), Sink.count())
    ),
    "an end that has enough": lambda: (
        NUMBERS | doubled | branch(Sink.of(lambda ns: ns.filter(lambda n: n == 6).first()), Sink.count())
    ),
}


def multisets(result):
    if isinstance(result, tuple):
        return tuple(map(multisets, result))
    return sorted(result) if isinstance(result, list) else result


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_gives_the_same_in_process_and_on_spark(spark, name):
    here = GRAPHS[name]().run().wait(WAIT)
    there = GRAPHS[name]().run(spark).wait(WAIT)
    assert multisets(there) == multisets(here)
