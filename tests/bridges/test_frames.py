"""Frames of pandas and polars, and arrays of NumPy, as streams and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock import Stream
from penstock.bridges.arrow import SchemaError, from_arrow
from penstock.bridges.numpy import from_array, to_array
from penstock.bridges.pandas import from_pandas, to_pandas, to_pandas_frames
from penstock.bridges.polars import from_polars, to_polars, to_polars_frames
from penstock.testing import Probe, Tracked
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

ROWS: list[dict[str, Any]] = [
    {"n": n, "name": None if n % 3 == 0 else f"row {n}", "day": dt.date(2024, 2, 29)} for n in range(10)
]
SCHEMA = pa.schema({"n": pa.int64(), "name": pa.string(), "day": pa.date32()})


@dataclass(frozen=True)
class Row:
    n: int
    name: str | None
    day: dt.date


class Pair(NamedTuple):
    n: int
    name: str | None


@dataclass(frozen=True)
class Kind:
    """Say what one library of frames is."""

    frame: Any
    of: Callable[..., Stream[Any]]
    to: Callable[..., Stream[Any]]
    to_frames: Callable[..., Stream[Any]]
    whole: Any


PANDAS = Kind(pd.DataFrame, from_pandas, to_pandas, to_pandas_frames, pd.DataFrame(ROWS))
POLARS = Kind(pl.DataFrame, from_polars, to_polars, to_polars_frames, pl.DataFrame(ROWS))
both = pytest.mark.parametrize("kind", [PANDAS, POLARS], ids=["pandas", "polars"])


@both
def test_rows_of_a_frame(kind: Kind) -> None:
    stream = kind.of(kind.whole, batch_rows=3)
    assert list(stream) == ROWS == list(stream)
    assert list(kind.of(kind.whole, tuple)) == [tuple(row.values()) for row in ROWS]
    assert list(kind.of(kind.whole, Row)) == [Row(**row) for row in ROWS]
    assert list(kind.of(kind.whole[["n", "name"]], Pair)) == [Pair(row["n"], row["name"]) for row in ROWS]
    assert list(from_arrow(kind.whole)) == ROWS


@both
def test_smaller_frames_of_a_frame(kind: Kind) -> None:
    frames = list(kind.of(kind.whole, kind.frame, batch_rows=4))
    assert [len(frame) for frame in frames] == [4, 4, 2]
    assert all(type(frame) is kind.frame for frame in frames)
    assert [row for frame in frames for row in kind.of(frame)] == ROWS


@both
def test_rows_are_made_a_batch_at_a_time(kind: Kind) -> None:
    probe: Probe[Any] = Probe(3)
    kind.of(kind.whole, kind.frame, batch_rows=2).subscribe(probe)
    assert [list(frame["n"]) for frame in probe.elements] == [[0, 1], [2, 3], [4, 5]]
    probe.cancel()


@both
def test_an_empty_frame(kind: Kind) -> None:
    assert list(kind.of(kind.whole[:0])) == []
    assert list(kind.of(kind.whole[:0], kind.frame)) == []
    assert len(kind.to(Stream.empty(), SCHEMA).get()) == 0


@both
def test_rows_make_a_frame(kind: Kind) -> None:
    for schema in (None, SCHEMA):
        made = kind.to(Stream.from_iterable(ROWS), schema).get()
        assert type(made) is kind.frame
        assert list(kind.of(made)) == ROWS


@both
def test_rows_make_frames_as_they_are_asked_for(kind: Kind) -> None:
    upstream = Tracked(ROWS)
    probe: Probe[Any] = Probe()
    kind.to_frames(Stream.from_iterable(upstream), 3, SCHEMA).subscribe(probe)
    for count in (1, 2):
        probe.request(1)
        assert upstream.taken == count * 3
    probe.request()
    assert [len(frame) for frame in probe.wait_for_end()] == [3, 3, 3, 1]


@both
def test_the_first_frame_says_what_the_others_are(kind: Kind) -> None:
    rows = [{"a": 1}, {"a": 2}, {"a": None}, {"a": "x"}]
    stream = kind.to_frames(Stream.from_iterable(rows), 2)
    for _ in range(2):  # each run finds out for itself
        probe: Probe[Any] = Probe(9)
        stream.subscribe(probe)
        assert [len(frame) for frame in probe.elements] == [2]
        assert isinstance(probe.error, SchemaError)
        assert str(probe.error) == "row 3: field 'a' must be int64, got 'x'"


@both
def test_rows_before_an_error_make_a_frame(kind: Kind) -> None:
    for count, frames in ((0, []), (3, [3]), (5, [3, 2])):
        probe: Probe[Any] = Probe(9)
        burst = KeyError("burst")
        kind.to_frames(Stream.from_iterable(Tracked(ROWS[:count], burst)), 3).subscribe(probe)
        assert [len(frame) for frame in probe.elements] == frames
        assert probe.error is burst


@both
def test_bad_arguments(kind: Kind) -> None:
    name = kind.of.__name__
    with pytest.raises(TypeError, match=rf"^{name}: frame must be a p[a-z]+\.DataFrame, got list$"):
        kind.of([1])
    with pytest.raises(TypeError, match=rf"^{name}: element must be dict, tuple, .*, got <class 'int'>$"):
        kind.of(kind.whole, int)
    with pytest.raises(ValueError, match=rf"^{name}: batch_rows must be >= 1, got 0$"):
        kind.of(kind.whole, batch_rows=0)
    with pytest.raises(ValueError, match=rf"^{kind.to_frames.__name__}: rows must be >= 1, got 0$"):
        kind.to_frames(Stream.range(3), 0)


def test_what_pandas_misses() -> None:
    frame = pd.DataFrame({"x": [1.5, float("nan")], "at": [pd.Timestamp("2024-02-29"), pd.NaT]})
    assert list(from_pandas(frame, tuple)) == [(1.5, pd.Timestamp("2024-02-29")), (None, None)]
    rows = Stream.from_iterable([{"n": 1}, {"n": None}])
    assert to_pandas(rows).get()["n"].dtype == np.float64
    assert list(from_pandas(to_pandas(rows, arrow_types=True).get())) == [{"n": 1}, {"n": None}]


def test_the_index_of_pandas() -> None:
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    assert list(from_pandas(frame)) == [{"n": 1}, {"n": 2}]
    assert list(from_pandas(frame, index=True)) == [{"n": 1, "key": "a"}, {"n": 2, "key": "b"}]


def test_types_of_pandas_are_those_of_the_whole_frame() -> None:
    frame = pd.DataFrame({"x": [None, None, "late"]})
    assert list(from_pandas(frame, tuple, batch_rows=1)) == [(None,), (None,), ("late",)]


def test_a_lazy_frame_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^from_polars: frame must be a polars\.DataFrame, got LazyFrame$"):
        from_polars(POLARS.whole.lazy())


# Arrays.


def test_numbers_of_an_array_are_those_of_python() -> None:
    for array in (
        np.arange(3000),
        np.linspace(0, 1, 2500, dtype="float32"),
        np.array([True, False]),
        np.array(["a", "b"]),
    ):
        found = list(from_array(array))
        assert found == array.tolist()
        assert type(found[0]) in {int, float, bool, str}


def test_parts_of_an_array_are_views() -> None:
    array = np.arange(12).reshape(6, 2)
    assert [part.tolist() for part in from_array(array)] == array.tolist()
    chunks = list(from_array(array, chunk=4))
    assert [chunk.shape for chunk in chunks] == [(4, 2), (2, 2)]
    assert all(np.shares_memory(chunk, array) for chunk in chunks)
    assert [chunk.tolist() for chunk in from_array(np.arange(5), chunk=2)] == [[0, 1], [2, 3], [4]]


def test_an_array_is_read_as_it_is_asked_for() -> None:
    probe: Probe[Any] = Probe(2)
    from_array(np.arange(10_000)).subscribe(probe)
    assert probe.elements == [0, 1]
    probe.cancel()


def test_numbers_make_an_array() -> None:
    made = to_array(Stream.range(5), "int16").get()
    assert made.dtype == np.int16
    assert made.tolist() == [0, 1, 2, 3, 4]
    assert to_array(Stream.empty(), "float64").get().shape == (0,)
    assert to_array(from_array(np.arange(6).reshape(3, 2))).get().tolist() == [[0, 1], [2, 3], [4, 5]]


def test_chunks_make_an_array() -> None:
    array = np.arange(12).reshape(6, 2)
    assert (to_array(from_array(array, chunk=4), chunks=True).get() == array).all()


def test_no_more_than_count_elements_are_taken() -> None:
    upstream = Tracked(list(range(100)))
    assert to_array(Stream.from_iterable(upstream), count=3).get().tolist() == [0, 1, 2]
    assert upstream.taken == 3
    upstream.wait_until_closed()


def test_what_is_no_number_fails_the_stream() -> None:
    with pytest.raises(TypeError, match=r"rule 2\.13"):
        list(from_array(np.ma.masked_array([1, 2], [False, True])))
    with pytest.raises(ValueError, match="invalid literal"):
        to_array(Stream.just("1", "two"), "int64").get()


def test_bad_arguments_for_arrays() -> None:
    with pytest.raises(
        TypeError, match=r"^from_array: array must be a numpy\.ndarray with at least one axis, got \[1\]$"
    ):
        from_array([1])
    with pytest.raises(TypeError, match=r"^from_array: array must be .*, got array\(1\)$"):
        from_array(np.array(1))
    with pytest.raises(ValueError, match=r"^from_array: chunk must be >= 1, got 0$"):
        from_array(np.arange(3), chunk=0)
    with pytest.raises(ValueError, match=r"^to_array: count must be >= 0, got -1$"):
        to_array(Stream.range(3), count=-1)
    with pytest.raises(TypeError, match=r"^to_array: stream must be a Stream, got 3; Stream.from_publisher makes one$"):
        to_array(3)  # type: ignore[arg-type]


def test_names_of_pandas_that_are_no_text_become_text() -> None:
    assert list(from_pandas(pd.DataFrame([[1, 2], [3, 4]]))) == [{"0": 1, "1": 2}, {"0": 3, "1": 4}]
    assert list(from_pandas(pd.DataFrame({("a", 1): [5]}))) == [{"('a', 1)": 5}]


def test_objects_of_polars_are_refused_and_their_addresses_not_given() -> None:
    with pytest.raises(TypeError, match=r"^from_polars: column 'o' must have a type that Arrow has, got Object$"):
        from_polars(pl.DataFrame({"n": [1], "o": [object()]}))


def test_moments_that_python_has_no_type_for_stay_numpys() -> None:
    moment = np.datetime64("2013-01-01T05:00:00.000000001", "ns")
    assert list(from_array(np.array([moment]))) == [moment]
    assert list(from_array(np.array(["2013-01-01"], "datetime64[us]"))) == [dt.datetime(2013, 1, 1)]  # noqa: DTZ001
