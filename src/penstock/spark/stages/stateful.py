"""stateful: keyed_by on a streaming DataFrame, a Flow whose states Spark keeps key by key between micro-batches.

The steps of the Flow run piece by piece (`run/pieces/stepping.py`): the rows that a micro-batch has for a key are
one piece, and what the steps remember of a key is a value that Spark has in the meantime. Keys are put into a fixed
number of buckets by their names: Spark groups by bucket, and a bucket has the states of its keys in a map. So a
micro-batch costs one call for each bucket instead of one for each key, and the end of the stream reaches all keys.

Steps that time wakes are told it by rows of another source beside these, which also tell of the end
(`stages/ends.py`, `stages/timekeeping.py`).

Arrow carries the rows as they are, so that the Flow gets the same elements as elsewhere. `stages/states.py` says how a
state is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType, TimestampType

from penstock.bridges.shared.columns import SchemaError
from penstock.flow import Flow
from penstock.run.pieces.stepping import SteppingRun
from penstock.spark.session.java import SparkSetupError
from penstock.spark.stages.ends import CARRIED, end_of, has_watermark
from penstock.spark.stages.event_keeper import EventKeeper
from penstock.spark.stages.executing import comparable, keys_in, stage_function
from penstock.spark.stages.keeper import Keeper
from penstock.spark.stages.piecewise import folded
from penstock.spark.stages.refusals import StageError, check_clocks, check_pieces
from penstock.spark.stages.scopes import Scoped
from penstock.spark.versions import stream_readers
from penstock.spark.versions.arrow_types import arrow_schema
from penstock.spark.versions.keyed_states import transform_with_state
from penstock.spark.wire.packing import RecordBatches
from penstock.spark.wire.schema import Form, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BUCKETS = 256
"""How many buckets there are; a checkpoint has the states by bucket, so the number is part of its form."""
LEAST_TICKS, MOST_TICKS = 0.05, 1.0
"""How many seconds apart steps that wait are told the time, which is a part of the shortest that one waits."""
_DEFAULT_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_MADE = StructType([StructField("rows", BinaryType(), False)])
_TIMED = StructType([*CARRIED, StructField("at", TimestampType(), True)])
"""The same with the latest of their times, by which Spark moves the watermark."""
_TICK = 1000


def keyed_stream(
    df: DataFrame, flow: Flow[Any, Any], source: Schema, target: Schema, rows: Form | None, scope: Scoped
) -> DataFrame:
    """Run a Flow over the rows of each key of a streaming DataFrame, with states that survive a restart."""
    check_pieces(flow._chain)
    if not scope.keeps_states:
        return df.mapInArrow(stage_function(flow, source, target, rows=rows), target.struct)
    order = tuple(source.names.index(name) for name in scope.order_by)
    for place in order:
        if pa.types.is_nested(source.arrow.field(place).type):
            name = source.names[place]
            raise SchemaError(f"keyed_by: order_by {name!r} must be a plain column where rows stream", field=name)
    run = SteppingRun(folded(flow._chain)[1])
    tailed = run.tailed or scope.time is not None
    time = None if scope.time is None else source.names.index(scope.time)
    ticks = None if run.shortest is None or time is not None else min(MOST_TICKS, max(LEAST_TICKS, run.shortest / 4))
    if ticks is not None:
        check_clocks(flow._chain)
    if (ticks is not None or time is not None) and not stream_readers.SAYS_START:
        what = "steps that time wakes, such as debounce," if time is None else "the times of rows"
        raise StageError(
            f"keyed_by: {what} need PySpark 4.2 or newer where rows stream, and this is {df.sparkSession.version}: put"
            " them before or behind Spark"
        )
    if time is not None and has_watermark(df):
        raise StageError(
            f"keyed_by: time {scope.time!r} must be the first watermark of a stream, and the rows before it have one"
            " already, by another keyed_by with time or by withWatermark; Spark has no second one behind it: leave one"
            " of them out, let one keyed_by do the work of both, or do the rest behind a sink"
        )
    if tailed and not hasattr(df, "_jdf"):
        raise StageError(
            "keyed_by: over Spark Connect it is not known when a stream has ended, and a step has something to say"
            " then: leave out what collects until the end, such as buffer, or run on a session that is not remote"
        )
    _prepare(df.sparkSession)
    # Moments keep the session's time zone, as they do in a stage.
    zone = df.sparkSession.conf.get("spark.sql.session.timeZone")
    carried = replace(source, arrow=arrow_schema(source.struct, str(zone)))
    places = tuple(source.names.index(name) for name in scope.keys)
    end = end_of(df, BUCKETS, ticks) if tailed else None
    if time is None:
        keeper = Keeper(flow, carried, target, rows, order)
        pieces = df.mapInArrow(_together(carried, places), CARRIED)
        made = _kept(pieces, end, keeper, "None")
    else:
        timed = EventKeeper(flow, carried, target, rows, order, time)
        pieces = df.mapInArrow(_together(carried, places, time), _TIMED)
        pieces = pieces.withWatermark("at", f"{ceil(round(scope.watermark * 1000, 3)) + 1} milliseconds")
        made = _kept(
            pieces, None if end is None else end.selectExpr("*", "CAST(NULL AS TIMESTAMP) AS at"), timed, "EventTime"
        )
    return made.mapInArrow(_apart(target.arrow), target.struct)


def _kept(pieces: DataFrame, end: DataFrame | None, keeper: Keeper, time_mode: str) -> DataFrame:
    """Let a processor have the rows of each bucket, and their end."""
    whole = pieces if end is None else pieces.union(end)
    return transform_with_state(whole.groupBy("bucket"), keeper, _MADE, "Append", time_mode)


def _prepare(session: SparkSession) -> None:
    """See to what Spark needs to keep states; a query that has a checkpoint stays with the store it began with."""
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise SparkSetupError("keyed_by: Spark keeps states by means of protobuf: pip install penstock[spark]")
    store = session.conf.get(STORE)
    if store == _DEFAULT_STORE:
        try:
            session.conf.set(STORE, ROCKSDB)
        except Exception as error:
            raise SparkSetupError(
                f"keyed_by: this session does not let {STORE} be set, and Spark keeps states with {ROCKSDB} alone;"
                " set it where the session is started"
            ) from error
    elif store != ROCKSDB:
        raise SparkSetupError(f"keyed_by: {STORE} must be {ROCKSDB}, got {store!r}")


# On the way to the states and back.


def _together(
    carried: Schema, places: tuple[int, ...], time: int | None = None
) -> Callable[[RecordBatches], RecordBatches]:
    """Return a function for mapInArrow that makes one row of all rows of a bucket in a batch, with the latest time."""
    names = list(carried.names)  # Spark may call the columns otherwise

    def run(batches: RecordBatches) -> RecordBatches:
        for batch in batches:
            yield _by_bucket(carried.fitted(batch.rename_columns(names)), places, time)

    return run


def _by_bucket(batch: Any, places: tuple[int, ...], time: int | None) -> Any:
    keys = list(_keys(batch, places))
    groups: dict[int, list[int]] = {}
    known: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        group = known.get(key)
        if group is None:
            group = known[key] = groups.setdefault(crc32(key.encode("utf-8", "surrogatepass")) % BUCKETS, [])
        group.append(row)
    named = batch.append_column("", pa.array(keys, pa.string()))
    ordered = named.take(pa.array(chain.from_iterable(groups.values()), pa.int64()))
    parts: list[bytes] = []
    moments: list[Any] = []
    first = 0
    for rows in groups.values():
        part = ordered.slice(first, len(rows))
        parts.append(part.serialize().to_pybytes())
        if time is not None:
            times = (at for at in comparable(part.column(time)).to_pylist() if at is not None)
            moments.append(_on_spark(max(times, default=None)))
        first += len(rows)
    made = {"bucket": pa.array(groups, pa.int32()), "rows": pa.array(parts, pa.binary())}
    if time is not None:
        made["at"] = pa.array(moments, pa.int64()).cast(batch.schema.field(time).type)
    return pa.RecordBatch.from_pydict(made)


def _on_spark(moment: int | None) -> int | None:
    """Return the time, in microseconds, by which Spark moves the watermark, and leaves out what is late.

    To Spark what stands at the watermark is late, as is all that is older than 1970, where the watermark begins. So
    each is a millisecond later there, and the watermark is one more behind.
    """
    return None if moment is None else max(moment, 0) + _TICK


def _keys(batch: Any, places: tuple[int, ...]) -> Iterator[str]:
    """Return each row's key as text, the same in each run, whatever the session's time zone."""
    return map(repr, keys_in(batch, places))


def _apart(schema: Any) -> Callable[[RecordBatches], RecordBatches]:
    """Return a function for mapInArrow that takes out what was made."""

    def run(batches: RecordBatches) -> RecordBatches:
        for batch in batches:
            for part in batch.column(0):
                yield pa.ipc.read_record_batch(part.as_buffer(), schema)

    return run


__all__ = ["keyed_stream"]
