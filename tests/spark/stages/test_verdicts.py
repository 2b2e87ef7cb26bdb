"""verdicts: each operator of the catalogue on Spark: what the table says is refused is, and everything else runs.

It runs through the functions that Spark calls in its executors; `test_differential.py` has Spark itself call them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from penstock import Flow, Next, Stream, flow
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import operator_name
from penstock.flow import Hole
from penstock.spark import Schema, StageError, keyed_by, per_partition
from penstock.spark.stages.executing import stage_function
from penstock.spark.stages.refusals import check_pieces, check_sight
from penstock.spark.stages.scopes import Scoped
from penstock.spark.stages.verdicts import Extent, line_of, refusal
from penstock.stage import Sight, Source, Tie
from scripts.operators_on_spark import PAGE, classes_of, page, rows
from tests.operators.catalogue import ENTRIES, Entry
from tests.spark.stages.pieces import in_pieces

ROWS = Schema.of(pa.schema([("k", pa.int64()), ("n", pa.int64())]))
TEXT = Schema.of(pa.schema([("text", pa.string())]))
HELD = [(n * n % 3, n) for n in range(1, 9)]
AS_ELEMENTS: dict[str, Callable[[int], Any]] = {
    "buffer_until": lambda n: "ab."[n % 3],
    "buffer_while": lambda n: "ab."[n % 3],
    "dematerialize": Next,
    "flatten": lambda n: [n] * (n % 3),
    "starmap": lambda n: (n, 1),
}


def numbered(name: str) -> Callable[[Any], Any]:
    return AS_ELEMENTS.get(name.partition("-")[0], int)


def made(name: str, entry: Entry) -> Flow[Any, Any] | None:
    """Return a Flow from rows to text with the operator in it; None for one that begins a stream."""
    element = numbered(name)
    try:
        return flow(lambda rows: entry.make(rows.map(lambda row: element(row[1]))).map(repr))
    except TypeError:
        return None


def in_process(name: str, entry: Entry, numbers: list[int]) -> Counter[str]:
    return Counter(map(repr, entry.make(Stream.from_iterable(list(map(numbered(name), numbers))))))


FLOWS = {name: made_flow for name, entry in ENTRIES.items() if (made_flow := made(name, entry)) is not None}
SCOPES: dict[Extent, Scoped | None] = {
    Extent.ALONE: None,
    Extent.PARTITION: per_partition(flow(lambda rows: rows))._chain.source,  # type: ignore[dict-item]
    Extent.KEY: keyed_by(flow(lambda rows: rows), "k")._chain.source,  # type: ignore[dict-item]
}


def expected(chain: Chain, extent: Extent) -> str | None:
    """Return what the first step that is refused is refused with."""
    for step, _, _ in line_of(chain):
        found = refusal(step, extent, operator_name(step))
        if found is not None:
            return re.escape(": ".join(found))
    return None


def check(chain: Chain, extent: Extent) -> None:
    """Refuse what spark.stage would, on a batch or, for keys of a stream, when it is given the DataFrame."""
    check_sight(chain, SCOPES[Extent.KEY if extent is Extent.KEY_STREAM else extent])
    if extent is Extent.KEY_STREAM:
        check_pieces(chain)


def run(made_flow: Flow[Any, Any], batches: list[Any], places: tuple[int, ...] = ()) -> Counter[str]:
    function = stage_function(made_flow, ROWS, TEXT, rows="tuple", places=places)
    return Counter(text for batch in function(iter(batches)) for text in batch.column(0).to_pylist())


@pytest.mark.parametrize("name", FLOWS)
def test_an_operator_runs_on_spark_or_is_refused_with_the_reason_of_the_table(name: str) -> None:
    entry, made_flow = ENTRIES[name], FLOWS[name]
    ran = 0
    for extent in Extent:
        why = expected(made_flow._chain, extent)
        if why is not None:
            with pytest.raises(StageError, match=f"{why}$"):
                check(made_flow._chain, extent)
            continue
        check(made_flow._chain, extent)
        ran += 1
        keys = {key: [n for k, n in HELD if k == key] for key in (0, 1)}
        per_key = sum((in_process(name, entry, numbers) for numbers in keys.values()), Counter[str]())
        if extent is Extent.ALONE:
            cut = run(made_flow, [ROWS.batch(HELD[:3])]) + run(made_flow, [ROWS.batch(HELD[3:])])
            assert cut == in_process(name, entry, [n for _, n in HELD])
        elif extent is Extent.PARTITION:
            whole = run(made_flow, [ROWS.batch(HELD[:5]), ROWS.batch(HELD[5:])])
            assert whole == in_process(name, entry, [n for _, n in HELD])
        elif extent is Extent.KEY:
            by_key = sorted(HELD, key=lambda row: row[0])
            assert run(made_flow, [ROWS.batch(by_key[:5]), ROWS.batch(by_key[5:])], places=(0,)) == per_key
        else:
            cuts = [HELD[:1], HELD[1:4], [], HELD[4:]]
            pieces = in_pieces(made_flow, ROWS, TEXT, ["k"], cuts, rows="tuple")
            assert Counter(row.text for piece in pieces for row in piece) == per_key
    shared = {step.tie for step, _, _ in line_of(made_flow._chain)} & {Tie.AGAIN, Tie.SHARED, Tie.BOOKS}
    assert (ran == 0) == bool(shared)


def test_every_class_of_every_operator_is_tried_or_begins_a_stream() -> None:
    tried = {type(step) for made_flow in FLOWS.values() for step, _, _ in line_of(made_flow._chain)}
    for row in rows():
        words = {word for word, _ in row.cells}
        if words == {"start"}:
            assert issubclass(row.kind, Source)
        elif row.name != "publish":  # it cannot be used without connecting it
            assert not tried.isdisjoint(classes_of(row.name)), row.name


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text() == page(), "python -m scripts.operators_on_spark --write"


def test_what_treats_each_element_alone_has_no_tie_to_speak_of() -> None:
    for row in rows():
        if issubclass(row.kind, Source):
            assert row.kind.tie is not Tie.ORDER, row.name
        elif row.kind.sight is Sight.ITEM:
            assert {why for _, why in row.cells} == {None}


def test_a_hole_that_is_not_the_flows_own_is_no_part_of_its_line() -> None:
    other = Stream.just(1).retry(2)
    merged = flow(lambda rows: rows.map(len).merge(other))
    assert [operator_name(step) for step, _, _ in line_of(merged._chain)] == ["map", "merge"]
    assert [*line_of(Chain(Hole()))] == []
