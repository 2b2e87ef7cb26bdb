"""queries: divide the ends of a plan into queries, and give each end its portion of a query's micro-batches.

A query of Spark's has one output. Where several ends take of one node, and what is between remembers nothing, the query
ends at that node: each micro-batch is held there, computed once, and the rest is done with it batch by batch. What
remembers (an aggregation, a join of streams) has to be inside of the query; there its rows and those for the other
ends are put into one output, each with a number. So one query serves all ends that can have one output mode, and they
see the same micro-batches. A sink of Spark's over a stream is a query by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter

from penstock.spark.egress.decoding import Decode, decoder
from penstock.spark.egress.remembering import keep_states, stateful_steps
from penstock.spark.pipeline.build import Built, OfBatch
from penstock.spark.pipeline.modes import Closing, check_watermarks, chosen, watermarked, works
from penstock.spark.pipeline.nodes import End, Local, SparkPlan
from penstock.spark.pipeline.steps import Also, Frame, SparkSink, called
from penstock.spark.pipeline.tagged import pairs, tagged, untagged


@dataclass(frozen=True, slots=True)
class Portion:
    """What an end, or a write on the way, takes: the rows of a node."""

    at: int
    end: int | None = None
    """The number of the end; None for a write on the way."""
    mode: str = "append"
    at_end: bool = False
    """Whether its rows are final only when the stream has ended."""
    remembers: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What one query of Spark's, or one job over a batch, does."""

    portions: tuple[Portion, ...]
    cuts: tuple[int, ...]
    """The nodes whose rows it gives out."""
    mode: str | None = "append"
    """Spark's output mode; None leaves it to a writer of Spark's."""
    sink: int | None = None
    """The number of the end, if that is a sink of Spark's over a stream."""

    def needs_closing(self, built: Built) -> bool:
        """Tell whether rows may be held back until all sources have ended."""
        frames = [built.frame(at) for at in self.cuts]
        return any(portion.at_end for portion in self.portions) or any(map(watermarked, frames))


def divided(built: Built) -> list[Query]:
    """Divide all ends into queries."""
    plan = built.plan
    for end in plan.ends:
        check_watermarks(built.frame(end.at))
    found: list[Query] = []
    portions: list[Portion] = []
    for at in range(len(plan.nodes)):
        if isinstance(plan.nodes[at].work, Also):
            portions.append(_portion(built, at, None))
        for number, end in enumerate(plan.ends):
            if end.at != at:
                continue
            if isinstance(end.what, SparkSink) and built.frame(at).isStreaming:
                found.append(Query((Portion(at, number),), (at,), said(plan, at), number))
            else:
                portions.append(_portion(built, at, number))
    return [*_grouped(built, portions), *found]


def said(plan: SparkPlan, at: int) -> str | None:
    """Return the output mode that was said last on the way to a node."""
    seen: set[int] = set()
    waiting = [at]
    while waiting:
        number = waiting.pop()
        node = plan.nodes[number]
        if isinstance(node.work, Frame) and node.work.mode is not None:
            return node.work.mode
        seen.add(number)
        waiting.extend(each for each in reversed(node.inputs) if each not in seen)
    return None


def _portion(built: Built, at: int, end: int | None) -> Portion:
    frame = built.frame(at)
    if not frame.isStreaming:
        return Portion(at, end)
    mode, at_end = chosen(frame, said(built.plan, at), ends=built.ends(frame))
    return Portion(at, end, mode, at_end, stateful_steps(frame) > 0)


def _grouped(built: Built, portions: list[Portion]) -> list[Query]:
    """Put portions together that one query can serve; those that remember nothing go with any."""
    still = [portion for portion in portions if not built.frame(portion.at).isStreaming]
    moving = [portion for portion in portions if portion not in still]
    jobs = [Query(tuple(still), _cuts(built, still))] if still else []
    by_mode: dict[str, list[Portion]] = {}
    for portion in moving:
        if portion.remembers:
            by_mode.setdefault(portion.mode, []).append(portion)
    groups = list(by_mode.values()) or ([[]] if moving else [])
    queries: list[Query] = []
    for some in groups:
        whole = _query(built, moving, some, first=not queries)
        if len(whole.cuts) == 1 or works(output(built, whole), whole.mode or "append") is None:
            queries.append(whole)
        else:
            first = not queries
            queries.extend(_query(built, moving, [each], first=first and not at) for at, each in enumerate(some))
    return [*queries, *jobs]


