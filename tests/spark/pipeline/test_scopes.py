"""scopes: per_partition and keyed_by as parts of a pipeline, and where they cannot stand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Flow, Sink, Stream, flow
from penstock.spark import PlanError, Spark, StageError, frame, keyed_by, per_partition, spark_source

WAIT = 120


@dataclass(frozen=True)
class Sale:
    shop: str
    n: int


@flow
def small(sales: Stream[Sale]) -> Stream[Sale]:
    return sales.filter(lambda sale: sale.n < 30)


def add(total: int, sale: Sale) -> tuple[int, Sale]:
    return total + sale.n, Sale(sale.shop, total + sale.n)


@flow
def running(sales: Stream[Sale]) -> Stream[Sale]:
    return sales.stateful_map(add, int)


@flow
def largest(sales: Stream[Sale]) -> Stream[int]:
    return sales.map(lambda sale: sale.n).reduce(max)


@flow
def first_two(numbers: Stream[int]) -> Stream[int]:
    return numbers.take(2)


def sales(count: int) -> list[Sale]:
    return [Sale("ab"[n % 2], n) for n in range(count)]


def totals(count: int) -> set[Sale]:
    return {Sale(shop, sum(range(at, n + 1, 2))) for at, shop in enumerate("ab") for n in range(at, count, 2)}


def test_a_live_stream_keeps_its_states_by_key(spark: Spark) -> None:
    pipeline = Stream.from_iterable(sales(50)) | small | keyed_by(running, "shop", order_by="n") | Sink.to_list()
    found = pipeline.run(spark).wait(WAIT)
    assert set(found) == totals(30)
    assert len(found) == 30


def test_a_batch_goes_through_both_scopes(spark: Spark) -> None:
    def read(session: Any) -> Any:
        return session.range(0, 40, 1, 4).selectExpr("if(id % 2 = 0, 'a', 'b') AS shop", "id AS n")

    per_key = spark_source(read) | keyed_by(largest, "shop") | Sink.to_list()
    assert sorted(per_key.run(spark).wait(WAIT)) == [38, 39]
    partitions = spark_source(read) | per_partition(largest) | frame(lambda df: df.where("value > 10")) | Sink.to_list()
    assert sorted(row.value for row in partitions.run(spark).wait(WAIT)) == [19, 29, 39]


def test_a_scope_over_bare_values_and_a_fluent_step_behind_it(spark: Spark) -> None:
    numbers = spark_source(lambda session: session.range(0, 6, 1, 2).toDF("value"))
    doubled = (numbers | per_partition(first_two)).map(lambda n: 2 * n) | Sink.to_list()
    assert sorted(doubled.run(spark).wait(WAIT)) == [0, 2, 6, 8]


def test_the_plan_says_what_is_seen_together(spark: Spark) -> None:
    pipeline = (
        Stream.from_iterable(sales(5))
        | keyed_by(running, "shop", order_by="n")
        | per_partition(largest)
        | keyed_by(first_two, "value")
        | Sink.count()
    )
    places = [(place.where, place.what, place.bound) for place in pipeline.explain(spark).places[1:-1]]
    assert places == [
        (
            "executors",
            "keyed_by(stateful_map(add), 'shop', order_by='n')",
            "rows are brought together by key, one run for each; on a stream Spark keeps the states",
        ),
        (
            "executors",
            "per_partition(map(largest.<lambda>) | reduce(max))",
            "one run for each partition, which asks row by row",
        ),
        (
            "executors",
            "keyed_by(take, 'value')",
            "rows are brought together by key, one run for each; on a stream Spark keeps the states",
        ),
    ]
    assert str(pipeline.explain()).startswith("on Spark (local[*])")  # without a Spark it would start one


def refused(error: type[Exception], message: str) -> Any:
    return pytest.raises(error, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize(
    ("part", "name"), [(per_partition(running), "per_partition"), (keyed_by(running, "shop"), "keyed_by")]
)
def test_in_process_it_is_refused(part: Flow[Sale, Sale], name: str) -> None:
    message = f"{name}: it is for Spark; end the pipeline with a Sink and run() it, or use the flow itself here"
    with refused(TypeError, message):
        list(Stream.from_iterable(sales(3)) | part)


def test_what_it_gives_must_be_known(spark: Spark) -> None:
    unknown = flow(lambda rows: rows.take(1))
    pipeline = spark_source(lambda session: session.range(3)) | per_partition(unknown) | Sink.count()
    with refused(
        PlanError,
        "run: what per_partition(take) gives must be known, got no annotation; annotate it:"
        " @flow def name(xs: Stream[A]) -> Stream[B], B a dataclass, a NamedTuple, a TypedDict, a tuple of plain types"
        " or one of str, int, float, bool",
    ):
        pipeline.run(spark)


def test_a_scope_is_a_stage_of_its_own(spark: Spark) -> None:
    for made, name in (
        (small | per_partition(running), "per_partition(stateful_map(add))"),
        (keyed_by(running, "shop") | small, "keyed_by(stateful_map(add), 'shop')"),
    ):
        with refused(
            StageError,
            f"stage: {name} must be a separate stage; give what comes before or after it one, too,"
            " or put it into the flow that has the scope",
        ):
            spark.stage(made, Sale)
    inside = flow(lambda rows: (rows | per_partition(running)).concat(Stream.empty()))
    with refused(StageError, "stage: per_partition is a step of Spark's own and cannot run inside a stage"):
        spark.stage(inside, Sale)
    native = flow(lambda rows: rows | frame(lambda df: df))
    with refused(StageError, "stage: frame is a step of Spark's own and cannot run inside a stage"):
        spark.stage(native, Sale)
    with refused(TypeError, "keyed_by: flow must not have a scope already, got per_partition(stateful_map(add))"):
        keyed_by(per_partition(running), "shop")


def test_a_stage_that_sees_the_stream_is_still_refused_without_a_scope(spark: Spark) -> None:
    with refused(
        StageError,
        "stage: stateful_map(add), step 1 of 1, sees the whole stream, and an executor has only a part of it:"
        ' say what it may see with per_partition(flow) or keyed_by(flow, "key")',
    ):
        (Stream.from_iterable(sales(3)) | running | Sink.count()).run(spark)
