"""states: what a key has to remember, as bytes and back, without pickle where there is another form."""

from __future__ import annotations

import datetime as dt
import logging
import math
import re
import threading
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, Flag
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark import StageError
from penstock.spark.stages import states
from penstock.spark.stages.reading_states import parted, read
from penstock.spark.stages.states import head_of, joined, written
from penstock.spark.wire.rows import row_type


class Colour(Enum):
    RED = 1


class Right(Flag):
    READ = 1
    WRITE = 2


class Place(NamedTuple):
    x: int
    y: float


class Noted(Place):
    """A named tuple that can have attributes."""


@dataclass(frozen=True, slots=True)
class Reading:
    at: dt.datetime
    values: list[float]
    place: Place | None = None


@dataclass
class Grown:
    n: int
    more: list[int] = field(default_factory=list)
    colour: Colour = Colour.RED


@dataclass
class Listed(list[int]):
    name: str = "all"


@dataclass
class Unset:
    n: int
    later: int = field(init=False)


ZONES = [ZoneInfo(name) for name in ("America/New_York", "Asia/Kolkata", "UTC")]
OFFSETS = st.integers(-86_399, 86_399).map(lambda seconds: dt.timezone(dt.timedelta(seconds=seconds)))
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.datetimes(timezones=st.sampled_from(ZONES))
    | st.datetimes(timezones=OFFSETS)
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(lambda items: deque(items, 7))
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(PLAIN)
        | st.frozensets(st.integers())
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Compare values and types, as deep as they go."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple | deque):
        kept = getattr(one, "maxlen", None) == getattr(other, "maxlen", None)
        return kept and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, dt.datetime):
        zones = one.tzinfo is other.tzinfo or (type(one.tzinfo) is dt.timezone and str(one.tzinfo) == str(other.tzinfo))
        return bool(one == other) and zones and one.fold == other.fold
    return bool(one == other) and math.copysign(1, one if isinstance(one, float) else 1) == math.copysign(
        1, other if isinstance(other, float) else 1
    )


@given(VALUES)
def test_a_value_comes_back_as_it_was_and_needs_no_pickle(value: Any) -> None:
    data = written(value, "scan")
    assert data[:2] != b"\x01P"
    assert same(read(data, "scan"), value)


@pytest.mark.parametrize(
    "value",
    [
        Reading(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), [1.0, 2.0, -0.0], Place(1, 2.5)),
        [Colour.RED, Place(1, 0.5), Place(2, 0.5)],
        [Grown(1, [2, 3]), Grown(2)],
        [row_type(("a b", "n"))("x", 1), row_type(("a b", "n"))("y", 2)],
        {1, 2, 3, 1 << 70},
        float("inf"),
        UUID(int=7),
        Decimal("1.50"),
    ],
)
def test_classes_that_can_be_imported_are_written_by_name(value: Any) -> None:
    data = written(value, "scan")
    assert data[:2] != b"\x01P"
    assert same(read(data, "scan"), value)
    assert math.isnan(read(written(math.nan, "scan"), "scan"))


def test_names_of_fields_are_written_once() -> None:
    rows = [row_type(("temperature", "n"))(1.5, n) for n in range(10)]
    assert written(rows, "buffer").count(b"temperature") == 1


def test_a_class_may_gain_a_field_with_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Before:
        n: int

    @dataclass
    class After:
        n: int
        needed: int

    Before.__qualname__ = After.__qualname__ = "Grown"
    monkeypatch.setitem(globals(), "Grown", Before)
    data = written(Before(5), "scan")
    monkeypatch.undo()
    assert read(data, "scan") == Grown(5)
    monkeypatch.setitem(globals(), "Grown", After)
    with pytest.raises(
        StageError, match=r"^keyed_by: a state in the checkpoint is a Grown without 'needed', which has no default$"
    ):
        read(data, "scan")
    monkeypatch.delitem(globals(), "Grown")
    with pytest.raises(StageError, match=r"is a Grown of tests.spark.stages.test_states, which is not there any more$"):
        read(data, "scan")


