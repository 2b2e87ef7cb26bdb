"""plans: the graph of a run that follows a plan, such as one on Spark, and what is known of each part.

Its progress says what went in and what is held. Parts of this process may have a listener besides, which says how long
they worked and what was asked of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.engine.watching.observe import Observation, Reading
from penstock.engine.words.demand import UNBOUNDED
from penstock.page.model import Graph, GraphNode, GraphWay, NodeCounts, NodeKind, RunCounts, WayCounts
from penstock.run import Plan, PlannedProgress, Progress
from penstock.run.watchers import RunPart

HERE = "this process"
GATE = "gate"
TAGGED = 2
"""The place of the step that gives one of several ends its own rows."""


@dataclass(frozen=True, slots=True)
class PartSeen:
    """What a listener has seen of one part."""

    seconds: float
    waited: float
    errors: int
    asked: Reading
    """The step that what follows asks; for an end, the one that it asks."""


def parts_seen(observations: Sequence[Observation]) -> dict[int, PartSeen]:
    """Return what was seen of parts, by their places in the plan."""
    found: dict[int, PartSeen] = {}
    for run in observations:
        part = run.part
        if not isinstance(part, RunPart):
            continue
        if len(part.places) == 1:
            readings = run.readings()
            found[part.places[0]] = _part(readings, 0 if _is_end(readings) else None)
            continue
        sharing = [each for each in observations if any(shared.run is run for shared in each.shares)]
        found |= {place: _part(each.readings(), TAGGED) for place, each in zip(part.places, sharing, strict=False)}
    return found


def _is_end(readings: Sequence[Reading]) -> bool:
    """Tell whether these are of an end, which begins with the valve behind the gate."""
    return any(reading.place == (0,) and reading.step == "valved" for reading in readings)


def _part(readings: Sequence[Reading], asked: int | None) -> PartSeen:
    own = [reading for reading in readings if len(reading.place) == 1]
    steps = [reading for reading in own if asked is None or reading.place[0] > asked] or own
    first = own[-1] if asked is None else own[min(asked, len(own) - 1)]
    inside = readings if asked is None else steps
    return PartSeen(_sum(each.seconds for each in inside), first.waited, sum(each.errors for each in inside), first)


def _sum(values: Iterable[float]) -> float:
    return sum(values, 0.0)


@dataclass(slots=True)
class _Drawn:
    """A graph with its counts, as far as it has come."""

    plan: Plan
    said: Mapping[int, PlannedProgress]
    seen: Mapping[int, PartSeen]
    nodes: list[GraphNode] = field(default_factory=list)
    counts: list[NodeCounts] = field(default_factory=list)
    ways: list[GraphWay] = field(default_factory=list)
    way_counts: list[WayCounts] = field(default_factory=list)

    def node(self, node: GraphNode, counts: NodeCounts) -> None:
        self.nodes.append(node)
        self.counts.append(counts)

    def way(self, start: str, end: str, counts: WayCounts) -> None:
        self.ways.append(GraphWay(start, end))
        self.way_counts.append(counts)

    def part(self, number: int, kind: NodeKind) -> None:
        """Draw a part."""
        place, said, seen = self.plan.places[number], self.said.get(number), self.seen.get(number)
        counts = NodeCounts(self._rows(number))
        if seen is not None:
            counts = replace(counts, seconds=seen.seconds, waited=seen.waited, errors=seen.errors)
        if said is not None and said.held is not None:
            counts = replace(counts, held=said.held, bound=said.bound)
        self.node(GraphNode(str(number), place.what, kind, place.where, place.bound), counts)

    def join(self, start: int, end: int) -> None:
        """Draw the way between two parts, through a gate if one of them is in this process and the other is not."""
        begins, ends = (self.plan.places[each].where == HERE for each in (start, end))
        if begins == ends:
            self.way(str(start), str(end), self._entering(start))
        elif begins:
            gate = f"gate in {start}"
            if self._is_new(gate, "rows enter Spark here, as it commits", self._rows(start)):
                self.way(str(start), gate, self._entering(start))
            said = self.said.get(start)
            committed = None if said is None or said.held is None else said.rows - said.held
            self.way(gate, str(end), WayCounts(committed))
        else:
            gate = f"gate out {end}"
            self._is_new(gate, "rows come back here, as they are asked for", self._rows(end))
            self.way(str(start), gate, WayCounts(self._rows(end)))
            self.way(gate, str(end), self._leaving(end))

    def _is_new(self, gate: str, note: str, rows: int | None) -> bool:
        """Draw a gate unless it is there; tell whether it was not."""
        new = all(node.key != gate for node in self.nodes)
        if new:
            self.node(GraphNode(gate, GATE, NodeKind.GATE, HERE, note), NodeCounts(rows))
        return new

    def _rows(self, number: int) -> int | None:
        said, seen = self.said.get(number), self.seen.get(number)
        return said.rows if said is not None else None if seen is None else seen.asked.delivered

    def _entering(self, number: int) -> WayCounts:
        said = self.said.get(number)
        return WayCounts() if said is None else WayCounts(said.rows, said.demand, said.held, said.bound)

    def _leaving(self, number: int) -> WayCounts:
        seen = self.seen.get(number)
        if seen is None:
            return WayCounts(self._rows(number))
        asked, given = seen.asked.requested, seen.asked.delivered
        return WayCounts(self._rows(number), UNBOUNDED if asked >= UNBOUNDED else max(0, asked - given))


def planned(plan: Plan, progress: Progress, seen: Mapping[int, PartSeen]) -> tuple[Graph, RunCounts]:
    """Return the graph of a plan, with a gate wherever rows go into Spark or come back, and what is known of it."""
    drawn = _Drawn(plan, {each.part: each for each in progress.parts}, seen)
    taken = {each for number in range(len(plan.places)) for each in plan.inputs(number)}
    for number in range(len(plan.places)):
        inputs = plan.inputs(number)
        drawn.part(number, NodeKind.SOURCE if not inputs else NodeKind.STAGE if number in taken else NodeKind.SINK)
        for start in inputs:
            drawn.join(start, number)
    return Graph(tuple(drawn.nodes), tuple(drawn.ways)), RunCounts(tuple(drawn.counts), tuple(drawn.way_counts))


def behind_full_gate(graph: Graph, counts: RunCounts) -> int | None:
    """Return the number of the part behind a gate whose source is asked for no more: Spark holds it up."""
    numbers = {node.key: number for number, node in enumerate(graph.nodes)}
    for way, count in zip(graph.ways, counts.ways, strict=True):
        if graph.nodes[numbers[way.end]].kind is NodeKind.GATE and count.demand == 0 and count.held:
            return next((numbers[each.end] for each in graph.ways if each.start == way.end), None)
    return None
