"""ending: the last part of a pipeline on Spark: a sink of this process, or one of Spark."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any, Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.watching.observe import observed
from penstock.engine.words.dropped import drop
from penstock.run.result import ResultSubscriber, Settle
from penstock.run.watchers import RunPart, current_run
from penstock.spark.egress.at_work import AtWork, StoppedElsewhereError
from penstock.spark.egress.draining import cause_of, stop_after_batch, stop_now
from penstock.spark.egress.microbatch import default_trigger
from penstock.spark.egress.task_failures import TaskFailures, raised_here, report_to
from penstock.spark.pipeline.modes import PlanError, refuse_mode
from penstock.spark.pipeline.progress import Batches
from penstock.spark.pipeline.steps import SparkSink, called
from penstock.spark.session.held import HeldSession
from penstock.spark.versions.callbacks import let_go, noticed
from penstock.spark.versions.listener_buses import forget_listener
from penstock.spark.versions.planner_threads import query_ended
from penstock.spark.versions.query_ends import end_with_streams, start
from penstock.spark.wire import failure
from penstock.spark.wire.gate import DoorCall, GateError, Message
from penstock.spark.wire.storage import Folder

POLL_SECONDS = 1
PATIENCE = 10.0
"""Seconds for a query to end whose session is being closed."""
_LOOK = 0.05  # seconds between two cancels of what has not yet begun


class Ending(Protocol):
    """The end of a run on Spark."""

    def start(self) -> None:
        """Begin; the outcome may come later."""
        ...

    def cancel(self) -> None:
        """End at once."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class LocalEnd:
    """A sink of this process, over rows that come back."""

    def __init__(self, chain: Chain, places: tuple[int, ...], settle: Settle) -> None:
        self._chain = chain
        self._places = places
        """The places of its sinks in the plan."""
        self._result = ResultSubscriber(str(chain), settle)

    def start(self) -> None:
        connect(observed(self._chain, RunPart(current_run(), self._places)), self._result)

    def cancel(self) -> None:
        self._result.cancel()

    def close(self) -> None:
        """Do nothing: the subscription has ended."""


class _Reporting:
    """The door by which tasks report their exceptions, and the end hears that the session is being closed."""

    def __init__(self, hear: Callable[[Message], None], closing: Callable[[], None]) -> None:
        self._hear = hear
        self._closing = closing

    def act(self, call: DoorCall, verb: str, body: Message, /) -> Message:
        if verb != "failed":
            raise GateError(f"run: unknown verb {verb!r}")
        self._hear(body)
        return {}

    def get(self, body: Message, /) -> Any:
        raise GateError("run: there is nothing to read here")

    def put(self, body: Message, reader: Any, writer: Any, /) -> None:
        raise GateError("run: nothing is to be written here")

    def close(self) -> None:
        self._closing()


