"""build: from the nodes of a plan to DataFrames, those of a stream and those of one micro-batch alike."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.egress.batch_write import let_go
from penstock.spark.egress.remembering import stateful_steps
from penstock.spark.pipeline.modes import PlanError, ends_with
from penstock.spark.pipeline.nodes import Executed, Live, Merged, Node, SparkPlan, shaped
from penstock.spark.pipeline.steps import Also, Frame, SparkSource, called
from penstock.spark.stages.stage import stage
from penstock.spark.wire.schema import Schema

OpenLive = Callable[[int, Live], DataFrame]
"""A function from a live source, and its number among the nodes, to its streaming DataFrame."""


class Built:
    """The DataFrames of a plan's nodes, each made when it is first needed."""

    def __init__(
        self, plan: SparkPlan, session: SparkSession, open_live: OpenLive, doors: Container[str] = frozenset()
    ) -> None:
        self.plan = plan
        self._doors = doors
        """Those of the live sources that were opened."""
        self._session = session
        self._open_live = open_live
        self._frames: dict[int, DataFrame] = {}
        self._before: dict[int, int | None] = {}

    def frame(self, at: int) -> DataFrame:
        """Return the DataFrame of a node."""
        frames, nodes = self._frames, self.plan.nodes
        waiting = [at]
        while waiting:  # a thousand nodes may stand behind each other
            number = waiting[-1]
            missing = [] if number in frames else [each for each in nodes[number].inputs if each not in frames]
            waiting.extend(reversed(missing))
            if not missing and waiting.pop() not in frames:
                frames[number] = self._made(nodes[number], number)
        return frames[at]

    def _made(self, node: Node, at: int) -> DataFrame:
        if isinstance(node.work, Live):
            return self._open_live(at, node.work)
        if isinstance(node.work, SparkSource):
            return _frame_given("spark_source", called(node.work, self._session))
        return applied(node, [self._frames[each] for each in node.inputs])

    def ends(self, frame: DataFrame) -> bool:
        """Tell whether a streaming DataFrame has an end that is known, at which all is final."""
        return ends_with(frame, self._doors)

    def goes_on(self, at: int) -> int | None:
        """Return the node whose rows this one treats batch by batch, remembering nothing; None if there is none."""
        if at not in self._before:
            self._before[at] = self._found_before(at)
        return self._before[at]

    def _found_before(self, at: int) -> int | None:
        inputs = self.plan.nodes[at].inputs
        moving = [each for each in inputs if self.frame(each).isStreaming] if self.frame(at).isStreaming else inputs
        if len(moving) != 1:
            return None
        same = not self.frame(at).isStreaming or stateful_steps(self.frame(at)) == stateful_steps(self.frame(moving[0]))
        return moving[0] if same else None

    def way(self, at: int) -> list[int]:
        """Return a node and those before it, as far as each remembers nothing."""
        found = [at]
        while (before := self.goes_on(found[-1])) is not None:
            found.append(before)
        return found


class OfBatch:
    """The DataFrames of nodes over one micro-batch, whose rows at some nodes are given."""

    def __init__(self, built: Built, given: dict[int, DataFrame]) -> None:
        self._built = built
        self._frames = dict(given)
        self._users: dict[int, int] = {}
        self._held: list[DataFrame] = []

    def expect(self, at: int) -> None:
        """Know of another user of a node; what several use is computed once."""
        while at not in self._frames:
            self._users[at] = self._users.get(at, 0) + 1
            if self._users[at] > 1:
                return
            before = self._built.goes_on(at)
            assert before is not None  # a cut stands between a node and all that remembers
            at = before

    def frame(self, at: int) -> DataFrame:
        """Return the DataFrame of a node."""
        way = [at]
        while way[-1] not in self._frames and (before := self._built.goes_on(way[-1])) is not None:
            way.append(before)
        for number in reversed(way):
            if number not in self._frames:
                self._frames[number] = self._made(number)
        return self._frames[at]

    def _made(self, at: int) -> DataFrame:
        node = self._built.plan.nodes[at]
        moving = self._built.goes_on(at)
        inputs = [self._frames[each] if each == moving else self._built.frame(each) for each in node.inputs]
        found = applied(node, inputs)
        if self._users.get(at, 0) > 1 and not isinstance(node.work, Also):
            self._held.append(found.persist())
        return found

    def let_go(self) -> None:
        """Forget what was held because several use it."""
        while self._held:
            let_go(self._held.pop())


def applied(node: Node, inputs: list[DataFrame]) -> DataFrame:
    """Return what a node makes of the DataFrames that it takes."""
    work, first = node.work, inputs[0]
    if isinstance(work, Executed):
        _fits(work, first)
        flow, form = shaped(work)
        return first.transform(stage(flow, work.gives.schema, rows=form))
    if isinstance(work, Frame):
        return _frame_given("frame", called(work, *inputs))
    return _merged(inputs) if isinstance(work, Merged) else first


def _merged(inputs: list[DataFrame]) -> DataFrame:
    """Return the rows of all, which must have the same columns."""
    found, *others = inputs
    if len({each.isStreaming for each in inputs}) > 1:
        raise PlanError(
            "run: Spark does not merge a stream with a batch; read it as a stream, session.readStream..., or join"
            " it: | frame(lambda df, table: ..., table)"
        )
    for each in others:
        if _columns(each) != _columns(found):
            raise PlanError(
                f"run: streams that are merged must have the same columns, got {_columns(found)} and {_columns(each)};"
                " bring them to one form before: | frame(lambda df: df.select(...))"
            )
        found = found.unionByName(each)
    return found


def _columns(df: DataFrame) -> list[str]:
    return sorted(f"{field.name} {field.dataType.simpleString()}" for field in df.schema)


def _frame_given(name: str, made: Any) -> DataFrame:
    if not isinstance(made, DataFrame):
        raise TypeError(f"{name}: the function must return a DataFrame, got {made!r}")
    return made


def _fits(step: Executed, df: DataFrame) -> None:
    """Refuse a Flow of bare values over a DataFrame of several columns."""
    if step.takes is not None and step.takes.bare and len(df.columns) != 1:
        raise PlanError(
            f"run: {step.flow} takes one bare value, and the DataFrame before it has the columns {df.columns};"
            " select one of them, or let it take a dataclass"
        )
    if step.takes is None:
        Schema.of(df.schema)


__all__ = ["Built", "OfBatch", "OpenLive"]
