"""refusals: what cannot run inside the executors, or would answer differently there, is refused before it starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import cloudpickle
from pyspark.sql.types import TimestampType

from penstock.bridges.shared.columns import SchemaError
from penstock.engine.places.clocks import SYSTEM_CLOCK
from penstock.engine.runs.chain import Chain, inner_chains
from penstock.engine.weaving.blame import describe, operator_name
from penstock.errors import PenstockError
from penstock.flow import Elsewhere, Hole
from penstock.run.graft import graft
from penstock.run.pieces.stepping import is_woken
from penstock.spark.stages.scopes import Scoped
from penstock.spark.stages.verdicts import BETWEEN, NO_VALUE, Extent, gives_streams, has_hole, line_of, refusal
from penstock.spark.wire.schema import Schema
from penstock.stage import Joint, Source, Step, Tie


class StageError(PenstockError):
    """The error that a Flow cannot run inside the executors, with what can be done about it."""


def scope_of(chain: Chain) -> Scoped | None:
    """Return the scope of a Flow that has one."""
    source = chain.source
    if not isinstance(source, Scoped):
        return None
    if chain.steps or source.stream.steps or not isinstance(source.stream.source, Hole):
        raise StageError(
            f"stage: {source} must be a separate stage; give what comes before or after it one, too,"
            " or put it into the flow that has the scope"
        )
    return source


def check_sight(chain: Chain, scope: Scoped | None) -> None:
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
    _check(chain, "stage", Extent.ALONE if scope is None else Extent.KEY if scope.keys else Extent.PARTITION)


def check_pieces(chain: Chain) -> None:
    """Refuse what cannot go on from one micro-batch to the next."""
    _check(chain, "keyed_by", Extent.KEY_STREAM)
    _check_streams(chain)
    for step, _, _ in line_of(chain):
        if is_woken(step) and (make := type(step).waits) is not None and make(step) is None:  # type: ignore[union-attr]
            why, cure = NO_VALUE[Tie.INPUTS]
            raise StageError(f"keyed_by: {operator_name(step)} {BETWEEN}: {why}: give it seconds, or {cure}")


def _check_streams(chain: Chain) -> None:
    """Refuse a step that divides a stream where the next one does not make elements of what it gives."""
    steps = [step for step, _, _ in line_of(chain)]
    for place, step in enumerate(steps):
        behind = steps[place + 1] if place + 1 < len(steps) else None
        if not isinstance(step, Joint) or step.divides is None:
            continue
        name = operator_name(step)
        if not isinstance(behind, Joint) or not behind.reads:
            raise StageError(
                f"keyed_by: {name} gives streams, and these live no longer than a micro-batch:"
                " let flat_map(fn, concurrency=n) or concat_map(fn) follow it, which make elements of each"
            )
        rule = type(step).divides(step)  # type: ignore[misc]
        if rule.named and behind.reads == 1:
            raise StageError(
                f"keyed_by: {operator_name(behind)} reads one stream of {name} after the other, and they are open side"
                " by side: let flat_map(fn, concurrency=n) with a greater n follow it"
            )
        if not rule.named:  # what a function makes of a name cannot be known before there is one
            mapper: Any = behind
            check_stream(mapper.fn(rule.made(0, Chain(Hole()))), step, behind)


def check_stream(made: object, divider: Joint[Any, Any], mapper: Joint[Any, Any]) -> Chain:
    """Return the chain that a function has made of a stream, refusing what cannot go on between micro-batches."""
    name = operator_name(divider)
    chain = getattr(made, "_chain", None)
    found = line_of(chain) if isinstance(chain, Chain) else ()
    if not isinstance(chain, Chain) or not has_hole(chain):
        raise StageError(
            f"keyed_by: the function of {operator_name(mapper)} behind {name} must return a Stream that is made of the"
            f" one it is given, got {made!r}"
        )
    check_pieces(chain)
    check_clocks(chain)
    for step, _, _ in found:
        if is_woken(step) and (rule := type(step).waits(step)) is not None and rule.lingers:  # type: ignore[union-attr, misc]
            raise StageError(
                f"keyed_by: {operator_name(step)} would hold what comes of a stream of {name} beyond its end:"
                f" put it behind {operator_name(mapper)}"
            )
    return chain


def check_times(chain: Chain) -> None:
    """Refuse what cannot go by the times of rows."""
    check_pieces(chain)
    check_clocks(chain)
    for step, _, _ in line_of(chain):
        if is_woken(step) and (rule := type(step).waits(step)) is not None and rule.endless:  # type: ignore[union-attr, misc]
            raise StageError(
                f"keyed_by: {operator_name(step)} would fill the time between rows for ever where steps go by the times"
                " of these: leave it out, or leave out time"
            )


def check_clocks(chain: Chain) -> None:
    """Refuse a step that time wakes by a clock of the user's: the time of the query's checkpoint counts."""
    for step, _, _ in line_of(chain):
        clocks = [getattr(source, "clock", None) for source in (step, *(one.source for one in _inner(step)))]
        timed = is_woken(step) or gives_streams(step)
        if timed and not all(clock is None or isinstance(clock, type(SYSTEM_CLOCK)) for clock in clocks):
            raise StageError(
                f"keyed_by: {operator_name(step)} has a clock, and where Spark keeps its state the time comes with the"
                " rows: leave clock out"
            )


def _inner(step: Step | Source[Any]) -> list[Chain]:
    return [one for one in inner_chains(step) if not one.steps] if isinstance(step, Source) else []


def _check(chain: Chain, operator: str, extent: Extent) -> None:
    for step, number, total in line_of(chain):
        name = operator_name(step)
        found = refusal(step, extent, name)
        if found is not None:
            where = name if isinstance(step, Source) else f"{describe(step)}, step {number} of {total},"
            raise StageError(f"{operator}: {where} {': '.join(found)}")


def check_pickles(chain: Chain) -> None:
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


def check_columns(source: Schema, scope: Scoped) -> None:
    """Refuse keys, an order and a time that the rows do not have."""
    for name in (*scope.keys, *scope.order_by, *(() if scope.time is None else (scope.time,))):
        if name not in source.names:
            raise SchemaError(f"keyed_by: column {name!r} must be one of {list(source.names)}", field=name)
    for name in scope.keys:
        # -0.0 and 0.0, one NaN and another, and maps are one key to some parts of Spark and two to others.
        for unlike, what in ((pa.types.is_floating, "a floating-point number"), (pa.types.is_map, "a map")):
            if _has(source.arrow.field(name).type, unlike):
                raise SchemaError(
                    f"keyed_by: key {name!r} must not be or hold {what}; make a whole number or a text of it before",
                    field=name,
                )
    if scope.time is not None and not isinstance(source.struct[scope.time].dataType, TimestampType):
        kind = source.struct[scope.time].dataType.simpleString()
        raise SchemaError(f"keyed_by: time {scope.time!r} must be a timestamp, got {kind}", field=scope.time)


def _has(kind: pa.DataType, unlike: Callable[[pa.DataType], bool]) -> bool:
    """Tell whether a type is of a kind, or holds one that is."""
    return unlike(kind) or any(_has(kind.field(place).type, unlike) for place in range(kind.num_fields))


__all__ = [
    "StageError",
    "check_clocks",
    "check_columns",
    "check_pickles",
    "check_pieces",
    "check_sight",
    "check_stream",
    "check_times",
    "scope_of",
]
