"""throttle_first: an element, then none for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream, VirtualClock
from penstock.operators.throttle_first import ThrottleFirst
from penstock.testing import Form, ManualPublisher, check_stage, marble, record, subscribed
from tests.operators.subjects import each_form, over


def test_laws() -> None:
    check_stage(ThrottleFirst(60, VirtualClock()), lambda xs: xs[:1], st.integers(), pickles=False)
    check_stage(ThrottleFirst(0), lambda xs: xs, st.integers(), examples=5)


@pytest.mark.parametrize("seconds", [3, timedelta(seconds=3)])
def test_leaves_out_what_follows_too_soon(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    source = marble("abc-de-f--g|", clock=clock)
    assert record(source.throttle_first(seconds, clock=clock), clock) == "a---d--f--g|"


def test_an_element_after_exactly_the_time_passes() -> None:
    clock = VirtualClock()
    assert record(marble("a-bc|", clock=clock).throttle_first(2, clock=clock), clock) == "a-b-|"


@each_form
def test_no_time_no_limit(form: Form) -> None:
    assert list(over(form, 1, 2, 3).throttle_first(0, clock=VirtualClock())) == [1, 2, 3]


def test_asks_for_another_in_place_of_one_that_is_left_out() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).throttle_first(1, clock=clock), 2)
    assert upstream.requests == [2]
    upstream.next(1, 2)
    assert probe.elements == [1]
    assert upstream.requests == [2, 1]
    clock.advance(1)
    upstream.next(3)
    assert probe.elements == [1, 3]
    assert upstream.requested == 3


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"seconds": -1}, ValueError, "throttle_first: seconds must be >= 0 and finite, got -1"),
        ({"seconds": []}, TypeError, "throttle_first: seconds must be seconds or a timedelta, got []"),
        ({"seconds": 1, "clock": 1}, TypeError, "throttle_first: clock must be a Clock, got 1"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).throttle_first(**options)
    assert str(refusal.value) == message
