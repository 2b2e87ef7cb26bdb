"""Columns: values come back from Arrow as Arrow itself gives them, only sooner, and go there only if they fit."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bridges.shared import columns
from penstock.bridges.shared.columns import SchemaError, array_of, values_of

MICROSECONDS = [0, None, 1, -1, 1_700_000_000_123_456, -62_135_596_800_000_000, 253_402_214_400_000_000]


def of(values: list[Any], kind: pa.DataType, through: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, through or kind).cast(kind)


@pytest.mark.parametrize("zone", [None, "UTC", "Etc/UTC", "+00:00", "Asia/Kolkata", "America/New_York", "-03:30"])
@pytest.mark.parametrize("part", [slice(None), slice(2, 5), slice(1, 2), slice(0, 0)])
def test_moments_are_those_of_arrow(zone: str | None, part: slice) -> None:
    far = zone is not None and not zone.endswith(("UTC", "+00:00"))
    moments = MICROSECONDS[:5] if far else MICROSECONDS  # there the first and the last are outside of Python's years
    column = of(moments, pa.timestamp("us", zone), pa.int64())[part]
    assert repr(values_of(column)) == repr(column.to_pylist())


def test_a_moment_that_happens_twice_is_told_apart() -> None:
    column = of([1_730_611_800_000_000, 1_730_615_400_000_000], pa.timestamp("us", "America/New_York"), pa.int64())
    one, two = values_of(column)
    assert (one.hour, one.fold, two.hour, two.fold) == (1, 0, 1, 1)


def test_dates_are_those_of_arrow() -> None:
    column = of([0, None, -1, 19_000, 2_932_896], pa.date32(), pa.int32())
    assert values_of(column) == column.to_pylist()
    assert values_of(column)[1:3] == [None, dt.date(1969, 12, 31)]


@pytest.mark.parametrize(
    ("kind", "through", "value"),
    [(pa.timestamp("us"), pa.int64(), 2**62), (pa.date32(), pa.int32(), 2**30), (pa.date32(), pa.int32(), 2_932_897)],
)
def test_what_python_cannot_say_is_refused_as_arrow_does(kind: pa.DataType, through: pa.DataType, value: int) -> None:
    column = of([value], kind, through)
    with pytest.raises((OverflowError, ValueError)) as expected:
        column.to_pylist()
    with pytest.raises(type(expected.value)) as found:
        values_of(column)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1, None], None, []]),
        pa.array([{"a": 1, "b": [dt.date(2020, 1, 1)]}, None]),
        pa.array([1, None, 2**40]),
        pa.array(["a", None]),
        pa.array([True, None]),
        pa.array([1.5, None]),
        pa.array([dt.timedelta(seconds=1), None]),
        pa.array([dt.time(1, 2), None]),
        of([1, None], pa.timestamp("ms", "UTC"), pa.int64()),
    ],
    ids=lambda column: str(column.type),
)
def test_everything_else_is_left_to_arrow(column: pa.Array) -> None:
    assert values_of(column) == column.to_pylist()


@pytest.mark.parametrize("around", [lambda kind: kind, pa.list_, lambda kind: pa.struct([("m", kind)])])
def test_maps_are_dicts_however_deep(around: Any) -> None:
    kind = around(pa.map_(pa.string(), pa.int64()))
    value = {"a": 1} if pa.types.is_map(kind) else [{"a": 1}] if pa.types.is_list(kind) else {"m": {"a": 1}}
    assert values_of(pa.array([value, None], kind)) == [value, None]


@given(st.integers(1, 300), st.data())
def test_the_first_value_that_does_not_fit_is_named_wherever_it_is(count: int, data: st.DataObject) -> None:
    wrong = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    kinds = [(pa.int64(), 1, 2**70), (pa.int64(), 1, "x"), (pa.string(), "x", b"x"), (pa.float32(), 1.5, 1e300)]
    kind, good, bad = data.draw(st.sampled_from(kinds))
    values = [bad if place in wrong else good for place in range(count)]
    with pytest.raises(SchemaError) as caught:
        array_of(pa.field("f", kind), values, 1000)
    assert caught.value.row == 1000 + min(wrong)
    assert caught.value.value == bad


def test_a_value_that_does_not_fit_is_found_in_a_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    array = columns._array

    def counted(field: Any, values: Any) -> Any:
        looked.append(len(values))
        return array(field, values)

    monkeypatch.setattr(columns, "_array", counted)
    with pytest.raises(SchemaError, match=r"^row 9999: field 'f' must be int64, got 1180591620717411303424$"):
        array_of(pa.field("f", pa.int64()), [*range(9999), 2**70], 0)
    assert len(looked) < 20
    assert sum(looked) < 25_000


@pytest.mark.parametrize("wrong", [True, 1.5, 2**63, -(2**63) - 1, "1", None])
def test_whole_numbers_that_go_the_short_way_are_as_strict(wrong: Any) -> None:
    field = pa.field("f", pa.int64(), nullable=False)
    assert array_of(field, [0, -(2**63), 2**63 - 1], 0).to_pylist() == [0, -(2**63), 2**63 - 1]
    with pytest.raises(SchemaError, match=r"^row 1: field 'f' must be int64 and not None, got "):
        array_of(field, [0, wrong], 0)


def test_arrays_of_whole_numbers_are_sound_and_may_be_empty() -> None:
    array = array_of(pa.field("f", pa.int64()), list(range(1000)), 0)
    array.validate(full=True)
    assert array.null_count == 0
    assert array.slice(10, 2).to_pylist() == [10, 11]
    assert array_of(pa.field("f", pa.int64()), [], 0).to_pylist() == []
