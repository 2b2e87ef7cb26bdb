"""plan: decide what of a pipeline runs where: in this process, on the executors, or as plain Spark.

The live source and its fluent steps run in this process and enter through the gate. Flows, one after the other, become
one stage on the executors. DataFrame steps and sources and sinks of Spark stay what they are. A sink of this process
gets rows back, and fluent steps right before it run with it.
"""

from __future__ import annotations

import datetime as dt
import decimal
from dataclasses import dataclass, make_dataclass, replace
from operator import itemgetter
from typing import Any

from penstock.bridges.shared.hints import is_record, name_of
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import function_name
from penstock.errors import PenstockError
from penstock.flow import Flow, Hole, Pipeline, Sink, flow, text_of
from penstock.run import Plan, PlannedPart
from penstock.spark.pipeline.entry import UNSAID, Entry
from penstock.spark.pipeline.numbered import Numbering
from penstock.spark.pipeline.steps import Also, Frame, SparkSink, SparkSource
from penstock.spark.stages.scopes import Scoped
from penstock.spark.stages.stage import stage
from penstock.spark.wire.schema import Form, Schema
from penstock.stage import Joint, Stage
from penstock.stream import Stream

_PLAIN = (bool, int, float, str, bytes, dt.datetime, dt.date, decimal.Decimal)


class PlanError(PenstockError):
    """The error that a pipeline cannot run on Spark, with what can be done about it."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements on one side of a Flow: the schema of their rows, or of their one `bare` column."""

    schema: Schema
    bare: bool = False

    @property
    def form(self) -> Form | None:
        """Return how rows are read."""
        return "tuple" if self.bare else self.schema.row


def elements_of(given: Any) -> Elements | None:
    """Return what an annotation says about elements, or None if it says nothing that Spark could use."""
    if given in _PLAIN:
        named = Schema.of(make_dataclass("Value", [("value", given)]))
        return Elements(replace(named, row=None), bare=True)
    return Elements(Schema.of(given)) if is_record(given) else None


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
class Local:
    """The end of a pipeline in this process."""

    sink: Sink[Any, Any]
    takes: Elements | None
    also: tuple[Also, ...] = ()
    numbered: bool = False
    """Whether rows come with their places."""


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """What becomes of each part of a pipeline."""

    source: Live | SparkSource
    steps: tuple[Executed | Frame, ...]
    end: Local | SparkSink

    def described(self, master: str) -> Plan:
        """Return the plan to be read and drawn."""
        places = [_place_of_source(self.source, master)]
        for step in self.steps:
            if isinstance(step, Executed):
                places.append(_place_of_stage(step))
            else:
                places.append(PlannedPart("Spark", f"frame({function_name(step.fn)})", "Spark's own plan"))
        if isinstance(self.end, Local):
            kept = "each micro-batch, computed once and held until its rows have gone on"
            places.extend(PlannedPart("Spark", f"also({function_name(step.fn)})", kept) for step in self.end.also)
            bound = "rows come back through the gate as they are asked for; until then Spark waits"
            places.append(PlannedPart("this process", text_of(self.end.sink), bound))
        else:
            places.append(PlannedPart("Spark", f"spark_sink({function_name(self.end.fn)})", "Spark's own sink"))
        return Plan(tuple(places), f"on Spark ({master})")


def _place_of_stage(step: Executed) -> PlannedPart:
    scope = step.scope
    if scope is None:
        return PlannedPart("executors", text_of(step.flow), "one stage; its partition asks, row by row")
    if not scope.keys:
        return PlannedPart("executors", str(scope), "one run for each partition, which asks row by row")
    kept = "; on a stream Spark keeps the states" if scope.keeps_states else ""
    return PlannedPart("executors", str(scope), f"rows are brought together by key, one run for each{kept}")


