"""pieces: run a Flow key by key over micro-batches without a JVM, through the functions that Spark would call.

What differs from Spark is where the states are: in a dictionary for each bucket, as bytes, in place of RocksDB. So
thousands of random flows, cuts and restarts can be tried in seconds; `differential.py` runs some of them on Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from penstock import Flow
from penstock.run.pieces.stepping import SteppingRun
from penstock.spark.stages.keeper import Keeper
from penstock.spark.stages.piecewise import folded
from penstock.spark.stages.stateful import BUCKETS, _apart, _together
from penstock.spark.stages.timekeeping import written_time
from penstock.spark.wire.schema import Form, Schema


class _Map:
    """What a processor sees of one bucket's states."""

    def __init__(self, held: Any) -> None:
        self._held = held
        self.bucket: Any = None

    @property
    def _one(self) -> dict[Any, Any]:
        return self._held.setdefault(self.bucket, {})  # type: ignore[no-any-return]

    def getValue(self, key: Any) -> Any:
        return self._one.get(key)

    def updateValue(self, key: Any, value: Any) -> None:
        self._one[key] = value

    def removeKey(self, key: Any) -> None:
        self._one.pop(key, None)

    def keys(self) -> Iterator[Any]:
        return iter(list(self._one))

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._one.items()))

    def clear(self) -> None:
        self._one.clear()

    def get(self) -> Any:
        return self._one.get("value")

    def update(self, value: Any) -> None:
        self._one["value"] = value


class _Handle:
    """What a processor gets its states from; those beside the states of the keys are kept under names of their own."""

    def __init__(self, held: dict[Any, dict[Any, Any]]) -> None:
        self._held = held
        self._made: list[_Map] = []

    def getMapState(self, name: str, *_: Any) -> _Map:
        held: Any = self._held if name == "states" else _Named(self._held, name)
        self._made.append(_Map(held))
        return self._made[-1]

    def getValueState(self, name: str, *_: Any) -> _Map:
        return self.getMapState(name)

    def turn(self, bucket: Any) -> None:
        for one in self._made:
            one.bucket = bucket


class _Named:
    """The part of the states that has a name."""

    def __init__(self, held: dict[Any, dict[Any, Any]], name: str) -> None:
        self._held = held
        self._name = name

    def setdefault(self, bucket: Any, value: dict[Any, Any]) -> dict[Any, Any]:
        return self._held.setdefault((self._name, bucket), value)


def in_pieces(
    flow: Flow[Any, Any],
    source: Schema,
    target: Schema,
    keys: Sequence[str],
    batches: Iterable[Sequence[Any]],
    *,
    states: dict[Any, dict[Any, Any]] | None = None,
    order_by: Sequence[str] = (),
    rows: Form | None = None,
    ends: bool = True,
    times: Sequence[float] = (),
) -> Iterator[list[Any]]:
    """Run a Flow over micro-batches and yield what each gives; `states` is the checkpoint.

    `times` says what time it is at each of them, for steps that time wakes.
    """
    places = tuple(source.names.index(name) for name in keys)
    order = tuple(source.names.index(name) for name in order_by)
    held: dict[Any, dict[Any, Any]] = {} if states is None else states
    read = target.reader()
    run = SteppingRun(folded(flow._chain)[1])
    for number, batch in enumerate([*batches, None]):
        if batch is None and not ends:
            return
        handle = _Handle(held)
        keeper = Keeper(flow, source, target, rows, order)  # each micro-batch may be in another process
        keeper.init(handle)  # type: ignore[arg-type]
        carried: dict[int, list[bytes]] = {}
        if batch is None:
            carried = {bucket: [b""] for bucket in range(BUCKETS) if run.tailed}
        elif batch:
            for each in _together(source, places)(iter([source.batch(batch, number)])):
                for one in each.to_pylist():
                    carried.setdefault(one["bucket"], []).append(one["rows"])
        if run.shortest is not None and number < len(times):
            for bucket in range(BUCKETS):
                carried.setdefault(bucket, []).append(written_time(times[number]))
        made: list[Any] = []
        for bucket, parts in carried.items():
            handle.turn(bucket)
            for row in keeper.handleInputRows((bucket,), iter(SimpleNamespace(rows=part) for part in parts), None):
                out = pa.RecordBatch.from_pydict({"rows": pa.array([row.rows], pa.binary())})
                for back in _apart(target.arrow)(iter([out])):
                    made.extend(read(back))
        yield made
