"""keyed_states: states by key are the same where Spark hands over rows and where it hands over pandas frames."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Stream, flow
from penstock.spark import Spark, keyed_by
from penstock.spark.stages import stateful
from penstock.spark.versions.keyed_states import RowsByFrames


class OnlyFrames:
    """A grouped DataFrame of a PySpark that hands over pandas frames alone."""

    def __init__(self, grouped: Any) -> None:
        self.transformWithStateInPandas = grouped.transformWithStateInPandas


@pytest.fixture(params=["installed", "by frames"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "by frames":
        newest = stateful.transform_with_state
        monkeypatch.setattr(stateful, "transform_with_state", lambda grouped, *rest: newest(OnlyFrames(grouped), *rest))
    return str(request.param)


def add(total: int, row: Any) -> tuple[int, tuple[int, int]]:
    return total + row.n, (row.n % 3, total + row.n)


def test_states_are_kept_by_key(spark: Spark, path: str) -> None:
    running = flow(lambda rows: rows.stateful_map(add, int))
    live = spark.frame(Stream.range(30), "n long", capacity=15).selectExpr("n", "n % 3 AS third")
    found = spark.stream(live.transform(spark.stage(keyed_by(running, "third", order_by="n"), "third long, sum long")))
    expected = [(third, sum(range(third, n + 1, 3))) for third in range(3) for n in range(third, 30, 3)]
    assert sorted(tuple(row) for row in found) == sorted(expected)


def test_timers_and_initial_states_are_passed_on() -> None:
    import pandas as pd
    from pyspark.sql import Row

    class Processor:
        """A processor that gives back what it is asked."""

        def __init__(self) -> None:
            self.initial: list[Any] = []

        def handleExpiredTimer(self, key: Any, times: Any, timer: Any) -> Any:
            yield Row(key=key[0], data=timer)

        def handleInitialState(self, key: Any, state: Any, times: Any) -> None:
            self.initial.append((key, state.total))

    processor = Processor()
    made = RowsByFrames(processor, ["key", "data"])
    (found,) = made.handleExpiredTimer(("a",), None, b"x")
    assert found.to_dict("list") == {"key": ["a"], "data": [b"x"]}
    made.handleInitialState(("a",), pd.DataFrame({"total": [5]}), None)
    assert processor.initial == [(("a",), 5)]