def test_what_has_no_form_is_pickled_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "_said", set())
    shared = [1]
    local = type("Local", (), {"__eq__": lambda self, other: type(other).__name__ == "Local", "__hash__": None})
    for value in (Fraction(1, 3), [shared, shared], local(), Fraction(2, 3)):
        with caplog.at_level(logging.WARNING, "penstock.spark"):
            assert read(written(value, "scan(f)"), "scan(f)") == value
    begins = "keyed_by: the state of scan(f) is pickled into the checkpoint: "
    assert [record.getMessage() for record in caplog.records] == [
        begins + "there is no form for a Fraction",
        begins + "one list is in it twice",
        begins + "there is no form for a Local",
    ]
    one, other = read(written([shared, shared], "scan"), "scan")
    assert one is other


def _noted() -> Noted:
    place = Noted(1, 2.0)
    place.note = "here"  # type: ignore[attr-defined]
    return place


def _exchanged() -> Grown:
    grown = Grown(1)
    del grown.colour  # that of the class counts
    grown.other = 2  # type: ignore[attr-defined]
    return grown


def _listed() -> Listed:
    listed = Listed("some")
    listed.append(7)
    return listed


@pytest.mark.parametrize(
    "value",
    [Right.READ | Right.WRITE, Right(0), _noted(), _exchanged(), _listed(), Unset(1)],
    ids=["flags together", "no flag", "a named tuple with more", "another attribute", "a list with fields", "not set"],
)
def test_what_its_fields_or_its_name_do_not_hold_comes_back_whole(value: Any) -> None:
    found = read(written([value], "scan"), "scan")[0]
    assert type(found) is type(value)
    assert object.__getstate__(found) == object.__getstate__(value)
    if isinstance(value, Flag | list | tuple):
        assert found == value
        assert list(found) == list(value)


@pytest.mark.parametrize("distance", [dt.timedelta(0), dt.timedelta(hours=2), dt.timedelta(microseconds=1)])
def test_a_time_zone_that_is_more_than_whole_seconds_comes_back_whole(distance: dt.timedelta) -> None:
    zone = dt.timezone(distance) if distance.microseconds else dt.timezone(distance, "here")
    found = read(written(dt.datetime(2024, 1, 1, tzinfo=zone), "scan"), "scan")
    assert (found.utcoffset(), found.tzname()) == (distance, zone.tzname(None))


def test_what_cannot_be_kept_or_read_is_named() -> None:
    with pytest.raises(
        StageError, match=r"^keyed_by: scan\(f\): its state must be one that pickle takes, got <unlocked _thread.lock"
    ):
        written(threading.Lock(), "scan(f)")
    good = written([1, "x", Place(1, 2.0)], "scan")
    for bad in (good[:-1], good + b"N", b"\x01?", b"\x01Pnonsense"):
        with pytest.raises(StageError, match=r"^keyed_by: the state of scan in the checkpoint cannot be read: "):
            read(bad, "scan")
    message = (
        "keyed_by: the state of scan in the checkpoint has the form 80, and this version of penstock reads 01;"
        " give the query another checkpoint"
    )
    with pytest.raises(StageError, match=f"^{re.escape(message)}$"):
        read(b"\x80\x04N.", "scan")


@given(st.text(), st.lists(st.binary(max_size=300), max_size=4))
def test_the_state_of_a_key_is_put_together_and_taken_apart_the_short_way(signature: str, parts: list[bytes]) -> None:
    head = head_of(signature, len(parts))
    state = joined(head, parts)
    assert state == written((signature, *parts), "a key")
    assert parted(state, head, len(parts)) == parts
    assert parted(state, head_of(signature + "x", len(parts)), len(parts)) is None
    assert parted(state + b"b", head, len(parts)) is None
    if parts:
        assert parted(state[:-1], head, len(parts)) is None
        assert parted(state, head, len(parts) - 1) is None
