"""executing: run a recorded Flow over the rows of a partition, inside an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext

from penstock.engine.places.executors import thread
from penstock.engine.runs.wiring import pull
from penstock.engine.weaving.blame import add_note
from penstock.flow import Flow
from penstock.spark.stages.columnwise import columnwise, segment_alone
from penstock.spark.stages.refusals import StageError
from penstock.spark.wire.failure import report
from penstock.spark.wire.packing import RecordBatches, packed
from penstock.spark.wire.schema import Form, Schema
from penstock.stream import Stream


def stage_function(
    flow: Flow[Any, Any],
    source: Schema,
    target: Schema,
    *,
    rows: Form | None = None,
    places: tuple[int, ...] = (),
) -> Callable[[RecordBatches], RecordBatches]:
    """Return a function for mapInArrow that runs a Flow over rows of `source` and gives rows of `target`.

    `places` are the columns of the key if the Flow is to run anew for each, over rows sorted by it.
    """
    reader = source.reader(rows)  # here, where the hints of a class of rows can be read

    def run(batches: RecordBatches) -> RecordBatches:
        inputs = Turns()
        rows_in = Stream.from_iterable(inputs)
        outputs = flow(rows_in)
        alone = segment_alone(outputs._chain) if outputs._chain.source is rows_in._chain.source else None

        def otherwise(made: Any, unread: Iterator[Any], first: int) -> RecordBatches:
            inputs.turn = unread
            return packed(chain((made,), outputs), target, first)

        if places:
            made = packed(_each_key(batches, reader, places, inputs, outputs), target)
        elif alone is not None:
            made = columnwise(alone, batches, reader, target, otherwise)
        else:
            inputs.turn = chain.from_iterable(map(reader, batches))
            if pull(outputs._chain) is None:
                # Asking for a row may have to wait for Spark's next batch, and an event loop must not wait.
                outputs = flow(Stream.from_iterable(inputs).subscribe_on(thread("penstock-rows")))
            made = packed(outputs, target)
        try:
            yield from made
        except Exception as error:
            context = TaskContext.get()
            if context is not None:
                add_note(error, f"in partition {context.partitionId()}, attempt {context.attemptNumber()}")
            report(error)  # Spark itself may take long to tell
            raise

    return run


class Turns:
    """The rows whose turn it is, so that one prepared chain serves key after key; each turn can be taken once."""

    def __init__(self) -> None:
        self.turn: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        turn, self.turn = self.turn, None
        if turn is None:
            raise StageError(
                "stage: the rows of a partition can be read only once; a step that subscribes again, like retry, or"
                " twice, like a merge of two branches, cannot run on the executors"
            )
        return turn


def _each_key(
    batches: RecordBatches,
    reader: Callable[[Any], Iterator[Any]],
    places: tuple[int, ...],
    inputs: Turns,
    outputs: Stream[Any],
) -> Iterator[Any]:
    """Run the Flow over each run of rows with the same key."""
    for _, run in groupby(chain.from_iterable(_with_keys(batch, reader, places) for batch in batches), itemgetter(0)):
        inputs.turn = map(itemgetter(1), run)
        yield from outputs


def _with_keys(batch: Any, reader: Callable[[Any], Iterator[Any]], places: tuple[int, ...]) -> Iterator[Any]:
    return zip(keys_in(batch, places), reader(batch), strict=True)


def keys_in(batch: Any, places: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Return the key of each row of a record batch."""
    return zip(*(comparable(batch.column(place)).to_pylist() for place in places), strict=True)


def comparable(column: Any) -> Any:
    """Return a column whose values are equal and in order where Spark's are, in each run.

    Moments become numbers: where a clock is set back, Python takes those of one time zone for equal, or for another
    order, that it shows alike; and a session shows them in its own zone.
    """
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


__all__ = ["Turns", "comparable", "keys_in", "stage_function"]