def _query(built: Built, portions: list[Portion], some: list[Portion], *, first: bool) -> Query:
    """Make a query of some portions; the first one takes those that remember nothing, too."""
    members = [portion for portion in portions if portion in some or (first and not portion.remembers)]
    return Query(tuple(members), _cuts(built, members), some[0].mode if some else "append")


def _cuts(built: Built, portions: list[Portion]) -> tuple[int, ...]:
    """Return the nodes at which a query is to end: the last that all have in common whose ways have one beginning."""
    ways: dict[int, list[list[int]]] = {}
    for portion in portions:
        way = built.way(portion.at)
        ways.setdefault(way[-1], []).append(way)
    return tuple(next(at for at in some[0] if all(at in way for way in some)) for some in ways.values())


def output(built: Built, query: Query) -> DataFrame:
    """Return the DataFrame that a query gives out."""
    frames = [built.frame(at) for at in query.cuts]
    return frames[0] if len(frames) == 1 else tagged(frames)


class Serving:
    """One query at work: the portions of its ends in each batch."""

    def __init__(self, built: Built, query: Query, closing: Closing) -> None:
        self._built = built
        self._query = query
        self._closing = closing
        self._batch: OfBatch | None = None
        self._held: OfBatch | None = None
        self.results: dict[int, Any] = {}
        """What sinks of Spark's over a batch have given."""
        ends = built.plan.ends
        self.local = [portion for portion in query.portions if isinstance(self._end(portion), Local)]
        self._several = len(self.local) > 1
        self._writes = [portion for portion in query.portions if portion not in self.local]
        self._forms = [_form(ends[portion.end]) for portion in self.local if portion.end is not None]

    def _end(self, portion: Portion) -> Local | SparkSink | None:
        return None if portion.end is None else self._built.plan.ends[portion.end].what

    def decode(self) -> Decode:
        """Return how record batches become elements: pairs of a number and an element if there are several ends."""
        frames = [self._built.frame(portion.at) for portion in self.local]
        if not frames:
            return lambda _: ()
        return pairs(frames, self._forms) if self._several else decoder(frames[0], self._forms[0])

    @property
    def write(self) -> Callable[[DataFrame, int], None] | None:
        """Return what holds a batch and does the writes that come before its rows go on; None if that is not needed."""
        return self._write if self._writes or self._several or len(self._query.cuts) > 1 else None

    @property
    def shape(self) -> Callable[[DataFrame], DataFrame | None] | None:
        """Return what takes out of a batch the rows that go on; None if it is all of them."""
        return self._rows if self.write is not None or any(portion.at_end for portion in self.local) else None

    def _write(self, frame: DataFrame, number: int) -> None:
        batch = self._opened(frame)
        for portion in self._writes:
            if not self._due(portion):
                continue
            rows, end = batch.frame(portion.at), self._end(portion)
            if isinstance(end, SparkSink):
                assert portion.end is not None
                made = called(end, rows)
                if isinstance(made, DataFrameWriter):
                    made.save()
                self.results[portion.end] = None if isinstance(made, DataFrameWriter) else made
            else:
                work = self._built.plan.nodes[portion.at].work
                assert isinstance(work, Also)
                called(work, rows, number)

    def _rows(self, frame: DataFrame) -> DataFrame | None:
        batch = self._batch or self._opened(frame)
        self._batch = None
        due = [portion for portion in self.local if self._due(portion)]
        if not due:
            keep_states(frame)
            return None
        if not self._several:
            return batch.frame(due[0].at)
        frames = [(portion, batch.frame(portion.at)) for portion in self.local]
        return tagged([rows if portion in due else rows.limit(0) for portion, rows in frames])

    def _opened(self, frame: DataFrame) -> OfBatch:
        """Take a batch apart."""
        self.let_go()
        cuts = self._query.cuts
        given = {at: frame if len(cuts) == 1 else untagged(frame, number) for number, at in enumerate(cuts)}
        self._batch = self._held = OfBatch(self._built, given)
        for portion in self._query.portions:
            self._batch.expect(portion.at)
        return self._batch

    def let_go(self) -> None:
        """Forget the batch before."""
        held, self._held = self._held, None
        if held is not None:
            held.let_go()

    def _due(self, portion: Portion) -> bool:
        return not portion.at_end or self._closing.finished


def _form(end: End) -> Any:
    assert isinstance(end.what, Local)
    return None if end.what.takes is None else end.what.takes.form


__all__ = ["Query", "Serving", "divided", "output"]
