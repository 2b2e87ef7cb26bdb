"""chains: observations become one graph, with the demand and what is held on every way."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from penstock import Observation, Sink, Stream, branch, flow, observe, thread
from penstock.engine.words.demand import UNBOUNDED
from penstock.page.chains import drawn
from penstock.page.model import Graph, NodeKind, RunCounts, WayCounts
from penstock.page.outline import only_sources, outline
from penstock.page.shown import text_of_run


class Seen:
    def __init__(self) -> None:
        self.runs: list[Observation] = []

    def started(self, run: Observation) -> None:
        self.runs.append(run)

    def progressed(self, run: Observation) -> None:
        pass

    def ended(self, run: Observation) -> None:
        pass


@pytest.fixture
def seen() -> Iterator[Seen]:
    listener = Seen()
    with observe(listener):
        yield listener


def shape(graph: Graph) -> list[str]:
    labels = {node.key: node.label for node in graph.nodes}
    return [f"{labels[way.start]} > {labels[way.end]}" for way in graph.ways]


def kinds(graph: Graph) -> dict[str, NodeKind]:
    return {node.label: node.kind for node in graph.nodes}


def way(graph: Graph, counts: RunCounts, text: str) -> WayCounts:
    return counts.ways[shape(graph).index(text)]


def test_pipeline_has_no_valve_and_ends_in_its_sink(seen: Seen) -> None:
    assert (Stream.range(5).map(str) | Sink.count()).run().wait() == 5
    graph, counts = drawn(seen.runs, ends=True)
    assert shape(graph) == ["range > map(str)", "map(str) > count"]
    assert kinds(graph) == {"range": NodeKind.SOURCE, "map(str)": NodeKind.STEP, "count": NodeKind.SINK}
    assert [each.delivered for each in counts.nodes] == [5, 5, 5]  # a sink shows what it has taken


def test_a_run_that_tells_its_source_what_is_done_shows_the_steps_that_were_written(seen: Seen) -> None:
    numbers = Stream.resumable(lambda _: enumerate("abcd", 1), bool).map(str.upper).filter(bool).buffer(2)
    assert (numbers | Sink.for_each(str)).run().wait() == 2
    graph, counts = drawn(seen.runs, ends=True)
    both = "map(str.upper) | filter(bool)"
    assert shape(graph) == [
        f"resumable > {both}",
        f"{both} > buffer",
        "buffer > for_each(str)",
        "for_each(str) > positions(finished)",
    ]
    assert [each.delivered for each in counts.ways] == [4, 4, 2, 1]


def test_stream_ends_in_its_subscriber(seen: Seen) -> None:
    assert list(Stream.range(3).filter(bool)) == [1, 2]
    graph, counts = drawn(seen.runs, ends=False)
    assert shape(graph) == ["range > filter(bool)", "filter(bool) > subscriber"]
    assert [each.delivered for each in counts.ways] == [3, 2]


def test_boundary_shows_what_it_holds_against_its_bound_and_what_is_asked_of_those_before(seen: Seen) -> None:
    taken, go_on = Event(), Event()

    def take(_: int) -> None:
        taken.set()
        go_on.wait(60)

    take.__qualname__ = "take"
    run = (Stream.range(1000).map(abs).publish_on(thread(), prefetch=64) | Sink.for_each(take)).run()
    assert taken.wait(60)
    graph, counts = drawn(seen.runs, ends=True)
    while way(graph, counts, "map(abs) > publish_on").demand:  # until the source has given all that it was asked for
        graph, counts = drawn(seen.runs, ends=True)
    assert kinds(graph)["publish_on"] is NodeKind.BOUNDARY
    before = way(graph, counts, "map(abs) > publish_on")
    assert before.bound == 64
    assert before.held is not None
    assert 0 < before.held <= 64
    assert way(graph, counts, "publish_on > for_each(take)").demand == UNBOUNDED
    go_on.set()
    assert run.wait(60) == 1000


def test_streams_that_are_joined_lead_to_the_step_that_joins_them(seen: Seen) -> None:
    both = Stream.range(3).map(str).merge(Stream.range(2).map(repr))
    assert (both | Sink.count()).run().wait() == 5
    graph, _ = drawn(seen.runs, ends=True)
    assert sorted(shape(graph)) == [
        "map(repr) > merge",
        "map(str) > merge",
        "merge > count",
        "range > map(repr)",
        "range > map(str)",
    ]


def branching() -> Any:
    odd = flow(lambda numbers: numbers.filter(lambda n: n % 2))
    return Stream.range(6).map(abs) | branch(Sink.to_list(), odd | Sink.count())


def test_branches_are_one_graph_and_each_has_its_own_demand(seen: Seen) -> None:
    assert branching().run().wait() == ([0, 1, 2, 3, 4, 5], 3)
    graph, counts = drawn(seen.runs, ends=True)
    assert {"range > map(abs)", "map(abs) > to_list"} <= set(shape(graph))
    assert len(graph.nodes) == 5
    assert [node.label for node in graph.nodes if node.kind is NodeKind.SINK] == ["to_list", "count"]
    assert way(graph, counts, "map(abs) > to_list").delivered == 6
    assert [each.delivered for each, node in zip(counts.nodes, graph.nodes, strict=True) if node.label == "count"] == [
        3
    ]


def test_outline_of_a_pipeline_is_the_graph_of_its_run(seen: Seen) -> None:
    for pipeline in (branching(), Stream.range(3).merge(Stream.range(2)).publish_on(thread()) | Sink.count()):
        seen.runs.clear()
        pipeline.run().wait()
        graph, _ = drawn(seen.runs, ends=True)
        found = outline(pipeline._chain)
        assert (shape(found), kinds(found)) == (shape(graph), kinds(graph))


def test_without_a_listener_what_comes_from_the_source_is_known() -> None:
    graph = outline((Stream.range(3).map(str) | Sink.count())._chain)
    counts = only_sources(graph, 7, None)
    assert [each.delivered for each in counts.nodes] == [7, None, None]
    assert [each.delivered for each in counts.ways] == [7, None]


def test_text_of_a_run_has_its_branches() -> None:
    text = text_of_run(branching()._chain)
    assert text.startswith("range | map(abs) | branch(to_list, filter(")
    assert text.endswith(" | count)")
