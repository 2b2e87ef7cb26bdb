"""nodes: the parts of a pipeline on Spark as a graph, each behind those that it takes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import function_name
from penstock.flow import Flow, Sink, text_of
from penstock.run import Plan, PlannedPart
from penstock.run.walking import Walk, walked
from penstock.spark.pipeline.elements import Elements, positioned, unwrapped
from penstock.spark.pipeline.entry import UNSAID, Entry
from penstock.spark.pipeline.steps import Also, Frame, SparkSink, SparkSource
from penstock.spark.stages.scopes import Scoped
from penstock.spark.wire.schema import Form, Schema
from penstock.stream import Stream


@dataclass(frozen=True, slots=True)
class Live:
    """A stream of this process that enters through the gate."""

    stream: Stream[Any]
    schema: Schema
    entry: Entry = UNSAID


@dataclass(frozen=True, slots=True)
class Executed:
    """Flows that run as one stage on the executors."""

    flow: Flow[Any, Any]
    takes: Elements | None
    gives: Elements
    scope: Scoped | None = None
    """Which rows it sees together, where its author has said so."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows of several nodes as they come."""


@dataclass(frozen=True, slots=True)
class Local:
    """The end of a pipeline in this process."""

    sink: Sink[Any, Any]
    takes: Elements | None
    numbered: bool = False
    """Whether rows come with their places."""


Work = Live | SparkSource | Executed | Frame | Merged | Also


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a plan, and the numbers of those that it takes from."""

    work: Work
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The end of a branch, and the number of the node that it takes from."""

    what: Local | SparkSink
    at: int


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """What becomes of each part of a pipeline."""

    nodes: tuple[Node, ...]
    ends: tuple[End, ...]
    result: Any
    """How the results are put together: the number of an end, or a tuple of such."""

    @property
    def sources(self) -> tuple[Live | SparkSource, ...]:
        """Return where rows come from, in their order."""
        works = (node.work for node in self.nodes)
        return tuple(work for work in works if isinstance(work, Live | SparkSource))

    def order(self) -> tuple[tuple[dict[int, int], dict[int, int]], tuple[PlannedPart, ...]]:
        """Return the parts to be read and drawn: a node, then what follows it, branch by branch.

        Before them, the places that nodes and ends have there.
        """
        places: list[PlannedPart] = []
        nodes: dict[int, int] = {}
        ends: dict[int, int] = {}

        def place(number: int) -> Walk[None]:
            node = self.nodes[number]
            for each in node.inputs:
                if each not in nodes:
                    yield place(each)
            nodes[number] = len(places)
            places.append(replace(_place_of(node.work), after=tuple(nodes[each] for each in node.inputs)))

        for number, end in enumerate(self.ends):
            if end.at not in nodes:
                walked(place(end.at))
            ends[number] = len(places)
            places.append(replace(_place_of_end(end.what), after=(nodes[end.at],)))
        return (nodes, ends), tuple(places)

    def described(self, master: str) -> Plan:
        """Return the plan to be read and drawn."""
        _, places = self.order()
        return Plan(places, f"on Spark ({master})")


def _place_of_end(end: Local | SparkSink) -> PlannedPart:
    if isinstance(end, SparkSink):
        return PlannedPart("Spark", f"spark_sink({function_name(end.fn)})", "Spark's own sink")
    bound = "rows come back through the gate as they are asked for; until then Spark waits"
    return PlannedPart("this process", text_of(end.sink), bound)


def _place_of(work: Work) -> PlannedPart:
    if isinstance(work, Live):
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in work.schema.struct)
        most = f"asked for at most {work.entry.capacity:,} rows beyond Spark's last commit"
        return PlannedPart("this process", text_of(work.stream), f"through the gate as ({columns}); {most}")
    if isinstance(work, SparkSource):
        return PlannedPart("Spark", f"spark_source({function_name(work.fn)})", "Spark's own source")
    if isinstance(work, Executed):
        return _place_of_stage(work)
    if isinstance(work, Also):
        kept = "each micro-batch, computed once and held until its rows have gone on"
        return PlannedPart("Spark", f"also({function_name(work.fn)})", kept)
    if isinstance(work, Merged):
        return PlannedPart("Spark", "merge", "Spark's own union")
    mode = "" if work.mode is None else f", mode={work.mode!r}"
    return PlannedPart("Spark", f"frame({function_name(work.fn)}{mode})", "Spark's own plan")


def _place_of_stage(step: Executed) -> PlannedPart:
    scope = step.scope
    if scope is None:
        return PlannedPart("executors", text_of(step.flow), "one stage; its partition asks, row by row")
    if not scope.keys:
        return PlannedPart("executors", str(scope), "one run for each partition, which asks row by row")
    kept = "; on a stream Spark keeps the states" if scope.keeps_states else ""
    return PlannedPart("executors", str(scope), f"rows are brought together by key, one run for each{kept}")


def shaped(step: Executed) -> tuple[Flow[Any, Any], Form | None]:
    """Return the Flow that an executor runs, and the form in which it gets rows."""
    takes, scope = step.takes, step.scope
    flow = unwrapped | step.flow if takes is not None and takes.bare else step.flow
    if step.gives.unnamed:
        flow = flow | positioned
    if scope is not None:
        flow = Flow(Chain(replace(scope, flow=flow)))
    return flow, None if takes is None or takes.unnamed else takes.form  # a row with names is a tuple, too


__all__ = ["End", "Executed", "Live", "Local", "Merged", "Node", "SparkPlan", "Work", "shaped"]
