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
from penstock.engine.weaving.stepping import SteppingRun
from penstock.spark.stages.keeper import Keeper
from penstock.spark.stages.stateful import BUCKETS, _apart, _together
from penstock.spark.wire.schema import Form, Schema


class _Map:
    """What a processor sees of one bucket's states."""

    def __init__(self, held: dict[Any, dict[Any, Any]]) -> None:
        self._held = held
        self.bucket: Any = None

    @property
    def _one(self) -> dict[Any, Any]:
        return self._held.setdefault(self.bucket, {})

    def getValue(self, key: Any) -> Any:
        return self._one.get(key)

    def updateValue(self, key: Any, value: Any) -> None:
        self._one[key] = value

    def removeKey(self, key: Any) -> None:
        self._one.pop(key, None)

    def keys(self) -> Iterator[Any]:
        return iter(list(self._one))


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
) -> Iterator[list[Any]]:
    """Run a Flow over micro-batches and yield what each gives; `states` is the checkpoint."""
    places = tuple(source.names.index(name) for name in keys)
    order = tuple(source.names.index(name) for name in order_by)
    held: dict[Any, dict[Any, Any]] = {} if states is None else states
    read = target.reader()
    for number, batch in enumerate([*batches, None]):
        if batch is None and not ends:
            return
        state = _Map(held)
        keeper = Keeper(flow, source, target, rows, order)  # each micro-batch may be in another process
        keeper.init(SimpleNamespace(getMapState=lambda *_, state=state: state))
        carried: dict[int, list[bytes]] = {}
        if batch is None:
            carried = {bucket: [b""] for bucket in range(BUCKETS) if SteppingRun(flow._chain.steps).tailed}
        elif batch:
            for each in _together(source, places)(iter([source.batch(batch, number)])):
                for one in each.to_pylist():
                    carried.setdefault(one["bucket"], []).append(one["rows"])
        made: list[Any] = []
        for bucket, parts in carried.items():
            state.bucket = bucket
            for row in keeper.handleInputRows((bucket,), iter(SimpleNamespace(rows=part) for part in parts), None):
                out = pa.RecordBatch.from_pydict({"rows": pa.array([row.rows], pa.binary())})
                for back in _apart(target.arrow)(iter([out])):
                    made.extend(read(back))
        yield made
