"""scoping: say which elements a Flow may see together on Spark, and by which time its steps go."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from penstock.engine.places.clocks import seconds_of
from penstock.engine.runs.chain import Chain
from penstock.flow import Flow, Hole
from penstock.spark.stages.event_time import times_here
from penstock.spark.stages.scopes import Scoped

A = TypeVar("A")
B = TypeVar("B")


def per_partition(flow: Flow[A, B]) -> Flow[A, B]:
    """Let a Flow see the rows of one partition together, in the order in which Spark has them.

    How rows are divided is Spark's choice, so this is for what is right however they are: batches for a bulk request,
    a running check. On a streaming DataFrame it is a partition of one micro-batch.

    Args:
        flow: What is done to the rows of one partition.
    """
    _check_flow("per_partition", flow)
    return _part(Scoped(_HOLE, flow))


def keyed_by(
    flow: Flow[A, B],
    *keys: str,
    order_by: str | tuple[str, ...] = (),
    time: str | None = None,
    watermark: float | timedelta | None = None,
) -> Flow[A, B]:
    """Run a Flow over the rows of each key separately, sorted by the columns `order_by`.

    Without `order_by` the rows of a key come in whatever order Spark has them. Needs memory for one batch, however
    many rows a key has. On a streaming DataFrame Spark keeps what the steps remember of each key, and the rows of a key
    are sorted within each micro-batch, in memory.

    With `time`, the name of a column, the steps go by the times of the rows: these come in the order of their times,
    and steps such as `debounce` or `window(gap=...)` wait in that time. A row is held until rows that are newer by more
    than the `watermark`, in seconds, have come; one that comes later than that is dropped.

    Args:
        flow: What is done to the rows of one key.
        *keys: The columns that the key consists of.
        order_by: The columns by which its rows are sorted.
        time: The column that holds the times of the rows.
        watermark: How many seconds a row may come late, by these times.
    """
    _check_flow("keyed_by", flow)
    if not keys:
        raise TypeError("keyed_by: keys must be at least one name of a column, got none")
    order = (order_by,) if isinstance(order_by, str) else tuple(order_by)
    for name in (*keys, *order):
        if not isinstance(name, str):
            raise TypeError(f"keyed_by: keys must be names of columns, got {name!r}")
    if (time is None) != (watermark is None):
        raise TypeError(
            "keyed_by: time and watermark must be given together: the name of a column, and how many seconds its rows"
            f" may come late, got time={time!r}, watermark={watermark!r}"
        )
    if time is None or watermark is None:
        return _part(Scoped(_HOLE, flow, keys, order))
    if not isinstance(time, str):
        raise TypeError(f"keyed_by: time must be the name of a column, got {time!r}")
    behind = seconds_of("keyed_by", "watermark", watermark)
    return _part(Scoped(_HOLE, flow, keys, order, time, behind, times_here))


_HOLE = Chain(Hole())


def _check_flow(operator: str, flow: object) -> None:
    if not isinstance(flow, Flow):
        raise TypeError(f"{operator}: flow must be a Flow, made with @flow, got {flow!r}")
    if isinstance(flow._chain.source, Scoped):
        raise TypeError(f"{operator}: flow must not have a scope already, got {flow._chain.source}")


def _part(scope: Scoped) -> Flow[Any, Any]:
    flow = scope.flow
    whole: Flow[Any, Any] = Flow(flow._chain)  # what is sent to the executors has no need of the rest
    return Flow(Chain(replace(scope, flow=whole)), takes=flow.takes, gives=flow.gives)


__all__ = ["keyed_by", "per_partition"]
