"""facade: Spark, with everything that penstock does with a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame

from penstock.spark.partitions.batch import partitioned
from penstock.spark.session.connect import PARTS, refuse
from penstock.spark.session.held import HeldSession
from penstock.spark.stages.stage import stage
from penstock.spark.wire.schema import Described, Form, Schema

if TYPE_CHECKING:
    from penstock.engine.places.clocks import Clock
    from penstock.flow import Flow, Pipeline, Sink
    from penstock.run import Plan, Run
    from penstock.spark.egress.batch_write import Write
    from penstock.spark.ingest.letters import Rejected
    from penstock.spark.ingest.supply import SaidAgain
    from penstock.spark.partitions.sinks import MakeSink
    from penstock.spark.wire.places import NamedFolder
    from penstock.spec.interfaces import Publisher
    from penstock.stream import Stream


class Spark(HeldSession):
    """A Spark session, owned or borrowed; everything penstock does with Spark starts here.

    `Spark()` runs embedded on all cores of this machine, `Spark(master=...)` on a cluster. `Spark(session=...)` borrows
    a session, which `close()` leaves running; `Spark(remote="sc://...")` connects to a Spark Connect server.
    The JVM starts from the archive of classes that `prepare()` has left, unless `class_cache` is false.

    `app` is the name of the application, `conf` what Spark is configured with, `py_files` are sent to the executors,
    `ui` starts Spark's pages, and `tls` says how what leaves this machine is kept secret.
    """

    def frame(
        self,
        stream: Publisher[Any] | Callable[[int], Publisher[Any]],
        schema: Described,
        *,
        capacity: int = 100_000,
        latency: float = 1.0,
        partitions: int | None = None,
        spool: NamedFolder | None = None,
        dead_letter: Sink[Rejected, Any] | None = None,
        again: SaidAgain | None = None,
        clock: Clock | None = None,
    ) -> DataFrame:
        """Make a streaming DataFrame of a Stream or another Publisher.

        Elements are rows (tuples, dicts, dataclasses) or Arrow record batches. A query that is started again from its
        checkpoint goes on where it was, if the stream is a function, resumable or gives the same again.

        Args:
            stream: The stream, or a function from a row's number to the publisher from there on.
            schema: What a row is: a dataclass, a Schema, Arrow's or Spark's, or a text such as `"name string, n long"`.
            capacity: How many rows beyond Spark's last commit are asked for, and held, at most.
            latency: About how many seconds one micro-batch is to take; so large it is made.
            partitions: How many partitions a micro-batch has; as many as Spark has cores if not said.
            spool: A folder, by a path or a URI that Hadoop knows, for what was taken and is not yet committed, so that
                it is not asked for again.
            dead_letter: A sink for rows that do not fit the schema; without it they fail the stream.
            again: What another run of the stream gives, where that is not known: `"same"`, or what comes `"later"`.
            clock: Where the time for `latency` comes from.

        Raises:
            TypeError: `stream` is not a publisher, or `dead_letter` not a Sink.
            ValueError: `capacity` or `partitions` is below 1, or `latency` is not above 0.
            SchemaError: `schema` says nothing that Spark has.
        """
        from penstock.spark.ingest.frames import frame  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote and partitions is None:
            partitions = PARTS
        return frame(
            self,
            stream,
            Schema.of(schema),
            capacity=capacity,
            latency=latency,
            partitions=partitions,
            spool=spool,
            dead_letter=dead_letter,
            again=again,
            **_said(clock=clock),
        )

    def stream(
        self,
        df: DataFrame,
        *,
        rows: Form | Literal["arrow"] | None = None,
        ahead: int | None = None,
        checkpoint: NamedFolder | None = None,
        trigger: Mapping[str, Any] | None = None,
        also: Write | None = None,
        numbered: bool = False,
    ) -> Stream[Any]:
        """Make a Stream of the rows of a DataFrame, batch or streaming.

        Args:
            df: The DataFrame.
            rows: The form of rows: `"named"` tuples if not said, `"tuple"`, a dataclass, or `"arrow"` for record
                batches.
            ahead: How many batches of rows of each task are on their way or wait here at most; 2 if not said.
            checkpoint: A folder that remembers which micro-batches of a streaming DataFrame were delivered.
            trigger: What Spark's own `trigger` takes, for a streaming DataFrame.
            also: Called with each micro-batch and its number, before its rows are delivered, to write it; a batch
                DataFrame is given whole, as number 0.
            numbered: Whether each row of a streaming DataFrame comes with its micro-batch and its number in it, as a
                `Numbered`.

        Raises:
            TypeError: An option is for a streaming DataFrame, and this one is a batch.
            SparkLimitError: The session is one of Spark Connect, which cannot do that.
        """
        _ = self.session
        options = _said(
            rows=rows, ahead=ahead, checkpoint=checkpoint, trigger=trigger, also=also, numbered=numbered or None
        )
        if self.is_remote:
            from penstock.spark.egress.remote import remote_stream  # noqa: PLC0415  few sessions are remote

            return remote_stream(df, **options)
        from penstock.spark.egress.streams import stream  # noqa: PLC0415  brings in Flight

        return stream(self, df, **options)

    def stage(
        self, flow: Flow[Any, Any], schema: Described, *, rows: Form | None = None
    ) -> Callable[[DataFrame], DataFrame]:
        """Return a DataFrame step that runs a Flow inside the executors: `df.transform(spark.stage(flow, schema))`.

        Args:
            flow: What is done to the rows of each partition, as they are asked for.
            schema: What the rows are that it gives.
            rows: The form in which it gets rows: `"named"` tuples if not said, `"tuple"`, or a dataclass.

        Raises:
            StageError: A step of the flow cannot run on a part of a stream.
            SchemaError: `schema` says nothing that Spark has.
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
        latest: Callable[[Any], int] | None = None,
        start: int | Callable[[Any], int] | None = None,
        commit: Callable[[Any, int], object] | None = None,
        live: bool | None = None,
        capacity: int | None = None,
        latency: float | None = None,
    ) -> DataFrame:
        """Make a DataFrame whose parts are Streams (or iterables) opened on the executors.

        A batch one has a partition for each of `partitions`, opened with `open(part)`. With `streaming`, parts are
        opened with `open(part, row)`, from a row on, and may come and go.

        Args:
            partitions: The parts; with `streaming` also a function that gives them for each micro-batch.
            open: Called on an executor; gives the stream, or the iterable, of a part.
            schema: What a row is, as for `frame`.
            streaming: Whether the DataFrame is a streaming one. The options that follow are for these alone.
            latest: Called with a part; says how many rows it has, where that is known.
            start: The first row of a new part, or a function from the part to it; 0 if not said.
            commit: Called with a part and a row when all rows before that one are committed.
            live: Whether more rows of a part may come; false if they are there, to its end. True if not said.
            capacity: How many rows of a part are read at a time at most; 100,000 if not said.
            latency: About how many seconds the rows that are read at a time take; 1 if not said.

        Raises:
            TypeError: An option is for `streaming=True`, and this one is a batch.
            SchemaError: `schema` says nothing that Spark has.
        """
        options = _said(latest=latest, start=start, commit=commit, live=live, capacity=capacity, latency=latency)
        if streaming:
            from penstock.spark.partitions.stream import partitioned_stream  # noqa: PLC0415  brings in Flight

            _ = self.session
            return partitioned_stream(self, partitions, open, Schema.of(schema), **options)
        if options:
            raise TypeError(f"partitioned: {next(iter(options))} is for streaming=True, and this one is a batch")
        return partitioned(self.session, partitions, open, Schema.of(schema))

    def write(self, df: DataFrame, make: MakeSink, *, epoch: int = 0, rows: Form | None = None) -> list[Any]:
        """Write a batch DataFrame on the executors, each partition with the Sink that `make(part)` returns.

        The results of the sinks come back in the order of the partitions.

        Args:
            df: The DataFrame.
            make: Called on an executor with the part, which has `epoch`, `partition` and `attempt`; gives the Sink.
            epoch: The number that parts have; inside `foreachBatch` that of the micro-batch.
            rows: The form of rows: `"named"` tuples if not said, `"tuple"`, or a dataclass.

        Raises:
            TypeError: `df` is a streaming DataFrame.
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
        rows: Form | None = None,
        capacity: int | None = None,
        latency: float | None = None,
        partitions: int | None = None,
        spool: NamedFolder | None = None,
        dead_letter: Sink[Rejected, Any] | None = None,
        again: SaidAgain | None = None,
        clock: Clock | None = None,
    ) -> Flow[Any, Any]:
        """Make a Flow that sends a live stream through a DataFrame transformation and back.

        Args:
            transform: From a streaming DataFrame to another.
            schema: What the rows are that come out.
            input_schema: What the rows are that go in, where that is another.
            rows: The form in which rows come out, if not in that of the schema.
            capacity: As for `frame`.
            latency: As for `frame`.
            partitions: As for `frame`.
            spool: As for `frame`.
            dead_letter: As for `frame`.
            again: As for `frame`.
            clock: As for `frame`.

        Raises:
            SparkLimitError: The session is one of Spark Connect.
            SchemaError: A schema says nothing that Spark has.
        """
        options = _said(
            rows=rows,
            capacity=capacity,
            latency=latency,
            partitions=partitions,
            spool=spool,
            dead_letter=dead_letter,
            again=again,
            clock=clock,
        )
        from penstock.spark.pipeline.processor import flow  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            raise refuse("spark.flow")
        takes = None if input_schema is None else Schema.of(input_schema)
        return flow(self, transform, Schema.of(schema), input_schema=takes, **options)

    def run(self, pipeline: Pipeline[Any], checkpoint: str | Path | None = None) -> Run[Any]:
        """Run a pipeline here; `pipeline.run(spark)` says the same.

        Args:
            pipeline: What is run.
            checkpoint: A folder from which it goes on where the run before has ended.

        Raises:
            PlanError: A part of the pipeline can run neither on Spark nor here.
            SparkLimitError: The session is one of Spark Connect.
        """
        from penstock.spark.pipeline.run import run  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            raise refuse("a pipeline")
        return run(self, pipeline, checkpoint)

    def explain(self, pipeline: Pipeline[Any]) -> Plan:
        """Say what of a pipeline would run where.

        Args:
            pipeline: What would be run.

        Raises:
            PlanError: A part of the pipeline can run neither on Spark nor here.
        """
        from penstock.spark.pipeline.run import explain  # noqa: PLC0415  brings in Flight

        return explain(pipeline, self._place)


def _said(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


__all__ = ["Spark"]
