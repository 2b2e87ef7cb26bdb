"""plans: the graph of a run that follows a plan, such as one on Spark, and what its progress says of each part."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.page.model import Counts, Graph, Kind, Node, NodeCounts, Way, WayCounts
from penstock.run import PartProgress, Plan, Progress

HERE = "this process"
GATE = "gate"


@dataclass(slots=True)
class _Drawn:
    """A graph with its counts, as far as it has come."""

    nodes: list[Node] = field(default_factory=list)
    counts: list[NodeCounts] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    way_counts: list[WayCounts] = field(default_factory=list)

    def node(self, node: Node, counts: NodeCounts) -> None:
        self.nodes.append(node)
        self.counts.append(counts)

    def way(self, start: str, end: str, counts: WayCounts) -> None:
        self.ways.append(Way(start, end))
        self.way_counts.append(counts)


def planned(plan: Plan, progress: Progress) -> tuple[Graph, Counts]:
    """Return the graph of a plan, with a gate wherever rows go into Spark or come back, and what is known of it."""
    known = {each.part: each for each in progress.parts}
    taken = {each for number in range(len(plan.places)) for each in plan.inputs(number)}
    drawn = _Drawn()
    for number, place in enumerate(plan.places):
        inputs, said = plan.inputs(number), known.get(number)
        kind = Kind.SOURCE if not inputs else Kind.SINK if number not in taken else Kind.STAGE
        drawn.node(Node(str(number), place.what, kind, place.where, place.bound), NodeCounts(_rows(said)))
        for start in inputs:
            _join(drawn, plan, start, number, known.get(start), said)
    return Graph(tuple(drawn.nodes), tuple(drawn.ways)), Counts(tuple(drawn.counts), tuple(drawn.way_counts))


def _join(
    drawn: _Drawn, plan: Plan, start: int, end: int, before: PartProgress | None, after: PartProgress | None
) -> None:
    """Draw the way between two parts, through a gate if one of them is in this process and the other is not."""
    here = [plan.places[each].where == HERE for each in (start, end)]
    first, last = str(start), str(end)
    enters, leaves = _entering(before), WayCounts(_rows(after))
    if here[0] == here[1]:
        drawn.way(first, last, enters if before is not None else leaves)
        return
    gate = f"gate in {start}" if here[0] else f"gate out {end}"
    if all(node.key != gate for node in drawn.nodes):
        note = "rows enter Spark here, as it commits" if here[0] else "rows come back here, as they are asked for"
        rows = NodeCounts(
            _rows(before if here[0] else after), held=enters.held if here[0] else None, bound=enters.bound
        )
        drawn.node(Node(gate, GATE, Kind.GATE, HERE, note), rows)
        if here[0]:
            drawn.way(first, gate, enters)
        else:
            drawn.way(gate, last, leaves)
    if here[0]:
        committed = None if before is None or before.held is None else before.rows - before.held
        drawn.way(gate, last, WayCounts(committed))
    else:
        drawn.way(first, gate, leaves)


def _entering(said: PartProgress | None) -> WayCounts:
    return WayCounts() if said is None else WayCounts(said.rows, said.demand, said.held, said.bound)


def _rows(said: PartProgress | None) -> int | None:
    return None if said is None else said.rows