def _place_of_source(source: Live | SparkSource, master: str) -> PlannedPart:
    if isinstance(source, SparkSource):
        return PlannedPart("Spark", f"spark_source({function_name(source.fn)})", "Spark's own source")
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in source.schema.struct)
    bound = (
        f"through the gate as ({columns}); asked for at most {source.entry.capacity:,} rows beyond Spark's last commit"
    )
    return PlannedPart("this process", text_of(source.stream), bound)


def plan(pipeline: Pipeline[Any]) -> SparkPlan | None:
    """Plan a pipeline; None if it has nothing that Spark could do."""
    first, *rest, last = pipeline._parts
    tail: list[Any] = []
    while rest and isinstance(rest[-1], Stage | Joint) and not isinstance(last._chain.source, SparkSink):
        tail.insert(0, rest.pop())
    numbered = _numbered(rest, last)
    also = _also(rest, last)
    entry = _entry(first, rest)
    steps = _grouped(rest)
    native = isinstance(first._chain.source, SparkSource) or isinstance(last._chain.source, SparkSink)
    if not native and not steps and not also and not numbered and entry is None:
        return None
    end = _end_of(last, tail, steps, also)
    if numbered and isinstance(end, Local):
        end = replace(end, numbered=True)
    return SparkPlan(_source_of(first, steps, entry or UNSAID), tuple(steps), end)


def _entry(source: Stream[Any], parts: list[Any]) -> Entry | None:
    """Take how the stream enters from the first part; refuse it elsewhere."""
    found: Entry | None = None
    before: Any = source
    for number, part in enumerate(list(parts)):
        one = part._chain.source if isinstance(part, Flow) else None
        if not isinstance(one, Entry):
            before = part
        elif number or isinstance(source._chain.source, SparkSource):
            raise PlanError(f"run: entry must stand right behind a live stream, got {text_of(before)} before it")
        else:
            found = one
            parts[:1] = [Flow(Chain(Hole(), part._chain.steps))] if part._chain.steps else []
    return found


def _numbered(parts: list[Any], end: Sink[Any, Any]) -> bool:
    """Take the numbering from the last part; refuse it elsewhere."""
    found = [part for part in parts if isinstance(part, Flow) and isinstance(part._chain.source, Numbering)]
    if not found:
        return False
    if found != parts[-1:] or isinstance(end._chain.source, SparkSink):
        raise PlanError("run: numbered() must stand right before a sink of this process, once; move it there")
    parts.pop()
    return True


def _also(parts: list[Any], end: Sink[Any, Any]) -> tuple[Also, ...]:
    """Take the writes from the last parts; refuse them elsewhere."""
    found: list[Also] = []
    behind: Any = end
    while parts and isinstance(parts[-1], Flow) and isinstance(parts[-1]._chain.source, Also):
        found.insert(0, parts.pop()._chain.source)
    if found and isinstance(end._chain.source, SparkSink):
        raise PlanError(
            f"run: also({function_name(found[-1].fn)}) must stand before a sink of this process, got {text_of(end)};"
            " Spark writes to two places in one: df.writeStream.foreachBatch(fn)"
        )
    for part in reversed(parts):
        if isinstance(part, Flow) and isinstance(part._chain.source, Also):
            raise PlanError(
                f"run: also({function_name(part._chain.source.fn)}) must stand right before the end,"
                f" got {text_of(behind)} behind it; move it there"
            )
        behind = part
    return tuple(found)


def _grouped(parts: list[Any]) -> list[Executed | Frame]:
    """Join Flows that follow one another; know what comes in and what goes out."""
    steps: list[Executed | Frame] = []
    waiting: list[Any] = []

    def close() -> None:
        if waiting:
            steps.append(_executed(waiting))
            waiting.clear()

    for part in parts:
        if isinstance(part, Stage | Joint):
            waiting.append(part)
            continue
        source = part._chain.source
        if isinstance(source, Frame | Scoped):
            close()
            steps.append(source if isinstance(source, Frame) else _scoped(source, part))
            if part._chain.steps:
                waiting.append(Flow(Chain(Hole(), part._chain.steps), gives=part.gives))
        else:
            waiting.append(part)
    close()
    return steps


