"""shuffles: parts of a query that shuffle the same rows give all that they have, and the session stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, functions

from penstock import Sink, Stream, branch
from penstock.spark import Spark, entry, frame
from penstock.spark.versions.shuffles import SETTING, SharedShuffleError, own_shuffles

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOURS = [3, 3, 3, 3, 2]

pytestmark = pytest.mark.usefixtures("few_partitions")


def live(spark: Spark) -> DataFrame:
    return spark.frame(moments(), "at timestamp", capacity=5)


def moments() -> Stream[Any]:
    return Stream.range(14).map(lambda n: (NOON + timedelta(minutes=20 * n),))


def hourly(df: DataFrame) -> DataFrame:
    hours = df.withWatermark("at", "10 minutes").groupBy(functions.window("at", "1 hour")).count()
    return hours.selectExpr("window.start AS hour", "count AS n")


def once(df: DataFrame) -> DataFrame:
    return df.dropDuplicates(["hour"])


def numbers(rows: list[Any]) -> list[int]:
    return sorted(row.n for row in rows)


def test_windows_that_two_ends_take_come_to_both(spark: Spark) -> None:
    before = spark.session.conf.get(SETTING)
    ends = branch(frame(once) | Sink.to_list(), Sink.to_list())
    found = (moments() | entry("at timestamp", capacity=5) | frame(hourly) | ends).run(spark).wait(240)
    assert [numbers(rows) for rows in found] == [sorted(HOURS)] * 2
    assert spark.session.conf.get(SETTING) == before


def test_a_union_of_windows_with_what_is_made_of_them_is_whole(spark: Spark) -> None:
    hours = hourly(live(spark))
    rows = list(spark.stream(hours.union(once(hours))))
    assert numbers(rows) == sorted(HOURS[:4] * 2)  # the last one stays open


@pytest.fixture
def turned_off(spark: Spark) -> Iterator[None]:
    before = spark.session.conf.get(SETTING)
    spark.session.conf.set(SETTING, "false")
    yield
    assert spark.session.conf.get(SETTING) == "false"
    spark.session.conf.set(SETTING, str(before))


@pytest.mark.usefixtures("turned_off")
def test_what_a_session_says_by_itself_stays(spark: Spark) -> None:
    hours = hourly(live(spark))
    with own_shuffles(hours.union(hours)):
        assert spark.session.conf.get(SETTING) == "false"


def test_a_query_with_one_watermark_is_left_alone(spark: Spark) -> None:
    before = spark.session.conf.get(SETTING)
    with own_shuffles(hourly(live(spark))):
        assert spark.session.conf.get(SETTING) == before


def test_a_session_that_cannot_be_told_is_refused_with_the_cure(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = hourly(live(spark))

    def refuse(*_: object) -> None:
        raise ValueError("settings are locked here")

    monkeypatch.setattr(type(spark.session.conf), "set", refuse)
    refused = pytest.raises(SharedShuffleError, match=r"^run: this session does not let .* set it to false where")
    with refused, own_shuffles(hours.union(hours)):
        pass
