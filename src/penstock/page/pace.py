"""pace: what follows from what was counted at two moments: rates, shares of time, states, and the slowest place."""

from __future__ import annotations

from collections import deque

from penstock.page.model import Flowing, Graph, NodeCounts, NodeFigures, RunCounts, WayCounts, WayFigures

WINDOW = 1.0
"""Seconds over which rates and shares are taken."""
BUSY = 0.4
"""The share of the time from which on a node counts as what holds the others up."""


class RunPace:
    """The latest moments of one run."""

    def __init__(self) -> None:
        self._moments: deque[tuple[float, RunCounts]] = deque()

    def add(self, now: float, counts: RunCounts) -> tuple[float, RunCounts]:
        """Take a moment in; return the seconds since an earlier one, and what had been counted then."""
        if self._moments and len(self._moments[-1][1].nodes) != len(counts.nodes):
            self._moments.clear()  # the graph has grown
        self._moments.append((now, counts))
        while len(self._moments) > 2 and self._moments[1][0] <= now - WINDOW:
            self._moments.popleft()
        then, before = self._moments[0]
        return max(now - then, 0.0), before


def node_figures(seconds: float, before: NodeCounts, now: NodeCounts) -> NodeFigures:
    """Return what a node did meanwhile."""
    return NodeFigures(
        delivered=now.delivered,
        rate=rate(seconds, before.delivered, now.delivered),
        seconds=now.seconds,
        busy=_share(seconds, now.seconds - before.seconds),
        waiting=_share(seconds, now.waited - before.waited),
        errors=now.errors,
        held=now.held,
        bound=now.bound,
    )


def way_figures(seconds: float, before: WayCounts, now: WayCounts, *, running: bool, held_up: bool) -> WayFigures:
    """Return what happened on a way meanwhile; `held_up` says that it leads to the slowest place."""
    found = rate(seconds, before.delivered, now.delivered)
    return WayFigures(found, now.demand, now.held, now.bound, _state(found, now, running=running, held_up=held_up))


def _state(found: float | None, now: WayCounts, *, running: bool, held_up: bool) -> Flowing:
    if not running:
        return Flowing.IDLE
    stuck = bool(now.held) and (not found or (now.bound is not None and (now.held or 0) >= now.bound))
    if held_up or stuck or (now.demand == 0 and now.delivered):
        return Flowing.WAITING
    if found:
        return Flowing.FLOWING
    return Flowing.HUNGRY if now.demand else Flowing.IDLE


def slowest(graph: Graph, nodes: tuple[NodeFigures, ...]) -> int | None:
    """Return the number of the node that holds the others up, if there is one.

    That is the busiest; where none is busy, the one that is waited for most while it does not wait for others itself.
    """
    busy = [each.busy for each in nodes]
    if max(busy, default=0.0) >= BUSY:
        return busy.index(max(busy))
    at = {node.key: number for number, node in enumerate(graph.nodes)}
    own = []
    for number, node in enumerate(graph.nodes):
        inputs = [nodes[at[way.start]].waiting for way in graph.ways if way.end == node.key]
        own.append(nodes[number].waiting - max(inputs, default=0.0))
    return own.index(max(own)) if max(own, default=0.0) >= BUSY else None


def rate(seconds: float, before: int | None, now: int | None) -> float | None:
    """Return what was counted per second; None if it is not known."""
    if now is None or before is None:
        return None
    return max(0.0, (now - before) / seconds) if seconds > 0 else 0.0


def _share(seconds: float, spent: float) -> float:
    return min(1.0, max(0.0, spent / seconds)) if seconds > 0 else 0.0
