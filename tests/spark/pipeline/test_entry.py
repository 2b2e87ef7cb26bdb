"""entry: how a live stream enters Spark is said in the pipeline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Sink, Stream, flow
from penstock.spark import PlanError, Spark, entry, frame, spark_source

WAIT = 120


@dataclass(frozen=True)
class Point:
    x: int


@flow
def moved(points: Stream[Point]) -> Stream[int]:
    return points.map(lambda point: point.x + 1)


def refused(error: type[Exception], message: str) -> Any:
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def test_the_source_is_never_asked_for_more_than_capacity(spark: Spark) -> None:
    asked = taken = most = 0

    def request(n: int) -> None:
        nonlocal asked, most
        asked += n
        most = max(most, asked - taken)

    def next_one(_: Point) -> None:
        nonlocal taken
        taken += 1

    points = Stream.range(70).map(Point).tap(next_one, on_request=request)
    pipeline = points | entry(capacity=25, latency=0.2) | moved | Sink.to_list()
    assert sorted(pipeline.run(spark).wait(WAIT)) == list(range(1, 71))
    assert 1 <= most <= 25


def test_rows_that_do_not_fit_go_to_the_dead_letters_of_the_pipeline(spark: Spark) -> None:
    rejected: list[Any] = []
    letters = Sink.for_each(lambda one: rejected.append(one.row))
    source: Stream[Any] = Stream.just((1,), ("two",), (3,))
    pipeline = source | entry("x long", dead_letter=letters) | frame(lambda df: df.where("x > 0")) | Sink.to_list()
    assert sorted(row.x for row in pipeline.run(spark).wait(WAIT)) == [1, 3]
    assert rejected == [("two",)]


def test_explain_shows_it(spark: Spark) -> None:
    pipeline = Stream.range(3) | entry("x long", capacity=1_234) | Sink.count()
    assert pipeline.explain(spark).places[0].bound == (
        "through the gate as (x bigint); asked for at most 1,234 rows beyond Spark's last commit"
    )
    usual = Stream.just(Point(1)) | moved | Sink.count()
    assert usual.explain(spark).places[0].bound.endswith("asked for at most 100,000 rows beyond Spark's last commit")


def test_a_live_stream_without_a_schema_is_refused_with_the_cure(spark: Spark) -> None:
    with refused(
        PlanError, "run: the rows of range must have a schema to enter Spark; say which, right behind it: entry(schema)"
    ):
        (Stream.range(3) | entry(capacity=5) | Sink.count()).run(spark)


def test_it_stands_right_behind_a_live_stream(spark: Spark) -> None:
    with refused(PlanError, "run: entry must stand right behind a live stream, got map(moved.<lambda>) before it"):
        (Stream.just(Point(1)) | moved | entry() | Sink.count()).run(spark)
    with refused(PlanError, "run: entry must stand right behind a live stream, got spark_source before it"):
        (spark_source(lambda session: session.range(3)) | entry() | Sink.count()).run(spark)
    with pytest.raises(
        TypeError, match=r"^entry: this step runs on Spark; end the pipeline with a Sink and run\(\) it, "
    ):
        list(Stream.range(3) | entry("x long"))


def test_bad_values_are_refused() -> None:
    with refused(ValueError, "entry: capacity must be a whole number >= 1, got 0"):
        entry(capacity=0)
    with refused(ValueError, "entry: capacity must be a whole number >= 1, got 1.5"):
        entry(capacity=1.5)  # type: ignore[arg-type]
    with refused(ValueError, "entry: latency must be > 0 seconds, got '1'"):
        entry(latency="1")  # type: ignore[arg-type]
    with refused(ValueError, "entry: latency must be > 0 seconds, got 0"):
        entry(latency=0)
    with refused(TypeError, "entry: dead_letter must be a Sink, got 5"):
        entry(dead_letter=5)  # type: ignore[arg-type]
