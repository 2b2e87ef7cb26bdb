"""What the elements of a Flow may be: one pipeline gives the same elements in this process and on Spark."""

from __future__ import annotations

import datetime as dt
import sys
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock import Flow, Sink, Stream, branch, flow
from penstock.spark import PlanError, Spark, entry, frame, keyed_by
from penstock.spark.versions.arrow_types import TIME

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not know the tests

WAIT = 240


class Place(TypedDict):
    name: str
    height: int


@dataclass
class Step:
    number: int
    seen: int = field(init=False, default=0)


@dataclass(kw_only=True)
class Way:
    steps: list[Step]
    end: Place
    named: dict[str, Step] = field(default_factory=dict)


@dataclass
class Name:
    name: str
    height: int


def same(kind: Any) -> Flow[Any, Any]:
    def passed(elements: Any) -> Any:
        return elements.map(lambda one: one)

    passed.__annotations__ = {"elements": Stream[kind], "return": Stream[kind]}
    return flow(passed)


ELEMENTS: dict[str, tuple[Any, list[Any]]] = {
    "a tuple": (tuple[str, int | None, list[int]], [("a", 1, []), ("b", None, [1])]),
    "a tuple of one": (tuple[int], [(1,), (2,)]),
    "a TypedDict": (Place, [{"name": "a", "height": 1}, {"name": "", "height": 0}]),
    "records in a record": (Way, [Way(steps=[Step(1)], end={"name": "a", "height": 1}, named={"": Step(2)})]),
    "a length of time": (dt.timedelta, [dt.timedelta(days=-1, microseconds=3)]),
    **({} if TIME is None else {"a time of day": (dt.time, [dt.time(23, 59, 59, 999_999)])}),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_come_back_as_they_are_in_process(spark: Spark, name: str) -> None:
    kind, given = ELEMENTS[name]
    pipeline = Stream.from_iterable(given) | same(kind) | Sink.to_list()
    assert pipeline.run().wait(WAIT) == given
    found = pipeline.run(spark).wait(WAIT)
    assert found == given
    assert [type(one) for one in found] == [type(one) for one in given]


def test_tuples_have_columns_by_which_spark_knows_them(spark: Spark) -> None:
    @flow
    def counted(pairs: Stream[tuple[str, int]]) -> Stream[tuple[str, int]]:
        return pairs.scan(lambda before, pair: (pair[0], before[1] + pair[1]), ("", 0))

    pairs = [("a", 1), ("b", 5), ("a", 2)]
    keyed = Stream.from_iterable(pairs) | keyed_by(counted, "_1") | frame(lambda df: df.where("_2 > 1"))
    assert sorted((keyed | Sink.to_list()).run(spark).wait(WAIT)) == [("a", 3), ("b", 5)]


def test_a_flow_of_tuples_takes_rows_that_have_names(spark: Spark) -> None:
    @flow
    def lengths(rows: Stream[tuple[str, int]]) -> Stream[int]:
        return rows.map(lambda row: len(row[0]) + row.height)  # type: ignore[attr-defined]

    rows = Stream.just(("abc", 4)) | entry("name string, height long")
    assert (rows | lengths | Sink.to_list()).run(spark).wait(WAIT) == [7]
    assert (rows | same(tuple[str, int]) | Sink.to_list()).run(spark).wait(WAIT) == [("abc", 4)]
    both = Stream.just(Name("abc", 4)) | branch(same(Name) | Sink.count(), lengths | Sink.to_list())
    assert both.run(spark).wait(WAIT) == (1, [7])


def test_rows_pass_whose_names_a_named_tuple_cannot_have(spark: Spark) -> None:
    frame = spark.session.createDataFrame([(1, "a", (2,))], "class long, `a.b` string, inner struct<def: long>")
    step = spark.stage(flow(lambda rows: rows.filter(lambda row: row[0] == 1)), frame.schema)
    assert [tuple(row) for row in spark.stream(frame.transform(step))] == [(1, "a", {"def": 2})]


@pytest.mark.parametrize("kind", [tuple[int, ...], tuple[Step, int], tuple[object, int], list[int], dict[str, int]])
def test_what_would_come_back_as_something_else_is_refused(kind: Any) -> None:
    with pytest.raises(PlanError, match=r"^run: what map\(same\.passed\.<lambda>\) gives must be known, got "):
        (Stream.empty() | same(kind) | frame(lambda df: df) | Sink.count()).explain()


def test_functions_of_a_run_find_the_session_and_its_settings(spark: Spark) -> None:
    found: list[Any] = []

    def looked(df: Any) -> Any:
        found.append(SparkSession.getActiveSession())
        return df

    assert (Stream.just(1) | entry("n long") | frame(looked) | Sink.count()).run(spark).wait(WAIT) == 1
    assert found[0] is not None
    assert found[0].conf.get("spark.sql.session.timeZone") == spark.session.conf.get("spark.sql.session.timeZone")