def _executed(parts: list[Any]) -> Executed:
    """Make one stage of Flows and of fluent steps between them."""
    flows = [Flow(Chain(Hole(), (part,))) if isinstance(part, Stage | Joint) else part for part in parts]
    whole: Flow[Any, Any] = flows[0]
    for each in flows[1:]:
        whole = whole | each
    gives = _given(text_of(flows[-1]), flows[-1].gives)
    bare: Flow[Any, Any] = Flow(whole._chain)  # what is sent to the executors has no need of the rest
    stage(bare, gives.schema)  # refuses here what could not run there
    return Executed(bare, elements_of(flows[0].takes), gives)


def _scoped(scope: Scoped, part: Flow[Any, Any]) -> Executed:
    """Make a separate stage of a Flow that has a scope."""
    gives = _given(str(scope), None if part._chain.steps else part.gives)
    stage(Flow(Chain(scope)), gives.schema)  # refuses here what could not run there
    return Executed(scope.flow, elements_of(part.takes), gives, scope)


def _given(name: str, said: Any) -> Elements:
    found = elements_of(said)
    if found is None:
        raise PlanError(
            f"run: what {name} gives must be known, got {_said(said)}; annotate it:"
            " @flow def name(xs: Stream[A]) -> Stream[B], B a dataclass or one of str, int, float, bool"
        )
    return found


def _said(given: Any) -> str:
    return "no annotation" if given is None else name_of(given)


def _source_of(part: Stream[Any], steps: list[Executed | Frame], entry: Entry) -> Live | SparkSource:
    source = part._chain.source
    if isinstance(source, SparkSource):
        if part._chain.steps:
            raise PlanError(
                f"run: {text_of(part)}: rows of a Spark source are not elements of a stream;"
                " put the steps into a @flow, or use frame(lambda df: ...)"
            )
        return source
    following = steps[0] if steps else None
    if entry.schema is not None:
        return Live(part, Schema.of(entry.schema), entry)
    if isinstance(following, Executed) and following.takes is not None:
        return Live(part, following.takes.schema, entry)
    if isinstance(following, Frame) and following.schema is not None:
        return Live(part, Schema.of(following.schema), entry)
    cure = (
        "give it: frame(fn, schema=...)"
        if isinstance(following, Frame)
        else "annotate it: @flow def name(xs: Stream[A]) -> Stream[B], A a dataclass or one of str, int, float, bool"
        if following is not None
        else "say which, right behind it: entry(schema)"
    )
    raise PlanError(f"run: the rows of {text_of(part)} must have a schema to enter Spark; {cure}")


def _end_of(
    part: Sink[Any, Any], tail: list[Any], steps: list[Executed | Frame], also: tuple[Also, ...]
) -> Local | SparkSink:
    source = part._chain.source
    if isinstance(source, SparkSink):
        return source
    before: Flow[Any, Any] = Flow(Chain(Hole(), tuple(tail)))
    sink = before | part if tail else part
    last = steps[-1] if steps else None
    return Local(Sink(sink._chain), last.gives if isinstance(last, Executed) else None, also)


# What the plan needs of Flows.


@flow
def unwrapped(rows: Stream[Any]) -> Stream[Any]:
    """Take the value out of a row of one column."""
    return rows.map(itemgetter(0))


def shaped(step: Executed) -> tuple[Flow[Any, Any], Form | None]:
    """Return the Flow that an executor runs, and the form in which it gets rows."""
    takes, scope = step.takes, step.scope
    flow = unwrapped | step.flow if takes is not None and takes.bare else step.flow
    if scope is not None:
        flow = Flow(Chain(replace(scope, flow=flow)))
    return flow, None if takes is None else takes.form


__all__ = [
    "Elements", "Executed", "Live", "Local", "PlanError", "SparkPlan", "elements_of", "plan",
    "shaped", "unwrapped",
]  # fmt: skip
