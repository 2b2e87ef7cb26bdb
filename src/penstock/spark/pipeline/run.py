"""run: carry out the plan of a pipeline on Spark, under the control of its handle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from penstock.engine.words.dropped import drop
from penstock.flow import Pipeline
from penstock.run import InProcess, Plan, PlannedProgress, Progress, Run
from penstock.run.carrying.committing import check_told
from penstock.run.carrying.hidden import refuse_what_is_hidden
from penstock.run.result import Settle
from penstock.run.walking import Walk, all_of, walked
from penstock.spark.pipeline.build import Built
from penstock.spark.pipeline.checkpoint import check_writable, claim, is_spooled
from penstock.spark.pipeline.inlets import Entrance, Inlets
from penstock.spark.pipeline.modes import PlanError
from penstock.spark.pipeline.nodes import Live, SparkPlan
from penstock.spark.pipeline.plan import plan
from penstock.spark.pipeline.queries import Query, divided, output
from penstock.spark.pipeline.work import Work
from penstock.spark.session.held import HeldSession
from penstock.spark.versions.active_sessions import be_active
from penstock.spark.versions.callbacks import answered
from penstock.spark.wire.failure import without_jvm, without_trace
from penstock.spark.wire.places import folder, here
from penstock.spark.wire.storage import Folder

PATIENCE = 30.0
"""Seconds for what works for a run to end with it."""


def run(spark: HeldSession, pipeline: Pipeline[Any], checkpoint: str | Path | None) -> Run[Any]:
    """Start a pipeline on a session that stays open."""
    return _started(pipeline, lambda: spark, checkpoint, lambda _: None)


def explain(pipeline: Pipeline[Any], master: str) -> Plan:
    """Say what would run where."""
    found = plan(pipeline)
    return pipeline.explain() if found is None else found.described(master)


class Embedded:
    """An engine that starts Spark for one pipeline and closes it when the pipeline has ended."""

    def run(self, pipeline: Pipeline[Any], checkpoint: str | Path | None, /) -> Run[Any]:
        """Start Spark, then the pipeline."""
        return _started(pipeline, HeldSession, checkpoint, HeldSession.close, without_jvm)

    def explain(self, pipeline: Pipeline[Any], /) -> Plan:
        """Say what would run where."""
        found = plan(pipeline)
        assert found is not None  # it is asked for only by a part that needs Spark
        return found.described("local[*]")


def _started(
    pipeline: Pipeline[Any],
    open_spark: Callable[[], HeldSession],
    checkpoint: str | Path | None,
    close_spark: Callable[[HeldSession], None],
    told: Callable[[Exception], Exception] = without_trace,
) -> Run[Any]:
    """Start a pipeline; `told` makes what callers see of an error."""
    found = plan(pipeline)
    if found is None:
        if checkpoint is not None:
            raise ValueError(
                "run: checkpoint: this pipeline has nothing that Spark could do; run it in this process, with"
                " run(checkpoint=...) and no Spark"
            )
        return Run(InProcess(pipeline._chain, pipeline._parts))
    if checkpoint is not None:
        place = here(checkpoint, "run: checkpoint")  # before Spark starts
        for source in found.sources:
            if isinstance(source, Live):
                is_spooled(source)  # refuses here what could not be restarted
        check_writable(place)
    return Run(OnSpark(found, open_spark, checkpoint, close_spark, told))


class OnSpark:
    """One run of a plan on Spark: one query, or several that begin and end together."""

    def __init__(
        self,
        found: SparkPlan,
        open_spark: Callable[[], HeldSession],
        checkpoint: str | Path | None,
        close_spark: Callable[[HeldSession], None],
        told: Callable[[Exception], Exception] = without_trace,
    ) -> None:
        self._told = told
        self._plan = found
        self._open_spark = open_spark
        self._close_spark = close_spark
        self._given = checkpoint
        self._checkpoint: Folder | None = None
        self._entries = {at: Entrance() for at, node in enumerate(found.nodes) if isinstance(node.work, Live)}
        self._inlets = Inlets(found, self._entries)
        self._order = found.order()
        self._links: tuple[tuple[str, str], ...] = ()
        self._lock = threading.Lock()
        self._spark: HeldSession | None = None
        self._works: list[Work] = []
        self._reads: list[set[int]] = []
        """The live sources that each of them reads."""
        self._ready = False
        """Whether the queries can be started, stopped and cancelled."""
        self._ended = 0
        self._results: dict[int, Any] = {}
        self._stopped = self._cancelled = False
        self._well = False
        """Whether it has come to a result."""

    # What the handle asks for.

    def start(self, settle: Settle, /) -> None:
        """Start Spark if need be, build the DataFrames and run what takes them."""
        try:
            self._start(lambda result, error: settle(result, None if error is None else self._told(error)))
        except Exception as error:
            if (seen := self._told(error)) is error:
                raise
            raise seen from None

    def _start(self, settle: Settle) -> None:
        spark = self._spark = self._open_spark()
        be_active(spark.session)
        self._links = _links_of(spark)
        refuse_what_is_hidden()
        self._inlets.context = copy_context()
        if self._given is not None:
            self._checkpoint = folder(self._given, spark.session, "run: checkpoint")
        works = self._made(spark, settle)
        with self._lock:
            self._ready = True
            stopped, cancelled = self._stopped, self._cancelled
        if stopped:
            self.stop()
        if cancelled:
            return
        for work in works:
            work.at_work.start("penstock-query-start", copy_context().run, self._begin, work, settle)

    def _begin(self, work: Work, settle: Settle) -> None:
        try:
            with answered():
                work.start()
        except Exception as error:  # noqa: BLE001  it is delivered
            self._settled(settle, work, None, error)

    def _made(self, spark: HeldSession, settle: Settle) -> list[Work]:
        """Build the DataFrames and divide the ends into queries; several of them share the live sources."""
        works = [Work(spark, self._plan, 0, self._checkpoint, self._goes_on)]
        built = Built(self._plan, spark.session, self._inlets.opened(spark, works[0]), works[0].together.doors)
        queries = divided(built)
        streams = any(built.frame(at).isStreaming for query in queries for at in query.cuts)
        if self._checkpoint is not None:
            if not streams:
                raise ValueError("run: checkpoint is for streaming DataFrames, and this one is a batch")
            claim(self._checkpoint, built, [output(built, query) for query in queries])
        builts = [built]
        self._reads = [self._read(query) for query in queries]
        if len(queries) > 1:
            self._inlets.close()  # they were opened to see what there is to do
            works = [Work(spark, self._plan, at, self._checkpoint, self._goes_on) for at in range(len(queries))]
            self._inlets.share(self._reads, apart=self._checkpoint is not None)
            builts = [
                Built(self._plan, spark.session, self._inlets.opened(spark, each), each.together.doors)
                for each in works
            ]
        self._works = works  # from now on they are closed with the run
        for work, each, query, read in zip(works, builts, queries, self._reads, strict=True):
            work.prepare(each, query, partial(self._settled, settle, work))
            if len(works) > 1 and self._checkpoint is None and work.lives > len(read):
                raise PlanError(
                    "run: a live stream that several queries share is read twice by one of them, as by a join with"
                    " itself; let all branches end in this process or in also(write), so that there is one query"
                )
        return works

    def _read(self, query: Query) -> set[int]:
        """Return the live sources that a query reads."""
        waiting, found = list(query.cuts), set()
        while waiting:
            at = waiting.pop()
            waiting.extend(self._plan.nodes[at].inputs)
            if at in self._entries:
                found.add(at)
        return found

    def _goes_on(self) -> bool:
        """Tell whether another run is to go on with what is open now."""
        return self._stopped and self._checkpoint is not None

    def _settled(self, settle: Settle, work: Work, result: Any, error: Exception | None) -> None:
        """Take the results of one query; the first failure ends the others."""
        if error is not None:
            settle(None, error)
            for each in self._works:
                if each is not work:
                    each.cancel()
            return
        with self._lock:
            self._results.update(work.results(result))
            self._ended += 1
            whole = self._ended == len(self._works)
        if whole:
            self._well = True
            settle(walked(_put_together(self._plan.result, self._results)), None)

    def stop(self) -> None:
        """End the live sources, whose rows go on to the end; a query of Spark ends after its micro-batch."""
        with self._lock:
            self._stopped = True
            works = list(self._works) if self._ready else []
        for entry in self._entries.values():
            entry.close()
        for work in works:
            work.stop()

    def cancel(self) -> None:
        """End all queries at once."""
        with self._lock:
            self._cancelled = True
            works = list(self._works) if self._ready else []
        for work in works:
            work.cancel()

    def progress(self) -> Progress:
        """Return what the valves have counted and what Spark says."""
        reports = [work.progress() for work in self._works if self._ready]
        found = Progress() if not reports else _summed(reports)
        if len(self._entries) == len(self._plan.sources):
            entries = self._entries.values()
            rows, demand = sum(entry.rows for entry in entries), sum(entry.demand for entry in entries)
            found = replace(found, rows_in=rows, demand=demand, lag=self._lag(found))
        return replace(found, parts=tuple(self._parts(found.lag)), links=self._links)

    def _parts(self, lag: int | None) -> Iterator[PlannedProgress]:
        """Return what is counted at the live sources and at the ends of this process."""
        (nodes, ends), _ = self._order
        done = [work.committed for work in self._works if work.committed is not None]
        for at, entry in self._entries.items():
            live = self._plan.nodes[at].work
            assert isinstance(live, Live)
            behind = lag if lag is not None else entry.rows - min(done, default=0)
            held = None if len(self._entries) > 1 else max(0, behind)
            yield PlannedProgress(nodes[at], entry.rows, entry.demand, held, live.entry.capacity)
        for work in self._works if self._ready else ():
            for number, rows in work.rows_out().items():
                yield PlannedProgress(ends[number], rows)

    def explain(self) -> Plan:
        """Return what runs where."""
        return self._plan.described("being started" if self._spark is None else self._spark._place)

    def _lag(self, found: Progress) -> int | None:
        """Return by how many rows the slowest query is behind the sources that it reads; None before the first."""
        if self._well or found.batches is None:
            return 0 if self._well else None
        behind = [
            sum(self._entries[at].rows for at in read) - work.committed
            for work, read in zip(self._works, self._reads, strict=True)
            if work.committed is not None
        ]
        return max(0, *behind) if behind else None

    def close(self) -> None:
        """Let go of the sources, behind the last thing that they are told, and of Spark if it was started for this.

        First all queries end: one that goes on beside its run would meet the next run from the same checkpoint.
        """
        self._end_all()
        for work in self._works:
            work.close()
        failures = [error for work in self._works for error in work.together.close()]
        self._inlets.close()
        if self._spark is not None:
            self._close_spark(self._spark)
        if self._well:
            check_told(failures)
        for error in failures:
            drop("run: a source could not be told what is done at the end", error)

    def _end_all(self) -> None:
        """Wait until nothing works for this run any more; where it has failed or was cancelled, it is ended first."""
        if not self._well:
            for work in self._works:
                work.cancel()
        until = time.monotonic() + PATIENCE
        for number, work in enumerate(self._works, 1):
            if not work.at_work.wait(until - time.monotonic()):
                which = f"query {number} of {len(self._works)}"
                drop(f"run: it is over, and a query of it has not ended within {PATIENCE:g} seconds", None, which)


def _links_of(spark: HeldSession) -> tuple[tuple[str, str], ...]:
    """Return where Spark shows what it does, if it does."""
    address = None if spark.is_remote else spark.session.sparkContext.uiWebUrl
    if not address:
        return ()
    return (("Spark's jobs", f"{address}/jobs/"), ("Spark's queries", f"{address}/StreamingQuery/"))


def _put_together(shape: Any, results: dict[int, Any]) -> Walk[Any]:
    if not isinstance(shape, tuple):
        return results[shape]
    return tuple((yield all_of(_put_together(each, results) for each in shape)))


def _summed(reports: list[Progress]) -> Progress:
    """Return the progress of several queries as one: rows out of all, and the slowest micro-batch."""
    out = [each.rows_out for each in reports if each.rows_out is not None]
    batches = [each.batches for each in reports if each.batches is not None]
    seconds = [each.batch_seconds for each in reports if each.batch_seconds is not None]
    kept = [each.state_rows for each in reports if each.state_rows is not None]
    return Progress(
        queries=tuple(query for each in reports for query in each.queries),
        rows_in=max(each.rows_in for each in reports),
        rows_out=sum(out) if out else None,
        batches=sum(batches) if batches else None,
        batch_seconds=max(seconds) if seconds else None,
        state_rows=sum(kept) if kept else None,
        watermark=min((each.watermark for each in reports if each.watermark is not None), default=None),
    )


__all__ = ["Embedded", "OnSpark", "explain", "run"]
