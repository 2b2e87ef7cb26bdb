"""stateful: keyed_by on a streaming DataFrame, a Flow whose states Spark keeps key by key between micro-batches.

What a generator remembers cannot be put into a checkpoint, so only stateful_map, whose state is a value, may remember
anything here. The rows of a micro-batch are put together by key, travel to the partition that has the key's state, and
pass through the whole Flow there; Arrow carries them as they are, so that the Flow gets the same elements as elsewhere.

States are pickled into the query's checkpoint and read back only from there: a user who can write to that folder
can run code in the executors.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from penstock.bridges.shared.columns import SchemaError, values_of
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import add_note, describe, function_name, operator_name
from penstock.flow import Flow, Hole
from penstock.operators.stateful_map import StatefulMap
from penstock.spark.session.java import SparkSetupError
from penstock.spark.stages.executing import Turns, stage_function
from penstock.spark.stages.packing import RecordBatches, packed
from penstock.spark.stages.refusals import StageError
from penstock.spark.stages.scopes import Scoped
from penstock.spark.versions.arrow_types import arrow_schema
from penstock.spark.versions.keyed_states import transform_with_state
from penstock.spark.wire.failure import report
from penstock.spark.wire.schema import Form, Schema
from penstock.stage import Body, Sight, Stage
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_DEFAULT_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_CARRIED = StructType([StructField("key", StringType(), False), StructField("rows", BinaryType(), False)])
_MADE = StructType([StructField("rows", BinaryType(), False)])
_STATE = StructType([StructField("state", BinaryType(), False)])


def keyed_stream(
    df: DataFrame, flow: Flow[Any, Any], source: Schema, target: Schema, rows: Form | None, scope: Scoped
) -> DataFrame:
    """Run a Flow over the rows of each key of a streaming DataFrame, with states that survive a restart."""
    _check_steps(flow._chain)
    if not scope.keeps_states:
        return df.mapInArrow(stage_function(flow, source, target, rows=rows), target.struct)
    order = tuple(source.names.index(name) for name in scope.order_by)
    for place in order:
        if pa.types.is_nested(source.arrow.field(place).type):
            name = source.names[place]
            raise SchemaError(f"keyed_by: order_by {name!r} must be a plain column where rows stream", field=name)
    _prepare(df.sparkSession)
    # Moments keep the session's time zone, as they do in a stage.
    zone = df.sparkSession.conf.get("spark.sql.session.timeZone")
    carried = replace(source, arrow=arrow_schema(source.struct, str(zone)))
    places = tuple(source.names.index(name) for name in scope.keys)
    keeper = _Keeper(flow, carried, target, rows, order)
    together = df.mapInArrow(_together(carried, places), _CARRIED).groupBy("key")
    made = transform_with_state(together, keeper, _MADE, "Append", "None")
    return made.mapInArrow(_apart(target.arrow), target.struct)


# Refusals and settings.


def _check_steps(chain: Chain) -> None:
    cure = "on a streaming DataFrame only stateful_map can, with a state that Spark keeps"
    if not isinstance(chain.source, Hole):
        name = operator_name(chain.source)
        raise StageError(f"keyed_by: {name} cannot go on from one micro-batch to the next; {cure}")
    for number, step in enumerate(chain.steps, 1):
        if step.sight is not Sight.ITEM and not isinstance(step, StatefulMap):
            where = f"{describe(step)}, step {number} of {len(chain.steps)},"
            raise StageError(f"keyed_by: {where} cannot go on from one micro-batch to the next; {cure}")


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


def _together(carried: Schema, places: tuple[int, ...]) -> Callable[[RecordBatches], RecordBatches]:
    """Return a function for mapInArrow that makes one row of all rows of a key in a batch."""

    def run(batches: RecordBatches) -> RecordBatches:
        for batch in batches:
            yield _by_key(carried.fitted(batch), places)

    return run


def _by_key(batch: Any, places: tuple[int, ...]) -> Any:
    groups: dict[str, list[int]] = {}
    for row, key in enumerate(_keys(batch, places)):
        groups.setdefault(key, []).append(row)
    ordered = batch.take(pa.array(chain.from_iterable(groups.values()), pa.int64()))
    parts: list[bytes] = []
    first = 0
    for rows in groups.values():
        parts.append(ordered.slice(first, len(rows)).serialize().to_pybytes())
        first += len(rows)
    return pa.RecordBatch.from_pydict({"key": pa.array(groups, pa.string()), "rows": pa.array(parts, pa.binary())})


def _keys(batch: Any, places: tuple[int, ...]) -> Iterator[str]:
    """Return each row's key as text, the same in each run, whatever the session's time zone."""
    columns = (batch.column(place) for place in places)
    plain = (one.cast(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in columns)
    return map(repr, zip(*(one.to_pylist() for one in plain), strict=True))


def _apart(schema: Any) -> Callable[[RecordBatches], RecordBatches]:
    """Return a function for mapInArrow that takes out what was made."""

    def run(batches: RecordBatches) -> RecordBatches:
        for batch in batches:
            for part in batch.column(0):
                yield pa.ipc.read_record_batch(part.as_buffer(), schema)

    return run


# Where the states are.


class _Cell:
    """The state of one stateful_map while the rows of a key pass."""

    __slots__ = ("state",)
    state: Any


@dataclass(frozen=True, slots=True)
class _StatefulMap(Stage[Any, Any]):
    """A stateful_map whose state can be taken out and put back."""

    fn: Callable[[Any, Any], tuple[Any, Any]]
    create: Callable[[], Any]
    cell: _Cell
    loop: ClassVar[Body] = Body(
        "if {cell}.state is None: {cell}.state = {create}()\n"
        "{cell}.state, v = {fn}({cell}.state, v)\n"
        "if v is None: none"
    )


class _Keeper(StatefulProcessor):
    """A Flow that Spark runs over the rows of one key after the other."""

    def __init__(
        self, flow: Flow[Any, Any], source: Schema, target: Schema, rows: Form | None, order: tuple[int, ...]
    ) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._reader = source.reader(rows)  # here, where the hints of a class of rows can be read
        self._order = order

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getValueState("state", _STATE)
        self._inputs = Turns()
        self._maps = [step for step in self._flow._chain.steps if isinstance(step, StatefulMap)]
        self._cells = [_Cell() for _ in self._maps]
        cells = iter(self._cells)
        steps = (
            _StatefulMap(step.fn, step.create, next(cells)) if isinstance(step, StatefulMap) else step
            for step in self._flow._chain.steps
        )
        flow: Flow[Any, Any] = Flow(Chain(self._flow._chain.source, tuple(steps)))
        self._outputs = flow(Stream.from_iterable(self._inputs))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  Spark's names
        """Take one key's states up, let its rows pass, and put the states back."""
        try:
            self._take_up()
            schema = self._source.arrow
            batches = (pa.ipc.read_record_batch(pa.py_buffer(row.rows), schema) for row in rows)
            self._inputs.turn = (
                _sorted(batches, self._reader, self._order)
                if self._order
                else chain.from_iterable(map(self._reader, batches))
            )
            for made in packed(self._outputs, self._target):
                yield Row(rows=made.serialize().to_pybytes())
            self._put_back()
        except Exception as error:
            add_note(error, f"in keyed_by, key {key[0]}")
            report(error)  # Spark itself may take long to tell
            raise

    def close(self) -> None:
        """Do nothing: Spark keeps the states."""

    def _take_up(self) -> None:
        found = self._kept.get()
        try:
            states = [None] * len(self._cells) if found is None else pickle.loads(found[0])
        except Exception as error:
            raise StageError(f"keyed_by: a state in the checkpoint cannot be read: {error!r}") from error
        if len(states) != len(self._cells):
            raise StageError(
                f"keyed_by: the checkpoint has the states of {len(states)} stateful_map, and the flow has"
                f" {len(self._cells)}; give it another checkpoint"
            )
        for cell, state in zip(self._cells, states, strict=True):
            cell.state = state

    def _put_back(self) -> None:
        states = [cell.state for cell in self._cells]
        if all(state is None for state in states):
            self._kept.clear()
        else:
            self._kept.update((self._pickled(states),))

    def _pickled(self, states: list[Any]) -> bytes:
        try:
            return pickle.dumps(states)
        except Exception:  # noqa: BLE001  a class of a notebook or a script has to go along
            pass
        for step, state in zip(self._maps, states, strict=True):
            try:
                cloudpickle.dumps(state)  # type: ignore[no-untyped-call]
            except Exception as error:
                name = f"stateful_map({function_name(step.fn)})"
                raise StageError(
                    f"keyed_by: {name}: its state must be one that pickle takes, got {state!r}: {error}"
                ) from error
        return cloudpickle.dumps(states)  # type: ignore[no-untyped-call, no-any-return]


def _sorted(batches: RecordBatches, reader: Callable[[Any], Iterator[Any]], order: tuple[int, ...]) -> Iterator[Any]:
    """Return the rows of a key in a micro-batch in the order that Spark would give them."""
    ranked: list[tuple[Any, Any]] = []
    for batch in batches:
        ranks = zip(*(map(_rank, values_of(batch.column(place))) for place in order), strict=True)
        ranked.extend(zip(ranks, reader(batch), strict=True))
    ranked.sort(key=itemgetter(0))
    return map(itemgetter(1), ranked)


def _rank(value: Any) -> tuple[bool, bool, Any]:
    return (value is not None, value != value, value)  # None first and NaN last  # noqa: PLR0124


__all__ = ["keyed_stream"]
