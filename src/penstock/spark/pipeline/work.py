"""work: one query of a run, from its DataFrame to the results of its ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame

from penstock.engine.runs.chain import Chain
from penstock.engine.words.dropped import drop
from penstock.flow import Flow, Sink, flow
from penstock.run import Progress, Valve, Valved
from penstock.run.branches import Branches, fill
from penstock.run.result import Settle
from penstock.spark.egress.at_work import AtWork
from penstock.spark.egress.draining import stop_after_batch
from penstock.spark.egress.microbatch import QuerySource, default_trigger
from penstock.spark.egress.numbering import Numbered
from penstock.spark.egress.streams import FrameSource
from penstock.spark.pipeline.build import Built
from penstock.spark.pipeline.checkpoint import BRANCH, QUERY
from penstock.spark.pipeline.elements import unwrapped
from penstock.spark.pipeline.ending import Ending, LocalEnd, NativeEnd
from penstock.spark.pipeline.modes import Closing, PlanError, live_sources, watermarked
from penstock.spark.pipeline.nodes import Local, SparkPlan
from penstock.spark.pipeline.progress import Batches
from penstock.spark.pipeline.queries import Query, Serving, output
from penstock.spark.pipeline.steps import SparkSink
from penstock.spark.pipeline.tagged import of
from penstock.spark.session.held import HeldSession
from penstock.spark.wire.storage import Folder
from penstock.stage import Source

_LOOK = 0.05  # seconds between two looks at what is still on its way


class Work:
    """One query, or one job over a batch, of a run."""

    def __init__(
        self, spark: HeldSession, plan: SparkPlan, number: int, checkpoint: Folder | None, goes_on: Callable[[], bool]
    ) -> None:
        self._spark = spark
        self._plan = plan
        self.folder = checkpoint if checkpoint is None or not number else checkpoint / f"{BRANCH}{number + 1}"
        self._closing = Closing(spark.session, spark.gate, goes_on)
        self.together = self._closing.together
        self._exit = Valve()
        self._batches: Batches | None = None
        self._local = True
        self.lives = 0
        self._ends = False
        self._serving: Serving
        self._end: Ending
        self._prepared = False
        self._over = threading.Event()
        """Whether it was cancelled, or closed."""
        self.at_work = AtWork()
        """What works for it, here and in Spark."""
        self.at_work.whole = self._whole

    def prepare(self, built: Built, query: Query, settle: Settle) -> None:
        """Make ready to start."""
        df = output(built, query)
        self.lives = self.together.size = live_sources(df, self.together.doors) if df.isStreaming else 0
        self._ends = df.isStreaming and bool(default_trigger(df))
        self._closing.wanted = df.isStreaming and built.ends(df) and query.needs_closing(built)
        self.together.closes = self._ends and watermarked(df)
        self._serving = Serving(built, query, self._closing)
        if df.isStreaming:
            df = self._closing.marked(df)
            self._batches = Batches(self._spark.session, self._closing.name)
        folder = None if self.folder is None or not df.isStreaming else self.folder / QUERY
        if query.sink is not None:
            sink = self._plan.ends[query.sink].what
            assert isinstance(sink, SparkSink)
            self._local = False
            self._sink = query.sink
            self._end = NativeEnd(self._spark, df, sink, folder, self._batches, query.mode, settle, self.at_work)
        else:
            ends = self._plan.order()[0][1]
            chain = self._ended(self._source(df, query, folder))
            self._end = LocalEnd(chain, tuple(ends[number] for number in self._numbers()), settle)
        self._prepared = True

    def _source(self, df: DataFrame, query: Query, folder: Folder | None) -> Source[Any]:
        gate, serving = self._spark.gate, self._serving
        decode, numbered = serving.decode(), self._numbered()
        if df.isStreaming:
            mode = query.mode or "append"
            write, shape = serving.write, serving.shape
            return QuerySource(gate, df, decode, folder, {}, write, numbered, mode, shape, self.at_work)
        if numbered:
            raise PlanError("run: numbered is for streaming DataFrames, and this one is a batch; leave it out")
        return FrameSource(gate, df, decode, also=serving.write, shape=serving.shape, at_work=self.at_work)

    def _ended(self, source: Source[Any]) -> Chain:
        """Return the chain from the rows that come back to the results."""
        rows = Chain(Valved(Chain(source), self._exit, iterates=False))
        sinks = [self._sink_of(number) for number in self._numbers()]
        if not sinks:
            return fill(Sink.count()._chain, rows)
        if len(sinks) == 1:
            return fill(sinks[0]._chain, rows)
        return Chain(Branches(rows, tuple(_own(place) | sink for place, sink in enumerate(sinks))))

    def _numbers(self) -> list[int]:
        return [each.end for each in self._serving.local if each.end is not None]

    def _sink_of(self, number: int) -> Sink[Any, Any]:
        end = self._plan.ends[number].what
        assert isinstance(end, Local)
        if end.takes is None or not end.takes.bare:
            return end.sink
        return (flow(lambda rows: rows.map(_unwrapped)) if end.numbered else unwrapped) | end.sink

    def _numbered(self) -> bool | frozenset[int]:
        """Tell whether rows come with their places; of several ends, which of them want it."""
        ends = [self._plan.ends[number].what for number in self._numbers()]
        found = {place for place, end in enumerate(ends) if isinstance(end, Local) and end.numbered}
        return bool(found) if len(ends) < 2 or not found else frozenset(found)

    # What the run asks for.

    def start(self) -> None:
        """Begin."""
        self._end.start()

    def results(self, result: Any) -> dict[int, Any]:
        """Return the results by the numbers of their ends."""
        if not self._local:
            return {self._sink: result}
        numbers = self._numbers()
        found = dict(zip(numbers, result, strict=True)) if len(numbers) > 1 else dict.fromkeys(numbers, result)
        return {**found, **self._serving.results}

    def stop(self) -> None:
        """End what does not end with its live sources, after its micro-batch."""
        self.at_work.stopping = True
        if self._ends:
            return
        if self.lives:
            self.at_work.start("penstock-query-stop", self._drain)
        else:
            self._stop()

    def _whole(self) -> bool:
        """Tell whether a query that ends with its streams has come to their end, or was to stop before."""
        return not self._ends or self.at_work.stopping or self.together.over

    def _drain(self) -> None:
        while not self.together.over and not self._exit.closed and self._running():
            if self._over.wait(_LOOK):
                return
        self._stop()

    def _running(self) -> bool:
        query = None if self._batches is None else self._batches.query
        return query is None or query.isActive

    def _stop(self) -> None:
        if isinstance(self._end, NativeEnd):
            self._end.stop()
        elif self._batches is None or not self._batches.now().batches or self._batches.query is None:
            self._exit.close()  # a batch, or a query whose first micro-batch is not yet through
        else:
            query = self._batches.query
            self.at_work.start("penstock-query-stop", self._stop_after, query)

    def _stop_after(self, query: Any) -> None:
        self.at_work.stopping = True
        try:
            stop_after_batch(query)
        except Exception as error:  # noqa: BLE001  this thread has no caller, so it is only logged
            drop("run: the query could not be stopped", error)
            self._exit.close()

    def cancel(self) -> None:
        """End at once."""
        self._over.set()
        if self._prepared:
            self._end.cancel()

    def progress(self) -> Progress:
        """Return how far it is."""
        found = self._batches.now() if self._batches is not None else Progress()
        return replace(found, rows_out=self._exit.rows) if self._local else found

    def rows_out(self) -> dict[int, int]:
        """Return how many rows have come to an end, by its number, where it is the only one of the query."""
        if not self._prepared:
            return {}
        numbers = self._numbers() if self._local else [self._sink]
        if len(numbers) != 1:
            return {}
        rows = self._exit.rows if self._local else 0 if self._batches is None else self._batches.now().rows_out
        return {numbers[0]: rows or 0}

    @property
    def committed(self) -> int | None:
        """Return how many rows of live sources Spark has committed, if it reads any."""
        return self.together.committed if self.lives else None

    def close(self) -> None:
        """Let go of everything."""
        self._over.set()
        if self._prepared:
            self._end.close()
            self._serving.let_go()


def _unwrapped(one: Numbered[Any]) -> Numbered[Any]:
    return replace(one, row=one.row[0])


def _own(place: int) -> Flow[Any, Any]:
    """Return what takes the elements of one end out of those of all."""
    return flow(lambda rows: rows.filter(of(place)).map(itemgetter(1)))


__all__ = ["Work"]
