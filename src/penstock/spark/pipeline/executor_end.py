"""executor_end: end a pipeline in sinks that run on the executors, one for each partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.flow import Sink
from penstock.spark.partitions.sinks import ExecutorWrite, MakeSink
from penstock.spark.pipeline.steps import spark_sink
from penstock.spark.wire.schema import Form


def executor_sink(
    make: MakeSink, *, rows: Form | None = None, done: Callable[[int, list[Any]], object] | None = None
) -> Sink[Any, Any]:
    """End a pipeline on the executors: each partition of each micro-batch in its own Sink, made by `make(part)`.

    `part` has `epoch`, `partition` and `attempt`: a task that is retried and a micro-batch that is repeated have the
    same epoch and partition, so a sink that replaces what stands under them has each row once. A sink is asked for no
    more than it asks. The result of a streaming run is the number of rows, that of a batch the results of the sinks in
    the order of the partitions; `done(epoch, results)` is told them in either case. Rows come in the form `rows`.
    """
    return spark_sink(ExecutorWrite(make, rows, done))


__all__ = ["executor_sink"]