class NativeEnd:
    """A sink of Spark: a query, or one write of a batch."""

    def __init__(
        self,
        spark: HeldSession,
        frame: DataFrame,
        sink: SparkSink,
        checkpoint: Folder | None,
        batches: Batches | None,
        mode: str | None,
        settle: Settle,
        at_work: AtWork,
    ) -> None:
        self._gate = spark.gate
        self._at_work = at_work
        self._frame = frame
        self._sink = sink
        self._checkpoint = checkpoint
        self._batches = batches
        self._mode = mode
        self._settle = settle
        self._context = spark.session.sparkContext
        self._tag = f"penstock-{secrets.token_hex(6)}"
        self._reports = TaskFailures(self._context, self._failed)
        self._address = self._gate.admit(_Reporting(self._reports.hear, self._session_closing))
        self._lock = threading.Lock()
        self._query: StreamingQuery | None = None
        self._begun = self._over = self._cancelled = False
        self._ended = threading.Event()

    def start(self) -> None:
        with self._lock:
            self._begun = not self._cancelled
        if self._begun:
            try:
                self._work()
            finally:
                self._ended.set()

    def _work(self) -> None:
        try:
            report_to(self._context, self._address)
            self._context.addJobTag(self._tag)
            if self._frame.isStreaming:
                self._settle(self._streamed(), None)
            else:
                self._settle(self._written(), None)
        except Exception as error:  # noqa: BLE001  it is delivered
            found = self._reports.last or cause_of(self._context, failure.original(error))
            if isinstance(found, failure.StoppedShortError):
                self._settle(self._counted(), None)
            else:
                self._settle(None, found)

    def stop(self) -> None:
        """End the query after the micro-batch that runs, or the write at once."""
        with self._lock:
            self._over = True
            begun = self._begun
        if begun:
            self._at_work.start("penstock-query-stop", self._ending, stop_after_batch)

    def cancel(self) -> None:
        with self._lock:
            before, self._over, self._cancelled = self._cancelled, True, True
            begun = self._begun
        if begun and not before and not self._ended.is_set():
            self._at_work.start("penstock-query-stop", self._ending, stop_now)

    def close(self) -> None:
        self._gate.dismiss(self._address)

    def _failed(self, error: Exception) -> None:
        self._settle(None, error)
        self.cancel()

    def _session_closing(self) -> None:
        """End before the streams that the query reads are let go of, and the session with them."""
        self._settle(None, GateError("run: the Spark session was closed"))
        self.cancel()
        if self._begun:
            self._ended.wait(PATIENCE)

    def _ending(self, stop: Callable[[StreamingQuery], None]) -> None:
        try:
            cancels = stop is stop_now or not self._frame.isStreaming  # else jobs that make the query go on
            while self._query is None and not self._ended.is_set():
                if cancels:
                    self._context.cancelJobsWithTag(self._tag)  # a job may also begin after this: hence the loop
                self._ended.wait(_LOOK)
            if self._query is not None:
                stop(self._query)
        except Exception as error:  # noqa: BLE001  this thread has no caller, so it is only logged
            drop("run: the query could not be stopped", error)

    def _written(self) -> Any:
        if self._checkpoint is not None:
            raise ValueError("run: checkpoint is for streaming DataFrames, and this one is a batch")
        made = called(self._sink, self._frame)
        if not isinstance(made, DataFrameWriter):
            return made
        made.save()
        return None

    def _streamed(self) -> int:
        with noticed(self._context):
            made = called(self._sink, self._frame)
        if isinstance(made, DataStreamWriter):
            if self._mode is not None:
                made = made.outputMode(self._mode)
            if self._checkpoint is not None:
                made = made.option("checkpointLocation", self._checkpoint.location)
            trigger = default_trigger(self._frame)
            if self._cancelled:
                return 0  # to start it would stop the query of another run that goes on from this checkpoint
            try:
                with raised_here(self._context):
                    made = start(made, trigger, self._frame, self._gate.ended)
            except AnalysisException as error:
                refuse_mode(self._frame, error)
                if self._checkpoint is None and "checkpointLocation" in str(error):
                    raise PlanError(
                        "run: this sink of Spark's writes down what it has in a checkpoint: run(spark,"
                        " checkpoint=folder)"
                    ) from None
                raise
        elif isinstance(made, StreamingQuery):
            self._check_started(made)
        else:
            raise TypeError(f"spark_sink: the function must return df.writeStream... or a query, got {made!r}")
        with self._lock:
            self._query = made
            over = self._over
        if over:
            stop_now(made)
        assert self._batches is not None
        self._batches.query = made
        try:
            while not made.awaitTermination(POLL_SECONDS):
                self._batches.look()
        finally:
            let_go(made)
            forget_listener(self._context, made)
            query_ended(self._context)
        if not self._over and not self._at_work.whole():
            raise StoppedElsewhereError
        return self._counted()

    def _counted(self) -> int:
        """Return how many rows the query has written."""
        assert self._batches is not None
        self._batches.look()
        return self._batches.now().rows_out or 0

    def _check_started(self, query: StreamingQuery) -> None:
        """Let a query that the function has started itself end with its streams; refuse it where it is too late."""
        if self._checkpoint is not None:
            stop_now(query)
            raise TypeError(
                "spark_sink: the function has started the query, which therefore has not got the checkpoint of the run;"
                " return the writer without start()"
            )
        if default_trigger(self._frame):
            end_with_streams(query, self._frame, self._gate.ended)
