"""A live DataFrame that is read twice subscribes twice, which a stream that can be had only once refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Stream
from penstock.errors import PenstockError
from penstock.spark import Spark

TAKEN = (
    "from_iterable: this iterator was taken by an earlier subscriber; pass a collection, or make one per run with"
    " Stream.defer"
)


def joined(spark: Spark, live: Any) -> list[int]:
    return sorted(row.n for row in spark.stream(live.alias("a").join(live.alias("b"), "n")))


def twice(spark: Spark, live: Any) -> list[int]:
    return sorted(row.n for _ in range(2) for row in spark.stream(live))


def test_each_side_of_a_join_has_the_whole_stream(spark: Spark) -> None:
    subscribed: list[None] = []
    numbers = Stream.range(5).tap(on_subscribe=lambda: subscribed.append(None))
    assert joined(spark, spark.frame(numbers, "n long")) == [0, 1, 2, 3, 4]
    assert len(subscribed) == 2


@pytest.mark.parametrize("read", [joined, twice])
def test_a_stream_that_can_be_had_once_is_refused(spark: Spark, read: Callable[[Spark, Any], list[int]]) -> None:
    live = spark.frame(Stream.from_iterable(iter(range(5))), "n long")
    with pytest.raises(PenstockError) as caught:
        read(spark, live)
    assert str(caught.value) == TAKEN
