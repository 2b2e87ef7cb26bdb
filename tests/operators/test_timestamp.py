"""timestamp: each element with the clock's time."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import strategies as st

from penstock import Stream, VirtualClock
from penstock.operators.timestamp import Timestamp
from penstock.testing import Form, check_stage, marble, timeline
from penstock.testing.signals import Next
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    check_stage(Timestamp(VirtualClock(7.0)), lambda xs: [(7.0, x) for x in xs], st.integers(), pickles=False)
    assert pickle.loads(pickle.dumps(Timestamp())) == Timestamp()


def test_tells_when_each_element_came() -> None:
    clock = VirtualClock(100.0)
    signals = timeline(marble("a--b|", clock=clock).timestamp(clock=clock), clock)
    assert [signal.element for _, signal in signals if isinstance(signal, Next)] == [(100.0, "a"), (103.0, "b")]


@each_form
def test_in_every_form(form: Form) -> None:
    assert list(over(form, 1, 2).timestamp(clock=VirtualClock(1.0))) == [(1.0, 1), (1.0, 2)]


def test_the_systems_time_does_not_go_back() -> None:
    times = [at for at, _ in Stream.range(100).timestamp()]
    assert times == sorted(times)


def test_refuses_what_is_no_clock() -> None:
    with pytest.raises(TypeError, match=r"^timestamp: clock must be a Clock, got 5$"):
        Stream.range(3).timestamp(clock=5)  # type: ignore[arg-type]


def test_a_clock_that_raises_fails_the_stream() -> None:
    class Stopped(VirtualClock):
        def now(self) -> float:
            raise OSError("no time")

    error = failure_of(Stream.range(3).timestamp(clock=Stopped()))
    assert repr(error) == "OSError('no time')"
    assert notes(error) == ["in timestamp, step 1 of 1"]
