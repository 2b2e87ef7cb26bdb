"""sinks: each partition of a DataFrame ends in a Sink that runs on its executor; only the results come back.

A partition is known by its epoch (the number of the micro-batch; 0 for a batch DataFrame) and its number. A task that
is retried and a micro-batch that is repeated have the same, with the same rows, as far as Spark's own plan repeats
itself. So a sink that replaces what stands under (epoch, partition) has each row once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext, cloudpickle
from pyspark.util import InheritableThread

from penstock.engine.doors.iterate import value
from penstock.engine.places.executors import thread
from penstock.engine.runs.wiring import pull
from penstock.engine.weaving.blame import add_note, function_name
from penstock.engine.words.arguments import function_given
from penstock.flow import Sink
from penstock.spark.egress.task_failures import OURS
from penstock.spark.partitions.batch import check_pickles
from penstock.spark.versions.callbacks import STOPPED, BatchCall, CallEndedError
from penstock.spark.wire.failure import KEPT, original, report
from penstock.spark.wire.packing import RecordBatches
from penstock.spark.wire.schema import Form, Schema, addressed
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_RESULT = pa.schema([("partition", pa.int32()), ("result", pa.binary())])
_RESULT_DDL = "partition int, result binary"


@dataclass(frozen=True, slots=True)
class SinkPart:
    """What a Sink on an executor writes: a partition of a micro-batch, and which attempt this is."""

    epoch: int
    partition: int
    attempt: int


MakeSink: TypeAlias = "Callable[[SinkPart], Sink[Any, Any]]"
"""A function from a partition to the Sink that takes its rows; it is called on the executor."""


@dataclass(frozen=True, slots=True)
class ExecutorWrite:
    """A function that ends a DataFrame, batch or streaming, in sinks on the executors."""

    make: MakeSink
    rows: Form | None = None
    done: Callable[[int, list[Any]], object] | None = None
    """Told, in the driver, the epoch and the results of its sinks, in the order of the partitions."""

    def __post_init__(self) -> None:
        function_given("executor_sink", "make", self.make)
        if self.done is not None:
            function_given("executor_sink", "done", self.done)
        check_pickles(self.make, f"make ({function_name(self.make)})", "executor_sink")

    def __call__(self, frame: DataFrame) -> list[Any] | DataStreamWriter:
        """Write a batch and return the results, or return the writer of a streaming DataFrame, not started."""
        if not frame.isStreaming:
            return self.write(frame, 0)
        Schema.of(frame.schema).reader(self.rows)  # refuses a form that does not fit here, instead of in a task
        return frame.writeStream.foreachBatch(BatchCall(self._epoch))

    def _epoch(self, frame: DataFrame, epoch: int) -> None:
        try:
            self.write(frame, epoch)
        except Exception as error:  # noqa: BLE001  it is raised where the query is waited for
            found = error
        else:
            return
        # Spark looks for something in what is raised here, and a long text lets its stack overflow.
        kept = KEPT.keep(secrets.token_hex(8), found)
        raise CallEndedError(f"executor_sink: micro-batch {epoch} has failed ({kept})\n{STOPPED}")

    def write(self, frame: DataFrame, epoch: int) -> list[Any]:
        """Write one batch and return the results of its sinks, in the order of the partitions."""
        ending = sink_function(self.make, Schema.of(frame.schema), self.rows, epoch)
        found = _collected(addressed(frame).mapInArrow(ending, _RESULT_DDL))
        results = [cloudpickle.loads(row.result) for row in sorted(found, key=lambda row: row.partition)]
        if self.done is not None:
            self.done(epoch, results)
        return results


def _collected(frame: DataFrame) -> list[Any]:
    """Collect a DataFrame by a job on another thread, and raise what is behind Spark's exception.

    What a query's function calls runs in the JVM on the thread of the query, which Spark interrupts when it stops the
    query. That breaks the connection, also for a question about the exception, and py4j logs it.
    """
    found: list[list[Any]] = []
    raised: list[Exception] = []

    def work() -> None:
        context: Any = getattr(frame.sparkSession, "_sc", None)  # a client of Connect has none
        if context is not None:
            context.setLocalProperty(OURS, "1")  # of this thread alone, and of its job
        try:
            found.append(frame.collect())
        except Exception as error:  # noqa: BLE001  it is raised by the thread that waits
            raised.append(original(error))

    # It takes over what Spark knows of this thread: the query that may cancel its jobs, and where tasks report.
    job = InheritableThread(target=work, name="penstock-executor-sink", daemon=True)
    job.start()
    job.join()
    if raised:
        raise raised.pop()
    return found[0]


def sink_function(
    make: MakeSink, schema: Schema, rows: Form | None, epoch: int
) -> Callable[[RecordBatches], RecordBatches]:
    """Return a function for mapInArrow that runs a Sink over the rows of a partition and gives its result."""
    reader = schema.reader(rows)  # here, where the hints of a class of rows can be read

    def run(batches: RecordBatches) -> RecordBatches:
        context = TaskContext.get()
        assert context is not None
        part = SinkPart(epoch, context.partitionId(), context.attemptNumber())
        try:
            result = cloudpickle.dumps(ended(make, part, chain.from_iterable(map(reader, batches))))  # type: ignore[no-untyped-call]
        except Exception as error:
            add_note(error, f"in epoch {epoch}, partition {part.partition}, attempt {part.attempt}")
            report(error)  # Spark itself may take long to tell
            raise
        yield pa.RecordBatch.from_arrays(
            [pa.array([part.partition], pa.int32()), pa.array([result], pa.binary())], schema=_RESULT
        )

    return run


def ended(make: MakeSink, part: SinkPart, rows: Any) -> Any:
    """Run the Sink of a partition over its rows, as it asks for them, and return its result."""
    sink = make(part)
    if not isinstance(sink, Sink):
        raise TypeError(f"executor_sink: make must return a Sink, got {sink!r}")
    whole = sink.follow(Stream.from_iterable(rows))._chain
    if pull(whole) is None:
        # Asking for a row may have to wait for Spark's next batch, and an event loop must not wait.
        whole = sink.follow(Stream.from_iterable(rows).subscribe_on(thread("penstock-rows")))._chain
    return value(whole)


__all__ = ["ExecutorWrite", "MakeSink", "SinkPart", "ended", "sink_function"]
