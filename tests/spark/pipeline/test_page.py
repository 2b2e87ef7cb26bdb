"""The live page of pipelines on Spark: the gate, stages, micro-batches, state and watermark, and links."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Run, Sink, Stream, branch
from penstock.page import Page
from penstock.spark import Spark, entry, frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

END = "for_each(list.append)"
BEGAN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@dataclass
class Tick:
    at: dt.datetime
    key: int


def tick(number: int) -> Tick:
    return Tick(BEGAN + dt.timedelta(seconds=number), number % 3)


def in_windows(df: DataFrame) -> DataFrame:
    from pyspark.sql.functions import window

    return (
        df.withWatermark("at", "10 seconds").groupBy(window("at", "10 seconds"), "key").count().select("key", "count")
    )


@pytest.fixture
def page() -> Iterator[Page]:
    with Page(every=0.1, say=False) as served:
        yield served


def shown(page: Page) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the graph of the run, and what it did from one moment to the next."""
    page.look()
    history = json.loads(page.history.whole())
    (drawing,) = history["graphs"][-1]["runs"]
    return drawing, [run for frame in history["frames"] for run in frame["runs"]]


def ways(drawing: dict[str, Any]) -> list[str]:
    labels = {node["key"]: node["label"] for node in drawing["nodes"]}
    return [f"{labels[way['start']]} > {labels[way['end']]}" for way in drawing["ways"]]


@pytest.mark.usefixtures("few_partitions")
def test_run_shows_the_gate_the_stages_and_what_spark_keeps(spark: Spark, page: Page) -> None:
    rows: list[Any] = []
    pipeline = Stream.range(300).map(tick) | entry(Tick, capacity=100) | frame(in_windows) | Sink.for_each(rows.append)
    run = pipeline.run(spark)
    assert run.wait(300) == 90
    drawing, moments = shown(page)
    assert ways(drawing) == [
        "range | map(tick) > gate", "gate > frame(in_windows)", "frame(in_windows) > gate", f"gate > {END}",
    ]  # fmt: skip
    assert [node["kind"] for node in drawing["nodes"]] == ["source", "stage", "gate", "sink", "gate"]
    last = moments[-1]
    assert (last["state"], last["totals"]["in"], last["totals"]["out"]) == ("completed", 300, 90)
    assert [each[0] for each in last["nodes"]] == [300, None, 300, 90, 90]
    assert {way[3] for way in last["ways"]} == {100, None}  # what may be held at the gate
    (query,) = last["queries"]
    assert query["batches"] == last["totals"]["batches"] > 0
    assert query["state"] is not None
    assert query["watermark"].startswith("2024-01-01T00:")  # of rows, not the one that closed all windows at the end
    assert last["nodes"][0][2] > 0  # the source was seen to work, on a thread of the gate


def test_slow_spark_makes_its_source_wait(spark: Spark, page: Page) -> None:
    go_on = Event()

    def held_up(df: DataFrame) -> DataFrame:
        return df

    def take(_: Any) -> None:
        go_on.wait(60)

    pipeline = Stream.range(10_000).map(tick) | entry(Tick, capacity=50) | frame(held_up) | Sink.for_each(take)
    run: Run[int] = pipeline.run(spark)
    while True:
        drawing, moments = shown(page)
        first = moments[-1]["ways"][0] if moments[-1]["ways"] else [None] * 5
        if first[2] == 50 and first[4] == "waiting":
            break
        assert not run.done
    assert first[1:4] == [0, 50, 50]
    assert drawing["nodes"][moments[-1]["slowest"]]["label"].endswith("held_up)")
    run.cancel()
    go_on.set()
    while shown(page)[1][-1]["state"] != "cancelled":
        pass


def test_each_of_several_ends_has_its_own_figures(spark: Spark, page: Page) -> None:
    pipeline = Stream.range(30).map(tick) | entry(Tick) | frame(lambda df: df) | branch(Sink.count(), Sink.to_list())
    count, rows = pipeline.run(spark).wait(300)
    assert (count, len(rows)) == (30, 30)
    drawing, moments = shown(page)
    sinks = [number for number, node in enumerate(drawing["nodes"]) if node["kind"] == "sink"]
    assert [moments[-1]["nodes"][number][0] for number in sinks] == [30, 30]


def test_links_lead_to_what_spark_shows_itself(spark: Spark) -> None:
    run = (Stream.range(3).map(tick) | entry(Tick) | frame(lambda df: df) | Sink.count()).run(spark)
    assert run.wait(300) == 3
    shows = spark.session.sparkContext.uiWebUrl
    assert [address.startswith(str(shows)) for _, address in run.now().links] == ([True, True] if shows else [])
    plan = run.plan
    assert plan is not None
    assert [place.where for place in plan.places] == ["this process", "Spark", "this process"]
