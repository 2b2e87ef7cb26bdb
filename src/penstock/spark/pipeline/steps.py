"""steps: the parts of a pipeline that Spark does itself: DataFrame steps, sources and sinks of Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import blamed, operator_name, place_of
from penstock.engine.words.arguments import function_given
from penstock.flow import EngineName, Flow, Hole, Sink
from penstock.spark.pipeline.modes import MODES, PlanError
from penstock.spark.session.embedded import EMBEDDED, only_on_spark
from penstock.spark.versions.query_ends import PREFIX
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.spark.egress.batch_write import Write
    from penstock.spark.egress.numbering import Numbered
    from penstock.spark.pipeline.modes import Mode
    from penstock.spark.wire.schema import Described

T = TypeVar("T")
_HOLE = Chain(Hole())


@dataclass(frozen=True, slots=True)
class Frame(Source[Any]):
    """A DataFrame step after a stream; a pipeline runs it on Spark."""

    engine: ClassVar[EngineName] = EMBEDDED
    stream: Chain = field(repr=False)
    fn: Callable[..., DataFrame]
    schema: Described | None = field(default=None, compare=False)
    mode: Mode | None = None
    others: tuple[Stream[Any], ...] = ()

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run in this process."""
        raise only_on_spark("frame")


@dataclass(frozen=True, slots=True)
class SparkSource(Source[Any]):
    """A DataFrame that Spark reads."""

    engine: ClassVar[EngineName] = EMBEDDED
    fn: Callable[[SparkSession], DataFrame]

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run in this process."""
        raise only_on_spark("spark_source")


@dataclass(frozen=True, slots=True)
class SparkSink(Source[Any]):
    """A place to which Spark writes a DataFrame."""

    engine: ClassVar[EngineName] = EMBEDDED
    stream: Chain = field(repr=False)
    fn: Callable[[DataFrame], Any]

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run in this process."""
        raise only_on_spark("spark_sink")


@dataclass(frozen=True, slots=True)
class Also(Source[Any]):
    """A write, by Spark, of the rows that pass on their way."""

    engine: ClassVar[EngineName] = EMBEDDED
    stream: Chain = field(repr=False)
    fn: Write

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run in this process."""
        raise only_on_spark("also")


@dataclass(frozen=True, slots=True)
class Numbering(Source[Any]):
    """Rows with the number of their micro-batch and their number in it."""

    engine: ClassVar[EngineName] = EMBEDDED
    stream: Chain = field(repr=False)

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Refuse to run in this process."""
        raise only_on_spark("numbered")


def frame(
    fn: Callable[..., DataFrame],
    *others: Stream[Any],
    schema: Described | None = None,
    mode: Mode | None = None,
) -> Flow[Any, Any]:
    """Make a part of a pipeline of a function from DataFrame to DataFrame, or from several to one.

    The function gets the DataFrame of what stands before, then that of each of the `others`, streams of whatever make:
    `orders | frame(lambda orders, payments: orders.join(payments, "order"), payments | parsed)`.

    `schema` describes the rows that come in; it is needed only right behind a live source, where nothing else says.
    `mode` is Spark's output mode: in "append", the default, a row comes once, when it is final; in "update" whenever a
    micro-batch has changed it; in "complete" all rows come with each micro-batch.

    Args:
        fn: The function.
        *others: Further streams, whose DataFrames the function gets.
        schema: What the rows are that come in, where the annotations of what stands before do not say so.
        mode: Which rows of a result that changes are given: Spark's output mode.
    """
    function_given("frame", "fn", fn)
    for each in others:
        if not isinstance(each, Stream):
            raise TypeError(f"frame: others must be Streams, got {each!r}")
    if mode is not None and mode not in MODES:
        raise ValueError(f"frame: mode must be one of 'append', 'update' and 'complete', got {mode!r}")
    return Flow(Chain(Frame(_HOLE, fn, schema, mode, others)))


_COMPUTED = ("Queries with streaming sources must be executed", f"Failed to find the data source: {PREFIX}")
"""What Spark says where a streaming DataFrame is computed as if it were a batch."""


def called(step: Frame | SparkSource | SparkSink | Also, *given: Any) -> Any:
    """Call the function of a step; an error notes which function it was and where that stands."""
    try:
        return step.fn(*given)
    except Exception as error:
        if not place_of(step.fn):  # a part of penstock, whose errors say where they come from
            raise
        found = error
        if any(word in str(error) for word in _COMPUTED):
            found = PlanError(
                f"{operator_name(step)}: the function has asked for the rows of a stream, as by collect, count or show,"
                " and these come when the run goes on; return a DataFrame, and take its rows by also(write) or a sink"
            )
        raise blamed(found, step, step.fn)  # noqa: B904  it is the same error


def spark_source(fn: Callable[[SparkSession], DataFrame]) -> Stream[Any]:
    """Begin a pipeline with what Spark reads: a function from session to DataFrame, batch or streaming.

    Args:
        fn: The function.
    """
    function_given("spark_source", "fn", fn)
    return Stream(Chain(SparkSource(fn)))


def spark_sink(fn: Callable[[DataFrame], Any]) -> Sink[Any, Any]:
    """End a pipeline with what Spark writes.

    For a streaming DataFrame the function returns the writer, not started (`df.writeStream.format(...)`), which then
    gets the run's checkpoint and, where all sources are streams of penstock, a trigger that ends with them. A query
    that it has started itself is refused where there is a checkpoint; else it ends with such sources, too. The result
    is the number of rows written. For a batch DataFrame the function writes, or returns a writer to be saved, and what
    it returns is the result.

    Args:
        fn: The function, from DataFrame to writer.
    """
    function_given("spark_sink", "fn", fn)
    return Sink(Chain(SparkSink(_HOLE, fn)))


def also(write: Write) -> Flow[Any, Any]:
    """Write the rows that pass with Spark, too; it stands anywhere behind a source.

    `write(df, batch)` is called with every micro-batch and its number before the rows go on, and waited for; a batch
    DataFrame is written whole, as number 0. Each is computed once. After a failure a micro-batch may come again with
    the same rows and the same number, so a write that replaces what it wrote under that number,
    `df.write.mode("overwrite").parquet(f"{folder}/batch={batch}")`, has each row once, also across restarts.
    """
    function_given("also", "write", write)
    return Flow(Chain(Also(_HOLE, write)))


def numbered() -> Flow[T, Numbered[T]]:
    """Give each row with its place, `Numbered(batch, number, last, row)`; it stands right before the end.

    A sink of this process sees each row at least once: after a crash the micro-batch that was not delivered whole comes
    again, from its first row on. A sink that writes the rows of a micro-batch and its number in one transaction, and
    leaves out a micro-batch whose number it has written, has each row exactly once.
    """
    return Flow(Chain(Numbering(_HOLE)))


__all__ = [
    "Also", "Frame", "Numbering", "SparkSink", "SparkSource", "also", "called", "frame", "numbered", "spark_sink",
    "spark_source",
]  # fmt: skip
