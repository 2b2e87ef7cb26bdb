"""Depth: a thousand parts behind each other, or inside of each other, are planned for Spark on a flat stack."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Sink, Stream, branch, flow
from penstock.run.walking import walked
from penstock.spark import PlanError, Spark, frame, spark_source
from penstock.spark.pipeline.plan import plan
from penstock.spark.pipeline.run import _put_together
from penstock.spark.stages.refusals import StageError, check_pieces, check_sight
from penstock.spark.stages.verdicts import line_of
from tests.engine.test_depth import NESTED

LEVELS = 1_000
WAIT = 300


@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n * 2)


def same(df: Any) -> Any:
    return df


def numbers(session: Any) -> Any:
    return session.range(3)


def branches() -> Sink[Any, Any]:
    sink: Sink[Any, Any] = Sink.to_list()
    for _ in range(LEVELS):
        sink = branch(sink, Sink.count())
    return sink


def test_branches_are_planned_and_their_results_put_together() -> None:
    made = plan(Stream.range(3) | doubled | branches())
    assert made is not None
    assert len(made.ends) == LEVELS + 1
    result = walked(_put_together(made.result, {number: number for number in range(len(made.ends))}))
    for number in range(LEVELS, 0, -1):
        result, count = result
        assert count == number
    assert result == 0
    assert len(made.described("local").places) == LEVELS + 3


def test_branches_in_which_spark_has_nothing_to_do_are_none_of_its() -> None:
    assert plan(Stream.range(3) | branches()) is None


def test_branches_are_asked_for_the_schema_of_a_source() -> None:
    with pytest.raises(PlanError, match=r"^run: the rows of range must have a schema"):
        plan(Stream.range(3) | frame(same) | branches())


def test_merged_streams_are_planned() -> None:
    stream = Stream.range(3) | doubled
    for _ in range(LEVELS):
        stream = stream.merge(spark_source(numbers))
    made = plan(stream | Sink.count())
    assert made is not None
    assert len(made.sources) == LEVELS + 1
    assert str(made.described("local")).count("spark_source") == LEVELS


def test_steps_behind_each_other_run(spark: Spark) -> None:
    stream = spark_source(numbers)
    for _ in range(LEVELS):
        stream = stream | frame(same)
    assert (stream | Sink.count()).run(spark).wait(WAIT) == 3


@pytest.mark.parametrize("name", ["retry", "merge", "take_until", "zip", "checked"])
def test_nested_streams_inside_of_a_flow_are_looked_at(name: str) -> None:
    def nested(stream: Stream[Any]) -> Stream[Any]:
        for _ in range(LEVELS):
            stream = NESTED[name](stream)
        return stream

    chain = flow(nested)._chain
    steps = len(NESTED[name](Stream.empty())._chain.steps)
    assert len(list(line_of(chain))) == LEVELS * (1 + steps)
    for check in (lambda: check_sight(chain, None), lambda: check_pieces(chain)):
        with pytest.raises(StageError):
            check()
