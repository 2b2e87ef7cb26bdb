"""outline: the graph of a pipeline whose steps have no listener, so that it can be drawn before and without one."""

from __future__ import annotations

from penstock.engine.many.shared_run import Slow
from penstock.engine.runs.chain import Chain
from penstock.engine.watching.observe import Observation
from penstock.operators.publish import Publish
from penstock.page.chains import drawn
from penstock.page.model import Graph, NodeCounts, NodeKind, RunCounts, WayCounts
from penstock.run.branches import AHEAD, Branches, fill


def outline(chain: Chain) -> Graph:
    """Return the graph of a chain that comes down to a result."""
    whole, watched = _seen(chain)
    observations = [whole]
    source = watched.source
    if isinstance(source, Branches):
        shared = Chain(Publish(source.stream, AHEAD, Slow.WAIT))
        observations += [_seen(fill(end._chain, shared))[0] for end in source.ends]
    graph, _ = drawn(observations, ends=True)
    return graph


def only_sources(graph: Graph, rows: int, demand: int | None) -> RunCounts:
    """Return what is known of a run without a listener: what has come from its source, if there is one alone."""
    first = [node.key for node in graph.nodes if node.kind is NodeKind.SOURCE]
    known = first if len(first) == 1 else []
    return RunCounts(
        tuple(NodeCounts(rows) if node.key in known else NodeCounts() for node in graph.nodes),
        tuple(WayCounts(rows, demand) if way.start in known else WayCounts() for way in graph.ways),
    )


def _seen(chain: Chain) -> tuple[Observation, Chain]:
    found = Observation(chain, ())  # it is never run
    return found, found.watched(chain)
