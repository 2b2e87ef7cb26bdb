"""run: carry out the plan of a pipeline on Spark, under the control of its handle."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.graft import graft
from penstock.engine.words.dropped import drop
from penstock.flow import Hole, Pipeline
from penstock.run import InProcess, Plan, Progress, Run, Valve, Valved
from penstock.run.result import Settle
from penstock.spark.egress.batch_write import each_of
from penstock.spark.egress.draining import stop_after_batch
from penstock.spark.egress.numbering import Numbered
from penstock.spark.egress.streams import stream
from penstock.spark.ingest.frames import frame, retire
from penstock.spark.pipeline.checkpoint import QUERY, SPOOL, claim, is_spooled
from penstock.spark.pipeline.ending import Ending, LocalEnd, NativeEnd
from penstock.spark.pipeline.plan import Executed, Live, Local, PlanError, SparkPlan, plan, shaped, unwrapped
from penstock.spark.pipeline.progress import Batches
from penstock.spark.session.held import HeldSession
from penstock.spark.stages.stage import stage
from penstock.spark.wire.places import folder, here
from penstock.spark.wire.schema import Schema
from penstock.spark.wire.storage import Folder
from penstock.stream import Stream


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
        return _started(pipeline, HeldSession, checkpoint, HeldSession.close)

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
) -> Run[Any]:
    found = plan(pipeline)
    if found is None:
        if checkpoint is not None:
            raise ValueError("run: checkpoint is for pipelines on Spark, and this one has nothing that Spark could do")
        return Run(InProcess(pipeline._chain))
    if checkpoint is not None:
        here(checkpoint, "run: checkpoint")  # before Spark starts
        if isinstance(found.source, Live):
            is_spooled(found.source)  # refuses here what could not be restarted
    return Run(OnSpark(found, open_spark, checkpoint, close_spark))


class OnSpark:
    """One run of a plan on Spark."""

    def __init__(
        self,
        found: SparkPlan,
        open_spark: Callable[[], HeldSession],
        checkpoint: str | Path | None,
        close_spark: Callable[[HeldSession], None],
    ) -> None:
        self._plan = found
        self._open_spark = open_spark
        self._close_spark = close_spark
        self._given = checkpoint
        self._checkpoint: Folder | None = None
        self._entry, self._exit = Valve(), Valve()
        self._lock = threading.Lock()
        self._spark: HeldSession | None = None
        self._batches: Batches | None = None
        self._end: Ending | None = None
        self._stopped = self._cancelled = False
        self._leave: Callable[[], None] = lambda: None
        """Lets the gate forget the live source."""
        self._well = False
        """Whether it has come to a result."""

    # What the handle asks for.

    def start(self, settle: Settle, /) -> None:
        """Start Spark if need be, build the DataFrame and run its end."""

        def ended(result: Any, error: Exception | None) -> None:
            self._well = error is None
            settle(result, error)

        spark = self._spark = self._open_spark()
        if self._given is not None:
            self._checkpoint = folder(self._given, spark.session, "run: checkpoint")
        df = self._built(spark)
        if df.isStreaming and self._checkpoint is not None:
            claim(self._checkpoint, self._plan, df)
        if df.isStreaming:
            name = f"penstock_{secrets.token_hex(6)}"
            df = _counted(df, name)
            self._batches = Batches(spark.session, name)
        end: Ending = (
            LocalEnd(self._returned(spark, df), ended)
            if isinstance(self._plan.end, Local)
            else NativeEnd(spark, df, self._plan.end, self._query_folder(), self._batches, ended)
        )
        with self._lock:
            self._end = end
            stopped, cancelled = self._stopped, self._cancelled
        if stopped:
            self.stop()
        if not cancelled:
            end.start()

    def stop(self) -> None:
        """End the live source, whose rows go on to the end; a query of Spark ends after its micro-batch."""
        with self._lock:
            self._stopped = True
            end = self._end
        if isinstance(self._plan.source, Live):
            self._entry.close()
        elif isinstance(end, NativeEnd):
            end.stop()
        elif self._batches is None or not self._batches.now().batches or self._batches.query is None:
            self._exit.close()  # a batch, or a query whose first micro-batch is not yet through
        else:
            query = self._batches.query
            threading.Thread(target=self._drain, args=(query,), name="penstock-query-stop", daemon=True).start()

    def _drain(self, query: Any) -> None:
        try:
            stop_after_batch(query)
        except Exception as error:  # noqa: BLE001  this thread has no caller, so it is only logged
            drop("run: the query could not be stopped", error)
            self._exit.close()

    def cancel(self) -> None:
        """End the query at once."""
        with self._lock:
            self._cancelled = True
            end = self._end
        if end is not None:
            end.cancel()

    def progress(self) -> Progress:
        """Return what the valves have counted and what Spark says."""
        live, local = isinstance(self._plan.source, Live), isinstance(self._plan.end, Local)
        found = self._batches.now() if self._batches is not None else Progress()
        if local:
            found = replace(found, rows_out=self._exit.rows)
        if live:
            rows = self._entry.rows
            behind = 0 if self._well else None if found.batches is None else max(0, rows - found.rows_in)
            found = replace(found, rows_in=rows, demand=self._entry.demand, lag=behind)
        return found

    def close(self) -> None:
        """Close Spark if it was started for this run."""
        if self._end is not None:
            self._end.close()
        self._leave()
        if self._spark is not None:
            self._close_spark(self._spark)

    # From the plan to a DataFrame.

    def _query_folder(self) -> Folder | None:
        return None if self._checkpoint is None else self._checkpoint / QUERY

    def _built(self, spark: HeldSession) -> DataFrame:
        source = self._plan.source
        if isinstance(source, Live):
            through = partial(_valved, self._entry)
            self._leave = partial(retire, spark.gate, through)
            spooled = self._checkpoint is not None and is_spooled(source)
            entry = source.entry
            df = frame(
                spark,
                source.stream,
                source.schema,
                capacity=entry.capacity,
                latency=entry.latency,
                spool=self._checkpoint / SPOOL if spooled and self._checkpoint is not None else None,
                dead_letter=entry.dead_letter,
                again=entry.said,
                through=through,
            )
        else:
            df = _frame_given("spark_source", source.fn(spark.session))
        for step in self._plan.steps:
            if isinstance(step, Executed):
                _fits(step, df)
                flow, form = shaped(step)
                df = df.transform(stage(flow, step.gives.schema, rows=form))
            else:
                df = _frame_given("frame", step.fn(df))
        return df

    def _returned(self, spark: HeldSession, df: DataFrame) -> Chain:
        """Return the chain from the DataFrame's rows to the result."""
        end = self._plan.end
        assert isinstance(end, Local)
        kept = self._query_folder() if df.isStreaming else None
        if self._checkpoint is not None and not df.isStreaming:
            raise ValueError("run: checkpoint is for streaming DataFrames, and this one is a batch")
        rows: Any = None if end.takes is None else end.takes.form
        write = each_of(tuple(step.fn for step in end.also))
        found = stream(spark, df, rows=rows, checkpoint=kept, also=write, numbered=end.numbered)
        found = Stream(Chain(Valved(found._chain, self._exit, iterates=False)))
        if end.takes is not None and end.takes.bare:
            found = found.map(_unwrapped) if end.numbered else found | unwrapped
        return graft(end.sink._chain, lambda source: found._chain if isinstance(source, Hole) else None)


def _unwrapped(one: Numbered[Any]) -> Numbered[Any]:
    return replace(one, row=one.row[0])


def _valved(valve: Valve, opened: Stream[Any]) -> Stream[Any]:
    return Stream(Chain(Valved(opened._chain, valve, iterates=False)))


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


def _counted(df: DataFrame, name: str) -> DataFrame:
    """Let Spark count the rows of each micro-batch, under a name by which the query can be known."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    return df.observe(name, f.count(f.lit(1)).alias("rows"))
