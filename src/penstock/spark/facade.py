"""facade: Spark, with everything that penstock does with a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from penstock.spark.partitions.batch import partitioned
from penstock.spark.session.connect import PARTS, refuse
from penstock.spark.session.held import HeldSession
from penstock.spark.stages.stage import stage
from penstock.spark.wire.schema import Described, Form, Schema

if TYPE_CHECKING:
    from penstock.flow import Flow, Pipeline
    from penstock.run import Plan, Run
    from penstock.spark.partitions.sinks import MakeSink
    from penstock.stream import Stream


class Spark(HeldSession):
    """A Spark session, owned or borrowed; everything penstock does with Spark starts here.

    `Spark()` runs embedded on all cores of this machine, `Spark(master=...)` on a cluster. `Spark(session=...)` borrows
    a session, which `close()` leaves running; `Spark(remote="sc://...")` connects to a Spark Connect server.
    The JVM starts from the archive of classes that `prepare()` has left, unless `class_cache` is false.
    """

    def frame(self, stream: Any, schema: Described, **options: Any) -> DataFrame:
        """Make a streaming DataFrame of a Stream or another Publisher."""
        from penstock.spark.ingest.frames import frame  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            options.setdefault("partitions", PARTS)
        return frame(self, stream, Schema.of(schema), **options)

    def stream(self, df: DataFrame, **options: Any) -> Stream[Any]:
        """Make a Stream of the rows of a DataFrame."""
        _ = self.session
        if self.is_remote:
            from penstock.spark.egress.remote import remote_stream  # noqa: PLC0415  few sessions are remote

            return remote_stream(df, **options)
        from penstock.spark.egress.streams import stream  # noqa: PLC0415  brings in Flight

        return stream(self, df, **options)

    def stage(
        self, flow: Flow[Any, Any], schema: Described, *, rows: Form | None = None
    ) -> Callable[[DataFrame], DataFrame]:
        """Return a DataFrame step that runs a Flow inside the executors: `df.transform(spark.stage(flow, schema))`.

        The Flow gets rows in the form `rows` ("named", "tuple" or a dataclass) and gives rows of `schema`.
        """
        _ = self.session
        return stage(flow, Schema.of(schema), rows=rows)

    def partitioned(
        self,
        partitions: Any,
        open: Callable[..., Any],  # noqa: A002  the word for it
        schema: Described,
        *,
        streaming: bool = False,
        **options: Any,
    ) -> DataFrame:
        """Make a DataFrame whose parts are Streams (or iterables) opened on the executors.

        A batch one has a partition for each of `partitions`, opened with `open(part)`. With `streaming`, parts are
        opened with `open(part, row)`, from a row on, and may come and go: then `partitions` may be a function that is
        called for each micro-batch. Its options: `latest(part)` says how far a part is, where that is known; `start`
        is the first row of a new part, or a function from the part to it; `commit(part, row)` is told what is
        committed; `live=False` says that the rows of a part are there, to its end; of a part at most `capacity` rows
        are read at a time, as many as take about `latency` seconds.
        """
        if streaming:
            from penstock.spark.partitions.stream import partitioned_stream  # noqa: PLC0415  brings in Flight

            _ = self.session
            return partitioned_stream(self, partitions, open, Schema.of(schema), **options)
        if options:
            raise TypeError(f"partitioned: {next(iter(options))} is for streaming=True, and this one is a batch")
        return partitioned(self.session, partitions, open, Schema.of(schema))

    def write(self, df: DataFrame, make: MakeSink, *, epoch: int = 0, rows: Form | None = None) -> list[Any]:
        """Write a batch DataFrame on the executors, each partition with the Sink that `make(part)` returns.

        The results of the sinks come back in the order of the partitions. `part` has `epoch`, `partition` and
        `attempt`; inside `foreachBatch` the epoch is the number of the micro-batch.
        """
        from penstock.spark.partitions.sinks import ExecutorWrite  # noqa: PLC0415  few write so

        _ = self.session
        if df.isStreaming:
            raise TypeError(
                "write: df must be a batch DataFrame, got a streaming one; end a pipeline in executor_sink(make),"
                " or call it inside foreachBatch"
            )
        return ExecutorWrite(make, rows).write(df, epoch)

    def flow(
        self,
        transform: Callable[[DataFrame], DataFrame],
        schema: Described,
        *,
        input_schema: Described | None = None,
        **options: Any,
    ) -> Flow[Any, Any]:
        """Make a Flow that sends a live stream through a DataFrame transformation and back.

        `schema` describes what comes out, `input_schema` what goes in, where that is another.
        """
        from penstock.spark.pipeline.processor import flow  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            raise refuse("spark.flow")
        takes = None if input_schema is None else Schema.of(input_schema)
        return flow(self, transform, Schema.of(schema), input_schema=takes, **options)

    def run(self, pipeline: Pipeline[Any], checkpoint: str | Path | None = None) -> Run[Any]:
        """Run a pipeline here; `pipeline.run(spark)` says the same."""
        from penstock.spark.pipeline.run import run  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            raise refuse("a pipeline")
        return run(self, pipeline, checkpoint)

    def explain(self, pipeline: Pipeline[Any]) -> Plan:
        """Say what of a pipeline would run where."""
        from penstock.spark.pipeline.run import explain  # noqa: PLC0415  brings in Flight

        return explain(pipeline, self._place)


__all__ = ["Spark"]
