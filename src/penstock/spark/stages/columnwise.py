"""columnwise: run steps that see each element alone over record batches, straight from rows to columns.

Most stages are made of `map`, `filter` and the like. Their loop is called with the rows of a record batch and appends
to the columns of the next one, so that no row passes through an iterator on its way or is kept with others. How results
are taken apart is learned from the first of them; one of another class is looked at by itself. What gives Arrow
batches, or rows of a class that has no short way, goes through `packed` from there on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from time import monotonic
from typing import Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.bridges.shared.rows import columns_of, fields_of
from penstock.engine.runs.chain import Chain
from penstock.engine.watching.observe import is_observed
from penstock.engine.weaving.segment import Segment
from penstock.engine.weaving.weave import Weaver
from penstock.spark.wire.packing import FIRST_BATCH, MOST_ROWS, QUICK, SLOW, RecordBatches
from penstock.spark.wire.schema import Schema
from penstock.stage import Body

Loop = Callable[[Iterator[Any], list[list[Any]]], "tuple[Any] | None"]
"""A loop over rows that appends to columns; it returns a result that it cannot take apart."""


class _Unknown:
    """The class of no result."""


def segment_alone(steps: Chain) -> Segment | None:
    """Return the stages of a chain if they are all it has and each element is treated alone; None otherwise."""
    segment = steps.head
    if len(segment.stages) < len(steps.steps) or not segment.one_loop or is_observed(steps):
        return None
    return segment if _can_be_columns([stage.body for stage in segment.stages]) else None


def _can_be_columns(bodies: Sequence[Body]) -> bool:
    """Tell whether bodies keep nothing, add nothing and never end, so that a loop of theirs can begin anywhere."""
    return not any(body.state or body.head or body.each or body.tail or body.ends for body in bodies)


def columnwise(
    segment: Segment,
    batches: RecordBatches,
    reader: Callable[[Any], Iterator[Any]],
    target: Schema,
    otherwise: Callable[[Any, Iterator[Any], int], RecordBatches],
) -> RecordBatches:
    """Run stages over the rows of record batches and put what comes out into others.

    `otherwise` does the rest where this cannot: it gets the first such result, the rows that have not been read, and
    how many rows have come out before. Batches are as large as they can be without making rows of a slow source, or of
    a slow function, wait for others.
    """
    names = target.names
    columns: list[list[Any]] = [[] for _ in names]
    loop = _loop(segment, names, _Unknown, opening_of(tuple, names))
    first, size = 0, FIRST_BATCH
    asked = since = monotonic()
    for batch in batches:
        came = monotonic()
        slow_source = came - asked > QUICK
        at = 0
        while at < batch.num_rows:
            part = batch.slice(at, size)
            at += part.num_rows
            rows = reader(part)
            while (left := loop(rows, columns)) is not None:
                (row,) = left
                kind, count = type(row), first + len(columns[0])
                opening = opening_of(kind, names)
                if opening is None:
                    if columns[0]:
                        yield target.batch_of(columns, first)
                    unread = chain((batch.slice(at),), batches)
                    yield from otherwise(row, chain(rows, chain.from_iterable(map(reader, unread))), count)
                    return
                for column, values in zip(columns, columns_of(names, (row,), count, {kind}), strict=True):
                    column.extend(values)
                loop = _loop(segment, names, kind, opening)
            now = monotonic()
            if 2 * len(columns[0]) >= size or now - since > SLOW or (slow_source and at == batch.num_rows):
                if columns[0]:
                    yield target.batch_of(columns, first)
                first += len(columns[0])
                columns = [[] for _ in names]
                since = monotonic()
            if now - came < QUICK:
                size = min(2 * size, MOST_ROWS)
            elif now - came > SLOW:
                size = max(size // 2, 1)
            came = monotonic()
        asked = monotonic()
    if columns[0]:
        yield target.batch_of(columns, first)


def _loop(segment: Segment, names: tuple[str, ...], kind: type, opening: tuple[str, ...] | None) -> Loop:
    """Return the loop for results of a class; it is woven once."""
    ((function, where, fields),) = segment.prepared("free", None, columns_weaver(opening or (), len(names)))
    return lambda rows, columns: function(rows, columns, kind, where, *fields)


def opening_of(kind: type[Any], names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the lines that take a result of a class apart into `a0`, `a1` and so on; None if it takes more than that.

    They give what `columns_of` gives, or fail.
    """
    places = [f"a{place}" for place in range(len(names))]
    if issubclass(kind, pa.RecordBatch | pa.Table) or hasattr(kind, "__fields__"):
        return None
    if issubclass(kind, Mapping):
        if kind is not dict:
            return None
        return (
            f"if len(v) != {len(names)}: return (v,)",
            *(f"{a} = v[{name!r}]" for a, name in zip(places, names, strict=True)),
        )
    own = fields_of(kind)
    if own is None:
        if kind in {tuple, list}:
            return (f"{', '.join(places)}, = v",)
        return ("a0 = v",) if len(names) == 1 and not issubclass(kind, tuple | list) else None
    if set(own) != set(names):
        return None
    if dataclasses.is_dataclass(kind):
        return tuple(f"{a} = v.{name}" for a, name in zip(places, names, strict=True))
    if kind.__iter__ is not tuple.__iter__:
        return None
    return (f"{', '.join(places[names.index(name)] for name in own)}, = v",)


class ColumnsWeaver(Weaver):
    """The writer of a loop from rows to columns; the rows are known to hold no None.

    Where every element is treated alone and gives one element at most, no loop has to be left half-way, and what comes
    out need not be handed over one by one: the loop itself takes each result apart. For `map(f)`, `filter(p)`, of which
    tuples of two come:

        def run(rows, columns, kind, where, c0_fn, c1_predicate):
            l0, l1 = columns                          # a list for each
            try:
                for v in rows:
                    v = c0_fn(v)
                    if not c1_predicate(v): continue
                    if type(v) is not kind: return (v,)
                    try:
                        a0, a1 = v
                    except Exception: return (v,)
                    l0.append(a0); l1.append(a1)      # which CPython has an instruction for
            except Exception as error: ...            # names the stage and the function by the line it happened in

    A result that is of another kind, or cannot be taken apart like this, is returned: the caller sees to it, and may go
    on with the same rows, of which it was the last one read. So an error of the caller's is not taken for one of a
    stage.
    """

    arguments = "rows, columns, kind, where"
    opening: ClassVar[tuple[str, ...]]
    """The lines that take an element `v` apart into `a0`, `a1` and so on."""
    width: ClassVar[int]
    """How many columns there are."""

    def emit(self) -> None:
        """Put an element into the columns."""
        self.line("if type(v) is not kind: return (v,)")
        with self.under("try:"):
            for text in self.opening:
                self.line(text)
        self.line("except Exception: return (v,)")
        self.line("; ".join(f"l{place}.append(a{place})" for place in range(self.width)))

    def function(self) -> None:
        """Write what stands in the function."""
        self.line(f"{''.join(f'l{place}, ' for place in range(self.width))}= columns")
        with self.under("try:"), self.under("for v in rows:"):
            self.elements(0, 0)
        with self.under("except Exception as error:"):
            self.line("raise fail(None, where, error)")


@lru_cache(maxsize=256)
def columns_weaver(opening: tuple[str, ...], width: int) -> type[ColumnsWeaver]:
    """Return the writer of loops whose results are taken apart by some lines."""
    return type("ColumnsWeaver", (ColumnsWeaver,), {"opening": opening, "width": width})


__all__ = ["columns_weaver", "columnwise", "opening_of", "segment_alone"]
