"""columnwise: steps that see each element alone run from rows to columns, with the answers and errors of other ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, make_dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from penstock import Recorder, Stream, flow
from penstock.bridges.shared.rows import columns_of
from penstock.engine.watching.observe import observe
from penstock.spark import Schema, SchemaError
from penstock.spark.stages import columnwise as ways
from penstock.spark.stages.columnwise import columns_weaver, opening_of, segment_alone
from penstock.spark.stages.executing import stage_function
from penstock.spark.wire.packing import packed

AB = Schema.of("a long, b string")


class Named(NamedTuple):
    a: int
    b: str


class Turned(NamedTuple):
    b: str
    a: int


class Counted(NamedTuple):
    """Be a tuple whose items are not those that it is made of."""

    a: int
    b: str

    def __iter__(self) -> Iterator[Any]:
        return iter((self[0] + 1, self[1]))


@dataclass(frozen=True, slots=True)
class Slotted:
    b: str
    a: int


class Dict(dict[str, Any]):
    """Be a mapping that is not a plain dictionary."""


FORMS: dict[str, Callable[[int, str], Any]] = {
    "tuple": lambda a, b: (a, b),
    "list": lambda a, b: [a, b],
    "named": Named,
    "turned": lambda a, b: Turned(b, a),
    "slotted": lambda a, b: Slotted(b, a),
    "dict": lambda a, b: {"b": b, "a": a},
    "mapping": lambda a, b: Dict(a=a, b=b),
    "Row of Spark": lambda a, b: Row(b=b, a=a),
    "Arrow": lambda a, b: pa.RecordBatch.from_pydict({"b": [b], "a": [a]}),
}


def made_of(
    fn: Callable[[Any], Any], rows: list[Any], size: int = 100, source: Schema = AB, target: Schema = AB
) -> Any:
    """Return what comes of rows by the function for executors, batch by batch."""
    batches = (source.batch(rows[at : at + size]) for at in range(0, len(rows), size))
    return stage_function(flow(lambda s: s.map(fn)), source, target, rows="tuple")(batches)


def listed(batches: Any) -> list[Any]:
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


@given(st.lists(st.sampled_from(sorted(FORMS)), max_size=60), st.integers(1, 70))
def test_results_of_all_classes_come_in_order_however_they_are_mixed(names: list[str], size: int) -> None:
    rows = [(n, name) for n, name in enumerate(names)]
    assert listed(made_of(lambda row: FORMS[row[1]](*row), rows, size)) == rows


@pytest.mark.parametrize("form", FORMS)
def test_many_results_of_one_class_come_in_order(form: str) -> None:
    rows = [(n, str(n)) for n in range(3000)]
    assert listed(made_of(lambda row: FORMS[form](*row), rows, 1100)) == rows


@pytest.mark.parametrize("form", sorted(set(FORMS) - {"mapping", "Row of Spark", "Arrow"}))
def test_plain_classes_have_a_short_way_that_gives_what_the_long_one_does(form: str) -> None:
    row = FORMS[form](7, "x")
    opening = opening_of(type(row), AB.names)
    assert opening is not None
    known: dict[str, Any] = {"v": row}
    exec("\n".join(line for line in opening if not line.startswith("if ")), known)
    assert [[known["a0"]], [known["a1"]]] == [list(column) for column in columns_of(AB.names, (row,), 0)]


@pytest.mark.parametrize(
    "kind", [Dict, Row, Counted, pa.RecordBatch, pa.Table, make_dataclass("Other", ["a", "c"]), str, int]
)
def test_other_classes_have_none(kind: type) -> None:
    assert opening_of(kind, AB.names) is None


def test_a_single_column_takes_bare_values() -> None:
    n = Schema.of("n long")
    assert listed(made_of(lambda row: row[0], [(1,), (2,)], source=n, target=n)) == [(1,), (2,)]
    assert listed(made_of(lambda row: (row[0],), [(1,), (2,)], source=n, target=n)) == [(1,), (2,)]
    words = Schema.of("word string")
    assert listed(made_of(lambda row: "ab" * row[0], [(1,), (2,)], source=n, target=words)) == [("ab",), ("abab",)]


# What does not fit is said as it is elsewhere, and is no error of a step.


@pytest.mark.parametrize(
    "wrong",
    [(1,), (1, "x", 2), [1], {"a": 1}, {"a": 1, "c": 2}, {"a": 1, "b": "x", "c": 2}, "ab", 5, {1, 2}, ("x", 1)],
    ids=repr,
)
def test_a_result_that_does_not_fit_is_refused_in_the_words_of_packed(wrong: Any) -> None:
    rows = [(n, "x") for n in range(40)]
    given: list[Any] = [*rows[:37], wrong, *rows[38:]]
    with pytest.raises(SchemaError) as there:
        list(packed(given, AB))
    with pytest.raises(SchemaError) as here:
        list(made_of(lambda row: given[row[0]], rows))
    assert str(here.value) == str(there.value)
    assert str(here.value).startswith("row 37: ")
    assert here.value.row == there.value.row == 37
    assert not getattr(here.value, "__notes__", [])


def test_rows_are_counted_on_where_the_long_way_takes_over() -> None:
    rows = [(n, "x") for n in range(40)]
    given: list[Any] = [*rows[:20], Row(a=20, b="x"), *rows[21:37], (1,), *rows[38:]]
    with pytest.raises(SchemaError, match=r"^row 37: must have 2 fields \(a, b\), got 1: \(1,\)$"):
        list(made_of(lambda row: given[row[0]], rows))


def test_none_is_no_result() -> None:
    with pytest.raises(TypeError, match=r"^rule 2.13: None is not an element; .*\nin map\("):
        list(made_of(lambda row: None, [(1, "x")]))


# Errors name their step.


def broken(row: Any) -> Any:
    if row[0] == 30:
        raise LookupError("30")
    return row


def test_an_error_names_its_step_as_in_process() -> None:
    steps = flow(lambda rows: rows.map(tuple).filter(len).map(broken))
    rows = [(n, "x") for n in range(40)]
    with pytest.raises(LookupError) as there:
        list(Stream.from_iterable(rows) | steps)
    with pytest.raises(LookupError) as here:
        list(stage_function(steps, AB, AB, rows="tuple")(iter([AB.batch(rows)])))
    assert here.value.__notes__ == there.value.__notes__
    assert re.match(r"in map\(broken\), step 3 of 3, test_columnwise\.py:\d+$", here.value.__notes__[0])


def test_a_stop_that_leaks_from_a_function_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r": the function raised StopIteration; that is an error, not an end\n"):
        list(made_of(lambda row: next(iter(())), [(1, "x")]))


def test_an_error_of_a_class_of_rows_is_one_of_the_source() -> None:
    made = flow(lambda rows: rows.map(lambda row: (row.a, "x")))
    n = Schema.of("a long")
    with pytest.raises(ValueError, match=r"^no 3\n") as caught:
        list(stage_function(made, n, AB, rows=Picky)(iter([n.batch([(1,), (3,)])])))
    assert caught.value.__notes__ == ["in the source"]


@dataclass
class Picky:
    a: int

    def __post_init__(self) -> None:
        if self.a == 3:
            raise ValueError("no 3")


# Which steps go this way, and how batches are cut.


def test_steps_that_remember_end_or_add_go_another_way() -> None:
    def alone(make: Callable[[Stream[Any]], Stream[Any]]) -> bool:
        return segment_alone(make(Stream.from_iterable([]))._chain) is not None

    assert alone(lambda s: s)
    assert alone(lambda s: s.map(str).filter(len).tap(print))
    assert not alone(lambda s: s.take(2))
    assert not alone(lambda s: s.scan(max, 0))
    assert not alone(lambda s: s.start_with(1))
    assert not alone(lambda s: s.map(str).flat_map(list))
    assert not alone(lambda s: s.map(str).on_error_return(1))
    many = Stream.from_iterable([])
    for _ in range(300):  # more than one loop has room for
        many = many.map(str)
    assert segment_alone(many._chain) is None


def test_a_listener_sees_the_steps() -> None:
    recorder = Recorder()
    with observe(recorder):
        assert segment_alone(Stream.from_iterable([]).map(str)._chain) is None


def test_batches_grow_while_they_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "monotonic", lambda: 0.0)
    rows = [(n, "x") for n in range(40_000)]
    batches = list(made_of(lambda row: row, rows, 40_000))
    sizes = [batch.num_rows for batch in batches]
    assert sizes[:10] == [16 << at for at in range(10)]
    assert max(sizes) == 10_000
    assert listed(batches) == rows


def test_batches_shrink_to_a_row_where_the_function_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def slow(row: Any) -> Any:
        clock[0] += 1.0
        return row

    monkeypatch.setattr(ways, "monotonic", lambda: clock[0])
    batches = list(made_of(slow, [(n, "x") for n in range(40)], 40))
    assert [batch.num_rows for batch in batches] == [16, 8, 4, 2, *[1] * 10]


def test_rows_of_a_slow_source_do_not_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(ways, "monotonic", lambda: clock[0])

    def slow() -> Iterator[Any]:
        for number in range(1000):
            clock[0] += 1.0 if number > 500 else 0.0
            yield AB.batch([(number, "x")])

    found = stage_function(flow(lambda rows: rows.map(tuple)), AB, AB, rows="tuple")(slow())
    sizes = [batch.num_rows for batch in found]
    assert sum(sizes) == 1000
    assert sizes[-400:] == [1] * 400
    assert max(sizes) > 100


def test_what_little_is_left_over_is_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "monotonic", lambda: 0.0)
    n = Schema.of("n long")
    batches = (n.batch([(at,) for at in range(first, first + 1000)]) for first in range(0, 100_000, 1000))
    kept = flow(lambda rows: rows.filter(lambda row: row[0] % 100 == 0))
    found = list(stage_function(kept, n, n, rows="tuple")(batches))
    assert listed(found) == [(at,) for at in range(0, 100_000, 100)]
    assert len(found) < 10


def test_a_loop_is_woven_once_for_results_of_a_form() -> None:
    assert columns_weaver(("a0 = v",), 1) is columns_weaver(("a0 = v",), 1)
