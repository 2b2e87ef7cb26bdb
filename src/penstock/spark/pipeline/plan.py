"""plan: decide what of a pipeline runs where: in this process, on the executors, or as plain Spark.

Live sources and their fluent steps run in this process and enter through the gate. Flows, one after the other, become
one stage on the executors. DataFrame steps and sources and sinks of Spark stay what they are. A sink of this process
gets rows back, and fluent steps right before it run with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.flow import Branches, Flow, Hole, Pipeline, Sink, pieces, text_of
from penstock.run.walking import Walk, all_of, walked
from penstock.spark.pipeline.elements import KINDS, Elements, elements_of, said
from penstock.spark.pipeline.entry import UNSAID, Entry
from penstock.spark.pipeline.modes import PlanError
from penstock.spark.pipeline.nodes import End, Executed, Live, Local, Merged, Node, SparkPlan
from penstock.spark.pipeline.steps import Also, Frame, Numbering, SparkSink, SparkSource
from penstock.spark.stages.scopes import Scoped
from penstock.spark.stages.stage import stage
from penstock.spark.wire.schema import Schema
from penstock.stage import Joint, Stage
from penstock.stream import Inputs, Stream


def plan(pipeline: Pipeline[Any]) -> SparkPlan | None:
    """Plan a pipeline; None if it has nothing that Spark could do."""
    planner = _Planner()
    first, *rest, last = pipeline._parts
    if not _has_work(first, rest, last):
        return None
    result = planner.pipeline(first, rest, last)
    return SparkPlan(tuple(planner.nodes), tuple(planner.ends), result)


def _has_work(first: Any, rest: Iterable[Any], last: Sink[Any, Any]) -> bool:
    """Tell whether Spark has anything to do."""
    if isinstance(first, Inputs) or isinstance(first._chain.source, SparkSource):
        return True
    waiting = [(rest, last)]
    while waiting:  # branches may be nested deeper than Python's stack
        steps, sink = waiting.pop()
        end = sink._chain.source
        if isinstance(end, SparkSink) or any(isinstance(part, Flow) for part in steps):
            return True
        branches = end.ends if isinstance(end, Branches) else ()
        waiting.extend((pieces(each)[:-1], pieces(each)[-1]) for each in branches)
    return False


@dataclass(slots=True)
class _Planner:
    """The plan of one pipeline, as far as it has come."""

    nodes: list[Node] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    known: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """The nodes by what they were made of; a stream that is used twice is one."""

    def pipeline(self, first: Any, rest: list[Any], last: Sink[Any, Any]) -> Any:
        """Plan all that stands between a source and its ends; return how results are put together."""
        return walked(self._pipeline(first, rest, last))

    def _pipeline(self, first: Any, rest: list[Any], last: Sink[Any, Any]) -> Walk[Any]:
        at, rest = yield self._begun(first, rest, walked(_following(rest, last)))
        return (yield self._ended(at, rest, last))

    def _stream(self, stream: Stream[Any], then: list[Executed | Frame]) -> Walk[int]:
        """Plan a stream that another node takes."""
        first, *rest = pieces(stream)
        at, rest = yield self._begun(first, rest, _first_of(rest) or then)
        followed: int = yield self._followed(at, rest)
        return followed

    def _begun(self, first: Any, rest: list[Any], following: list[Executed | Frame]) -> Walk[tuple[int, list[Any]]]:
        """Plan a source; return its number and what is left to be planned behind it."""
        if isinstance(first, Inputs):
            inputs = yield all_of(self._stream(each, following) for each in first.streams)
            return self._node(Node(Merged(), tuple(inputs)), id(first)), rest
        source = first._chain.source
        if isinstance(source, Hole):
            raise PlanError("run: a stream that is given to frame must have a source, got the argument of a @flow")
        entry, left = _entry(first, rest)
        if left and _is(left[0], Entry):
            raise _misplaced(first)
        if isinstance(source, SparkSource):
            if first._chain.steps:
                raise PlanError(
                    f"run: {text_of(first)}: rows of a Spark source are not elements of a stream;"
                    " put the steps into a @flow, or use frame(lambda df: ...)"
                )
            return self._node(Node(source), id(first)), left
        known = self.known.get((id(first),))
        if known is not None:
            return known, left
        return self._node(Node(_live(first, following, entry or UNSAID)), id(first)), left

    def _followed(self, at: int, rest: list[Any]) -> Walk[int]:
        """Plan the steps behind a node; return the number of the last."""
        for work, made_of in _grouped(rest):
            streams = work.others if isinstance(work, Frame) else ()
            others = yield all_of(self._stream(each, []) for each in streams)
            at = self._node(Node(work, (at, *others)), at, *made_of)
        return at

    def _ended(self, at: int, rest: list[Any], last: Sink[Any, Any]) -> Walk[Any]:
        end = last._chain.source
        tail: list[Any] = []
        while rest and isinstance(rest[-1], Stage | Joint) and not isinstance(end, SparkSink):
            tail.insert(0, rest.pop())
        numbered = bool(rest) and _is(rest[-1], Numbering) and not isinstance(end, SparkSink | Branches)
        at = yield self._followed(at, rest[:-1] if numbered else rest)
        if isinstance(end, Branches):
            parts = map(pieces, end.ends)
            return tuple((yield all_of(self._ended(at, [*tail, *each[:-1]], each[-1]) for each in parts)))
        if isinstance(end, SparkSink):
            self.ends.append(End(end, at))
        else:
            before: Flow[Any, Any] = Flow(Chain(Hole(), tuple(tail)))
            sink = before | last if tail else last
            self.ends.append(End(Local(Sink(sink._chain), self._elements(at), numbered), at))
        return len(self.ends) - 1

    def _node(self, node: Node, *made_of: object) -> int:
        key = tuple(made_of)
        if key not in self.known:
            self.nodes.append(node)
            self.known[key] = len(self.nodes) - 1
        return self.known[key]

    def _elements(self, at: int) -> Elements | None:
        """Return what the rows of a node are, where that is known."""
        found: Elements | None = None
        seen = {at}
        waiting = [at]
        while waiting:
            node = self.nodes[waiting.pop()]
            if isinstance(node.work, Also | Merged):
                inputs = [each for each in node.inputs if each not in seen]
                seen.update(inputs)
                waiting.extend(inputs)
                continue
            gives = node.work.gives if isinstance(node.work, Executed) else None
            if gives is None or (found is not None and gives != found):
                return None
            found = gives
        return found


# Sources.


def _following(rest: list[Any], last: Sink[Any, Any]) -> Walk[list[Executed | Frame]]:
    """Return the first step on each way behind a source, by which its rows may be known."""
    found = _first_of(rest)
    end = last._chain.source
    if found or not isinstance(end, Branches):
        return found
    for way in map(pieces, end.ends):
        found += yield _following([*rest, *way[:-1]], way[-1])
    return found


def _first_of(parts: list[Any]) -> list[Executed | Frame]:
    waiting = [each for each in parts if not _is(each, Entry)]
    while waiting and isinstance(waiting[-1], Stage | Joint):
        waiting.pop()  # it may run with the sink
    if waiting and _is(waiting[-1], Numbering):
        waiting.pop()
    works = (work for work, _ in _grouped(waiting) if isinstance(work, Executed | Frame))
    return list(works)[:1]


def _live(part: Stream[Any], following: list[Executed | Frame], entry: Entry) -> Live:
    if entry.schema is not None:
        return Live(part, Schema.of(entry.schema), entry)
    found: Schema | None = None
    unnamed: Schema | None = None
    for step in following:
        given = step.schema if isinstance(step, Frame) else None if step.takes is None else step.takes.schema
        schema = None if given is None else Schema.of(given)
        if isinstance(step, Executed) and step.takes is not None and step.takes.unnamed:
            unnamed = unnamed or schema  # it takes rows with names, too
            continue
        if found is not None and schema is not None and schema.struct != found.struct:
            raise PlanError(
                f"run: the rows of {text_of(part)} must have one schema to enter Spark, and its branches take"
                f" {_columns(found)} and {_columns(schema)}; say which, right behind it: entry(schema)"
            )
        found = found or schema
    found = found or unnamed
    if found is not None:
        return Live(part, found, entry)
    cure = (
        "say which, right behind it: entry(schema)"
        if not following
        else "give it: frame(fn, schema=...)"
        if isinstance(following[0], Frame)
        else f"annotate it: @flow def name(xs: Stream[A]) -> Stream[B], A {KINDS}"
    )
    raise PlanError(f"run: the rows of {text_of(part)} must have a schema to enter Spark; {cure}")


def _columns(schema: Schema) -> str:
    return f"({schema.struct.simpleString()[7:-1]})"


def _entry(source: Stream[Any], parts: list[Any]) -> tuple[Entry | None, list[Any]]:
    """Take how a live stream enters from the first part, and return it with the others."""
    if not parts or not _is(parts[0], Entry) or isinstance(source._chain.source, SparkSource):
        return None, parts
    first, *rest = parts
    behind: list[Any] = [Flow(Chain(Hole(), first._chain.steps))] if first._chain.steps else []
    return first._chain.source, [*behind, *rest]


# Steps.


def _is(part: Any, kind: type) -> bool:
    return isinstance(part, Flow) and isinstance(part._chain.source, kind)


def _grouped(parts: list[Any]) -> Iterator[tuple[Executed | Frame | Also, tuple[int, ...]]]:
    """Join Flows that follow one another; know what comes in and what goes out, and what each was made of."""
    waiting: list[Any] = []
    made_of: list[int] = []
    for part in parts:
        if _is(part, Entry):
            raise _misplaced(parts[parts.index(part) - 1] if part is not parts[0] else None)
        if _is(part, Numbering):
            raise PlanError("run: numbered() must stand right before a sink of this process, once; move it there")
        if not any(_is(part, kind) for kind in (Frame, Scoped, Also)):
            waiting.append(part)
            made_of.append(id(part))
            continue
        if waiting:
            yield _executed(waiting), tuple(made_of)
            waiting, made_of = [], []
        source = part._chain.source
        yield (_scoped(source, part) if isinstance(source, Scoped) else source), (id(part),)
        if part._chain.steps:
            waiting.append(Flow(Chain(Hole(), part._chain.steps), gives=part.gives))
            made_of.append(id(part))
    if waiting:
        yield _executed(waiting), tuple(made_of)


def _misplaced(before: Any) -> PlanError:
    what = "another part" if before is None else text_of(before)
    return PlanError(f"run: entry must stand right behind a live stream, got {what} before it")


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


def _given(name: str, given: Any) -> Elements:
    found = elements_of(given)
    if found is None:
        raise PlanError(
            f"run: what {name} gives must be known, got {said(given)}; annotate it:"
            f" @flow def name(xs: Stream[A]) -> Stream[B], B {KINDS}"
        )
    return found


__all__ = ["plan"]
