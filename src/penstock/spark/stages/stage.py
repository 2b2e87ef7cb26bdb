"""stage: the DataFrame step that runs a recorded Flow inside the executors, all of it as one mapInArrow.

A step of the Flow that sees each element alone gives the same answer wherever the elements are. One that sees
neighbours does not: it is refused, unless it is said what it may see, by per_partition(flow) or keyed_by(flow, "key").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from penstock.flow import Flow
from penstock.spark.stages.executing import stage_function
from penstock.spark.stages.refusals import (
    check_columns,
    check_pickles,
    check_sight,
    check_times,
    scope_of,
)
from penstock.spark.wire.schema import Form, Schema, addressed


def stage(
    flow: Flow[Any, Any],
    schema: Schema,
    *,
    rows: Form | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Return the DataFrame step that runs a Flow inside the executors."""
    if not isinstance(flow, Flow):
        raise TypeError(f"stage: flow must be a Flow, made with @flow, got {flow!r}")
    scope = scope_of(flow._chain)
    inner = flow if scope is None else scope.flow
    check_sight(inner._chain, scope)
    check_pickles(inner._chain)
    if scope is not None and scope.time is not None:
        check_times(inner._chain)

    def step(df: DataFrame) -> DataFrame:
        source = Schema.of(df.schema)
        source.reader(rows)  # refuses a form that does not fit here, instead of in a task
        df = addressed(df)
        keys = scope.keys if scope is not None else ()
        if keys:
            assert scope is not None
            check_columns(source, scope)
            if df.isStreaming:
                from penstock.spark.stages.stateful import keyed_stream  # noqa: PLC0415  few have states

                return keyed_stream(df, inner, source, schema, rows, scope)
            timed = () if scope.time is None else (scope.time,)
            by = dict(zip(source.names, df.columns, strict=True))
            df = df.repartition(*map(by.__getitem__, keys))
            df = df.sortWithinPartitions(*map(by.__getitem__, (*keys, *timed, *scope.order_by)))
        places = tuple(source.names.index(name) for name in keys)
        if scope is not None and scope.time is not None:
            from penstock.spark.stages.event_time import timed_function  # noqa: PLC0415  few go by it

            function = timed_function(inner, source, schema, rows, places, source.names.index(scope.time))
            return df.mapInArrow(function, schema.struct)
        return df.mapInArrow(stage_function(inner, source, schema, rows=rows, places=places), schema.struct)

    return step


__all__ = ["stage"]
