"""stages: run a recorded Flow inside the executors, a whole run of stages as one mapInArrow.

A stage that sees each element alone gives the same answer wherever the elements are. One that sees neighbours does
not: it is refused, unless it is said what it may see, by per_partition(flow) or keyed_by(flow, "key").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from time import monotonic
from typing import Any, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame

from penstock.bridges.columns import SchemaError
from penstock.engine.places.executors import thread
from penstock.engine.runs.chain import Chain, pull
from penstock.engine.runs.graft import graft
from penstock.engine.weaving.blame import add_note, describe, operator_name
from penstock.errors import PenstockError
from penstock.flow import Elsewhere, Flow, Hole
from penstock.spark.failure import report
from penstock.spark.rows import Columns
from penstock.spark.schema import Form, Schema
from penstock.spark.scopes import Scoped
from penstock.stage import Sight, Source
from penstock.stream import Stream

FIRST_BATCH = 16
MOST_ROWS = 10_000
CHUNK = 500
"""Rows that are kept as such until they are taken apart."""
QUICK, SLOW = 0.01, 0.1  # seconds a batch should take to fill: larger ones cost less, smaller ones wait less

Batches: TypeAlias = Iterator[Any]
"""An iterator of Arrow record batches."""


class StageError(PenstockError):
    """Report that a Flow cannot run inside the executors, and what can be done about it."""


def stage(
    flow: Flow[Any, Any],
    schema: Schema,
    *,
    rows: Form | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Return the DataFrame step that runs a Flow inside the executors."""
    if not isinstance(flow, Flow):
        raise TypeError(f"stage: flow must be a Flow, made with @flow, got {flow!r}")
    scope = _scope_of(flow._chain)
    inner = flow if scope is None else scope.flow
    _check_sight(inner._chain, scope)
    _check_pickles(inner._chain)

    def step(df: DataFrame) -> DataFrame:
        source = Schema.of(df.schema)
        source.reader(rows)  # refuses a form that does not fit here, instead of in a task
        keys = scope.keys if scope is not None else ()
        if keys:
            assert scope is not None
            _check_columns(source, scope)
            if df.isStreaming:
                from penstock.spark.stateful import keyed_stream  # noqa: PLC0415  few have states

                return keyed_stream(df, inner, source, schema, rows, scope)
            df = df.repartition(*keys).sortWithinPartitions(*keys, *scope.order_by)
        places = tuple(source.names.index(name) for name in keys)
        return df.mapInArrow(stage_function(inner, source, schema, rows=rows, places=places), schema.struct)

    return step


def stage_function(
    flow: Flow[Any, Any],
    source: Schema,
    target: Schema,
    *,
    rows: Form | None = None,
    places: tuple[int, ...] = (),
) -> Callable[[Batches], Batches]:
    """Return a function for mapInArrow that runs a Flow over rows of `source` and gives rows of `target`.

    `places` are the columns of the key if the Flow is to run anew for each, over rows sorted by it.
    """
    reader = source.reader(rows)  # here, where the hints of a class of rows can be read

    def run(batches: Batches) -> Batches:
        inputs = Turns()
        outputs = flow(Stream.from_iterable(inputs))
        if places:
            elements = _each_key(batches, reader, places, inputs, outputs)
        else:
            inputs.turn = chain.from_iterable(map(reader, batches))
            if pull(outputs._chain) is None:
                # Whoever asks for a row may have to wait for Spark's next batch; an event loop must not.
                outputs = flow(Stream.from_iterable(inputs).subscribe_on(thread("penstock-rows")))
            elements = iter(outputs)
        try:
            yield from packed(elements, target)
        except Exception as error:
            context = TaskContext.get()
            if context is not None:
                add_note(error, f"in partition {context.partitionId()}, attempt {context.attemptNumber()}")
            report(error)  # Spark itself may take long to tell
            raise

    return run


class Turns:
    """Be the rows whose turn it is, so that one prepared chain serves key after key; each turn can be taken once."""

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
    batches: Batches,
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
    keys = zip(*(batch.column(place).to_pylist() for place in places), strict=True)
    return zip(keys, reader(batch), strict=True)


