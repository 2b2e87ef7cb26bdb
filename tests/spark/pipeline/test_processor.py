from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock import Stream, flow, processor
from penstock.spark import SchemaError, Spark
from penstock.tck import Limits, verify_processor
from penstock.tck.outcome import Status
from penstock.testing import subscribed


@dataclass(frozen=True)
class Reading:
    place: str
    degrees: int


def test_a_live_stream_goes_through_a_transformation_and_back(spark: Spark) -> None:
    readings = [Reading("north" if n % 2 else "south", n) for n in range(500)]
    north = spark.flow(lambda df: df.where("place = 'north'"), Reading, rows=Reading)
    found = list(Stream.from_iterable(readings) | north)
    assert sorted(found, key=lambda reading: reading.degrees) == readings[1::2]


def test_a_transformation_is_a_flow_among_flows(spark: Spark) -> None:
    numbers = flow(lambda stream: stream.map(lambda n: (n,)))
    doubled = spark.flow(lambda df: df.selectExpr("2 * n as n"), "n long", rows="tuple")
    total = Stream.range(100) | numbers | doubled
    assert total.map(lambda row: row[0]).reduce(lambda a, b: a + b).get() == 2 * sum(range(100))


def test_what_goes_in_may_be_another_schema_than_what_comes_out(spark: Spark) -> None:
    @dataclass(frozen=True)
    class Degrees:
        degrees: int

    doubled = spark.flow(lambda df: df.selectExpr("2 * degrees AS degrees"), Degrees, input_schema=Reading)
    readings = [Reading("north", 1), Reading("south", 2)]
    assert sorted(one.degrees for one in Stream.from_iterable(readings) | doubled) == [2, 4]
    wrong = spark.flow(lambda df: df.selectExpr("degrees", "1 AS n"), Reading)
    with pytest.raises(SchemaError) as caught:
        list(Stream.from_iterable(readings) | wrong)
    assert str(caught.value) == (
        "spark.flow: transform must return the columns of schema, degrees bigint, place string, got degrees bigint,"
        " n int; where other columns go in than come out, say so with input_schema"
    )


def test_a_transformation_that_fails_is_an_error_of_the_stream(spark: Spark) -> None:
    def broken(df: object) -> object:
        raise LookupError("no such column")

    with pytest.raises(LookupError, match=r"^no such column$"):
        list(Stream.just((1,)) | spark.flow(broken, "n long"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^spark.flow: transform must return a DataFrame, got 5$"):
        list(Stream.just((1,)) | spark.flow(lambda df: 5, "n long"))  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match=r"^spark.flow: transform must be callable, got 5$"):
        spark.flow(5, "n long")  # type: ignore[arg-type]


def test_an_error_of_the_publisher_comes_out_as_it_went_in(spark: Spark) -> None:
    error = OSError("the feed broke")
    identity = spark.flow(lambda df: df, "n long")
    with pytest.raises(OSError, match=r"^the feed broke$") as caught:
        list(Stream.just((1,)).concat(Stream.error(error)) | identity)
    assert caught.value is error


@pytest.mark.slow
def test_the_identity_keeps_every_rule_of_a_processor(spark: Spark) -> None:
    """Each trial runs a query of its own, about two seconds each, so elements are few and patience is long."""
    report = verify_processor(
        lambda: processor(spark.flow(lambda df: df, "n long", rows="tuple")),
        element=lambda n: (n,),
        limits=Limits(elements=3, timeout=60, quiet=0.3),
        delays_errors=True,  # rows that came before a failure come out before it
    )
    assert report.failed == ()
    assert len([outcome for outcome in report.outcomes if outcome.status is Status.PASSED]) > 45


def test_an_end_without_demand_passes_and_a_cancel_reaches_the_upstream(spark: Spark) -> None:
    identity = spark.flow(lambda df: df, "n long")
    assert subscribed(Stream.empty() | identity).completed
    error = OSError("the feed broke")
    assert subscribed(Stream.error(error) | identity).error is error
    cancelled: list[str] = []
    subscribed(Stream.never().tap(on_cancel=lambda: cancelled.append("cancelled")) | identity).cancel()
    assert cancelled == ["cancelled"]
