"""time_interval: each element with the seconds since the one before it."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import strategies as st

from penstock import Stream, VirtualClock
from penstock.operators.time_interval import TimeInterval
from penstock.testing import Form, ManualPublisher, check_stage, marble, subscribed, timeline
from penstock.testing.signals import Next
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(TimeInterval(VirtualClock()), lambda xs: [(0.0, x) for x in xs], st.integers(), pickles=False)
    assert pickle.loads(pickle.dumps(TimeInterval())) == TimeInterval()


def test_tells_how_long_each_element_took() -> None:
    clock = VirtualClock(100.0)
    signals = timeline(marble("-a--(bc)|", clock=clock).time_interval(clock=clock), clock)
    found = [signal.element for _, signal in signals if isinstance(signal, Next)]
    assert found == [(1.0, "a"), (3.0, "b"), (0.0, "c")]


def test_the_first_counts_from_the_first_request() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).time_interval(clock=clock))
    clock.advance(5)
    probe.request(2)
    clock.advance(1)
    upstream.next("a")
    assert probe.elements == [(1.0, "a")]


@each_form
def test_in_every_form(form: Form) -> None:
    assert list(over(form, 1, 2).time_interval(clock=VirtualClock(1.0))) == [(0.0, 1), (0.0, 2)]


def test_refuses_what_is_no_clock() -> None:
    with pytest.raises(TypeError, match=r"^time_interval: clock must be a Clock, got None$"):
        Stream.range(3).time_interval(clock=None)  # type: ignore[arg-type]