def packed(elements: Iterable[Any], schema: Schema) -> Batches:
    """Put rows into record batches; Arrow batches among them pass as they are.

    Batches grow to 10,000 rows while they fill at once and shrink while filling takes long, so that rows of a slow
    source do not wait for others.
    """
    iterator = iter(elements)
    first, size = 0, FIRST_BATCH
    while True:
        began = monotonic()
        columns, rest = _filled(iterator, size, schema, first)
        took = monotonic() - began
        if columns.count:
            yield schema.batch_of(columns.values, first)
            first += columns.count
        for part in _whole_batches(rest):
            batch = schema.fitted(part) if isinstance(part, pa.RecordBatch) else schema.batch(part, first)
            first += batch.num_rows
            yield batch
        if columns.count < size and not rest:
            return
        if took < QUICK:
            size = min(2 * size, MOST_ROWS)
        elif took > SLOW:
            size = max(size // 2, 1)


def _filled(iterator: Iterator[Any], size: int, schema: Schema, first: int) -> tuple[Columns, list[Any]]:
    """Collect `size` rows, or up to the end or an Arrow batch; return them, and what came together with the batch."""
    columns = Columns(schema.names)
    while columns.count < size:
        rows = list(islice(iterator, min(CHUNK, size - columns.count)))
        if any(issubclass(kind, pa.RecordBatch | pa.Table) for kind in set(map(type, rows))):
            return columns, rows
        columns.add(rows, first)
        if not rows:
            break
    return columns, []


def _whole_batches(rows: list[Any]) -> Iterable[Any]:
    """Part Arrow batches from the rows between them, in order."""
    parts: list[Any] = []
    for is_arrow, run in groupby(rows, lambda row: isinstance(row, pa.RecordBatch | pa.Table)):
        if is_arrow:
            parts.extend(
                chain.from_iterable([one] if isinstance(one, pa.RecordBatch) else one.to_batches() for one in run)
            )
        else:
            parts.append(list(run))
    return parts


# Refusals.


def _scope_of(chain: Chain) -> Scoped | None:
    """Return the scope of a Flow that has one."""
    source = chain.source
    if not isinstance(source, Scoped):
        return None
    if chain.steps or source.stream.steps or not isinstance(source.stream.source, Hole):
        raise StageError(
            f"stage: {source} must be a stage of its own; give what comes before or after it one, too,"
            " or put it into the flow that has the scope"
        )
    return source


def _check_sight(chain: Chain, scope: Scoped | None) -> None:
    """Refuse what would answer differently on Spark, saying what would make it right."""
    holes = 0

    def count(source: Source[Any]) -> None:
        nonlocal holes
        holes += isinstance(source, Hole)
        if isinstance(source, Elsewhere):
            name = source.name if isinstance(source, Scoped) else operator_name(source)
            raise StageError(f"stage: {name} is a step of Spark's own and cannot run inside a stage")

    graft(chain, count)
    if holes != 1:
        raise StageError(f"stage: a Flow must read its input once to run on the executors, this one does {holes} times")
    if scope is not None:
        return
    cure = 'say what it may see with per_partition(flow) or keyed_by(flow, "key")'
    if not isinstance(chain.source, Hole):
        name = operator_name(chain.source)
        raise StageError(f"stage: {name} sees the whole stream, and an executor has only a part of it: {cure}")
    for number, step in enumerate(chain.steps, 1):
        if step.sight is not Sight.ITEM:
            where = f"{describe(step)}, step {number} of {len(chain.steps)},"
            raise StageError(f"stage: {where} sees the whole stream, and an executor has only a part of it: {cure}")


def _check_pickles(chain: Chain) -> None:
    """Refuse a function that cannot be sent to the executors, naming the step."""
    total = len(chain.steps)
    named = [(operator_name(chain.source), chain.source), *((describe(step), step) for step in chain.steps)]
    for number, (name, step) in enumerate(named):
        try:
            cloudpickle.dumps(step)  # type: ignore[no-untyped-call]
        except Exception as error:
            where = f"{name}, step {number} of {total}," if number else f"{name},"
            raise StageError(
                f"stage: {where} cannot be sent to the executors: {error};"
                " open what it holds (a connection, a lock, a file) inside the function"
            ) from error


def _check_columns(source: Schema, scope: Scoped) -> None:
    """Refuse keys and an order that the rows do not have."""
    for name in (*scope.keys, *scope.order_by):
        if name not in source.names:
            raise SchemaError(f"keyed_by: column {name!r} must be one of {list(source.names)}", field=name)
    for name in scope.keys:
        if pa.types.is_floating(source.arrow.field(name).type):
            # -0.0 and 0.0, and one NaN and another, are one key to some parts of Spark and two to others.
            raise SchemaError(f"keyed_by: key {name!r} must not be a floating-point number", field=name)


__all__ = ["StageError", "Turns", "packed", "stage", "stage_function"]
