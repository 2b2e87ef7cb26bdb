"""batch: a DataFrame whose parts are Streams opened on the executors; no row passes through the driver."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.weaving.blame import add_note, function_name
from penstock.engine.words.arguments import function_given
from penstock.spark.stages.refusals import StageError
from penstock.spark.wire.failure import report
from penstock.spark.wire.packing import RecordBatches, packed
from penstock.spark.wire.schema import Schema
from penstock.spec.predicates import is_publisher
from penstock.stream import Stream


def partitioned(
    session: SparkSession,
    partitions: Sequence[Any],
    open: Callable[[Any], Any],  # noqa: A002  the word for it
    schema: Schema,
) -> DataFrame:
    """Make a DataFrame of what `open(partition)` gives for each partition, called on the executors.

    It may give a Stream or another publisher, an iterable or an asynchronous one, of rows or of Arrow batches. A task
    that is retried opens its partition again.
    """
    function_given("partitioned", "open", open)
    parts = parts_given(partitions)
    if not parts:
        return session.createDataFrame([], schema.struct)
    for number, part in enumerate(parts):
        check_pickles(part, f"partition {number}")
    check_pickles(open, f"open ({function_name(open)})")
    names = session.range(0, len(parts), 1, len(parts))
    return names.mapInArrow(_read(parts, open, schema), schema.struct)


def parts_given(partitions: Any) -> list[Any]:
    """Return a list of the parts; one text is not taken for those that its letters name."""
    if isinstance(partitions, str | bytes) or not isinstance(partitions, Iterable):
        raise TypeError(f"partitioned: partitions must be a collection of parts, got {partitions!r}; [...] is one")
    return list(partitions)


def check_pickles(given: object, name: str, caller: str = "partitioned") -> None:
    """Refuse what cannot be sent to the executors."""
    try:
        cloudpickle.dumps(given)  # type: ignore[no-untyped-call]
    except Exception as error:
        where = "inside open" if caller == "partitioned" else "there"
        raise StageError(
            f"{caller}: {name} cannot be sent to the executors: {error};"
            f" open what it holds (a connection, a lock, a file) {where}"
        ) from error


def _read(parts: list[Any], open: Callable[[Any], Any], schema: Schema) -> Callable[[RecordBatches], RecordBatches]:  # noqa: A002
    def run(batches: RecordBatches) -> RecordBatches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    yield from packed(elements_of(open(parts[number])), schema)
                except Exception as error:
                    add_note(error, f"in partition {number}, opened with {function_name(open)}")
                    report(error)  # Spark itself may take long to tell
                    raise

    return run


def elements_of(given: object) -> Iterator[Any]:
    """Iterate over a publisher, an iterable or an asynchronous iterable."""
    if isinstance(given, Stream):
        return iter(given)
    if is_publisher(given):
        return iter(Stream.from_publisher(given))
    if isinstance(given, Iterable):
        return iter(given)
    if isinstance(given, AsyncIterable):
        return iter(Stream.from_async_iterable(given))
    raise TypeError(f"partitioned: open must return a Stream or an iterable, got {given!r}")
