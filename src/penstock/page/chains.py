"""chains: the graph of what observations see of one run, and what they have counted.

What is there for the engine alone is left out, and a way leads past it: the valve behind a source, and the source by
which the branches of a pipeline share one stream. What was asked of it is what was asked on that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.engine.watching.observe import Observation, Reading
from penstock.engine.words.demand import UNBOUNDED
from penstock.page.model import Graph, GraphNode, GraphWay, NodeCounts, NodeKind, RunCounts, WayCounts

Place = tuple[int, ...]

VALVE, BRANCHES = "valved", "branches"
BOUNDARIES = frozenset(("publish_on", "subscribe_on"))
SUBSCRIBER = "subscriber"


@dataclass(frozen=True, slots=True)
class _Input:
    """The node that a step takes from, and what was counted at the place that the step asks."""

    key: str
    asked: Reading
    past: bool = False
    """Whether the way leads past that place, which is not shown."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A step that is shown."""

    key: str
    reading: Reading
    inputs: tuple[_Input, ...]


class _Drawing:
    """The steps of several observations, found one after the other."""

    def __init__(self, observations: Sequence[Observation]) -> None:
        self.numbers = {run: number for number, run in enumerate(observations)}
        self.steps: dict[str, _Step] = {}
        self._outputs: dict[str, _Input] = {}
        """How what follows a step takes from it."""
        self.last: dict[Observation, str] = {}
        for run in observations:
            self._read(run)

    def _key(self, run: Observation, place: Place) -> str:
        return f"{self.numbers[run]}:{'.'.join(map(str, place))}"

    def _read(self, run: Observation) -> None:
        readings = {reading.place: reading for reading in run.readings()}
        inside: dict[Place, list[str]] = {}
        for place in readings:
            if len(place) > 1 and _next(place) not in readings:
                inside.setdefault(place[:-2], []).append(self._key(run, place))
        shared = {each.place for each in run.shares if each.run in self.numbers}
        for each in run.shares:
            if each.run in self.numbers:
                inside.setdefault(each.place, []).append(self._key(each.run, each.last))
        for place in sorted(readings, key=lambda each: (-len(each), each)):
            reading, key = readings[place], self._key(run, place)
            before = [self._key(run, _before(place))] if place[-1] else inside.get(place, [])
            inputs = tuple(self._outputs[each] for each in before if each in self._outputs)
            if reading.step == BRANCHES:
                continue
            if len(inputs) == 1 and (reading.step == VALVE or place in shared):
                self._outputs[key] = _Input(inputs[0].key, reading, past=True)
            else:
                self.steps[key] = _Step(key, reading, inputs)
                self._outputs[key] = _Input(key, reading)
            if len(place) == 1:
                self.last[run] = key

    def output(self, run: Observation) -> _Input | None:
        """Return what a subscriber of a run takes from."""
        return self._outputs.get(self.last.get(run, ""))


def drawn(observations: Sequence[Observation], *, ends: bool) -> tuple[Graph, RunCounts]:
    """Return the graph of one run and what was counted in it; `ends` says that its last steps are sinks."""
    drawing = _Drawing(observations)
    sinks = set(drawing.last.values()) if ends else set()
    nodes, counts = [], []
    ways, way_counts = [], []
    for step in drawing.steps.values():
        sink = step.key in sinks
        nodes.append(GraphNode(step.key, step.reading.step, _kind(step, sink=sink)))
        taken = sum(each.asked.delivered for each in step.inputs)
        counts.append(replace(_counted(step.reading), delivered=taken) if sink else _counted(step.reading))
        for each in step.inputs:
            ways.append(GraphWay(each.key, step.key))
            way_counts.append(_way(each, step.reading if len(step.inputs) == 1 else None))
    for number, each in [] if ends else _subscribers(drawing):
        nodes.append(GraphNode(f"{number}:{SUBSCRIBER}", SUBSCRIBER, NodeKind.SINK))
        counts.append(NodeCounts(each.asked.delivered))
        ways.append(GraphWay(each.key, nodes[-1].key))
        way_counts.append(_way(each, None))
    return Graph(tuple(nodes), tuple(ways)), RunCounts(tuple(counts), tuple(way_counts))


def _subscribers(drawing: _Drawing) -> Iterator[tuple[int, _Input]]:
    """Return what the subscribers of streams that are no pipelines take from."""
    for run, number in drawing.numbers.items():
        found = drawing.output(run)
        if found is not None:
            yield number, found


def _kind(step: _Step, *, sink: bool) -> NodeKind:
    if sink:
        return NodeKind.SINK
    if step.reading.step.partition("(")[0] in BOUNDARIES:
        return NodeKind.BOUNDARY
    return NodeKind.STEP if step.inputs else NodeKind.SOURCE


def _next(place: Place) -> Place:
    return (*place[:-1], place[-1] + 1)


def _before(place: Place) -> Place:
    return (*place[:-1], place[-1] - 1)


def _counted(reading: Reading) -> NodeCounts:
    held = reading.buffered if reading.bound is not None or reading.buffered else None
    return NodeCounts(reading.delivered, reading.seconds, reading.waited, reading.errors, held, reading.bound)


def _way(taken: _Input, after: Reading | None) -> WayCounts:
    asked = taken.asked
    demand = UNBOUNDED if asked.requested >= UNBOUNDED else max(0, asked.requested - asked.delivered)
    holder = asked if taken.past and asked.bound is not None else after
    if holder is None or (holder.bound is None and not holder.buffered):
        return WayCounts(asked.delivered, demand)
    return WayCounts(asked.delivered, demand, holder.buffered, holder.bound)
