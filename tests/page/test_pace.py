"""pace: rates and shares follow from two moments, states from demand, and the slowest place is found."""

from __future__ import annotations

import pytest

from penstock.engine.words.demand import UNBOUNDED
from penstock.page.model import (
    Flowing,
    Graph,
    GraphNode,
    GraphWay,
    NodeCounts,
    NodeFigures,
    NodeKind,
    RunCounts,
    WayCounts,
)
from penstock.page.pace import RunPace, node_figures, slowest, way_figures

LINE = Graph(
    tuple(GraphNode(key, key, NodeKind.STEP) for key in "abc"),
    (GraphWay("a", "b"), GraphWay("b", "c")),
)


def moment(delivered: int, nodes: int = 1) -> RunCounts:
    return RunCounts(tuple(NodeCounts(delivered) for _ in range(nodes)))


def figures(busy: float = 0.0, waiting: float = 0.0) -> NodeFigures:
    return NodeFigures(0, 0.0, 0.0, busy, waiting, 0, None, None)


def test_rate_is_taken_over_the_last_second() -> None:
    pace = RunPace()
    for tenth in range(30):
        seconds, before = pace.add(tenth / 10, moment(tenth * 100))
    assert node_figures(seconds, before.nodes[0], NodeCounts(2900)).rate == pytest.approx(1000)
    assert seconds == pytest.approx(1.0)


def test_first_moment_has_no_rate() -> None:
    seconds, before = RunPace().add(5.0, moment(100))
    assert node_figures(seconds, before.nodes[0], NodeCounts(100)).rate == 0.0


def test_graph_that_grows_begins_anew() -> None:
    pace = RunPace()
    pace.add(0.0, moment(10))
    seconds, before = pace.add(0.5, moment(20, nodes=2))
    assert (seconds, before) == (0.0, moment(20, nodes=2))


def test_shares_are_of_the_time_just_gone_and_never_more_than_all_of_it() -> None:
    found = node_figures(0.5, NodeCounts(1, seconds=1.0, waited=2.0), NodeCounts(5, seconds=1.25, waited=9.0))
    assert (found.busy, found.waiting, found.seconds) == (0.5, 1.0, 1.25)


def test_what_is_not_known_has_no_rate() -> None:
    assert node_figures(1.0, NodeCounts(None), NodeCounts(5)).rate is None


@pytest.mark.parametrize(
    ("before", "now", "running", "held_up", "state"),
    [
        (WayCounts(5, 3), WayCounts(9, 3), True, False, Flowing.FLOWING),
        (WayCounts(5, 3), WayCounts(9, 3), True, True, Flowing.WAITING),
        (WayCounts(5, 0), WayCounts(9, 0), True, False, Flowing.WAITING),
        (WayCounts(0, 0), WayCounts(0, 0), True, False, Flowing.IDLE),
        (WayCounts(9, 3), WayCounts(9, 3), True, False, Flowing.HUNGRY),
        (WayCounts(9, UNBOUNDED), WayCounts(9, UNBOUNDED), True, False, Flowing.HUNGRY),
        (WayCounts(9, 3, 4, 64), WayCounts(9, 3, 4, 64), True, False, Flowing.WAITING),
        (WayCounts(5, 3, 4, 64), WayCounts(9, 3, 4, 64), True, False, Flowing.FLOWING),
        (WayCounts(5, 3, 64, 64), WayCounts(9, 3, 64, 64), True, False, Flowing.WAITING),
        (WayCounts(5, 3), WayCounts(9, 3), False, True, Flowing.IDLE),
        (WayCounts(), WayCounts(), True, False, Flowing.IDLE),
    ],
)
def test_state_of_a_way(before: WayCounts, now: WayCounts, *, running: bool, held_up: bool, state: Flowing) -> None:
    assert way_figures(1.0, before, now, running=running, held_up=held_up).state is state


@pytest.mark.parametrize(
    ("nodes", "place"),
    [
        ((figures(0.1), figures(0.9), figures(0.5)), 1),
        ((figures(waiting=0.9), figures(), figures(busy=0.5)), 2),  # what is busy, before what is waited for
        ((figures(waiting=0.9), figures(waiting=0.9), figures(waiting=0.95)), 0),  # the others wait for the first
        ((figures(waiting=0.1), figures(waiting=0.9), figures(waiting=0.9)), 1),
        ((figures(0.1), figures(0.2), figures(waiting=0.3)), None),
    ],
)
def test_slowest_place(nodes: tuple[NodeFigures, ...], place: int | None) -> None:
    assert slowest(LINE, nodes) == place


def test_graph_without_nodes_has_no_slowest_place() -> None:
    assert slowest(Graph(), ()) is None
