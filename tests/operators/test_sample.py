"""sample: the latest element at every tick."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock import Stream, VirtualClock, flow
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import ManualPublisher, marble, record, subscribed


@pytest.mark.parametrize("every", [3, timedelta(seconds=3)])
def test_emits_the_latest_at_every_tick(every: float | timedelta) -> None:
    clock = VirtualClock()
    source = marble("ab--c--------de--|", clock=clock)
    assert record(source.sample(every, clock=clock), clock) == "---b--c--------e-|"


def test_emits_the_latest_when_another_stream_emits() -> None:
    clock = VirtualClock()
    source, ticks = marble("ab-c-d-----|", clock=clock), marble("--x--xx-x", clock=clock)
    assert record(source.sample(ticks), clock) == "--b--cd----|"


def test_the_element_at_hand_comes_with_the_end_of_the_stream() -> None:
    clock = VirtualClock()
    assert record(marble("a-b|", clock=clock).sample(9, clock=clock), clock) == "---(b|)"
    assert record(marble("a-b#", clock=clock).sample(9, clock=clock), clock) == "---(b#)"
    assert clock.pending == 0


@pytest.mark.parametrize(("ticks", "drawn"), [("--x-|", "--b-(c|)"), ("--x-#", "--b-(c#)")])
def test_the_end_of_the_ticks_ends_it(ticks: str, drawn: str) -> None:
    clock = VirtualClock()
    assert record(marble("ab-cdef|", clock=clock).sample(marble(ticks, clock=clock)), clock) == drawn
    assert clock.pending == 0


def pair(request: int = 0) -> tuple[ManualPublisher[str], ManualPublisher[int], Any]:
    source: ManualPublisher[str] = ManualPublisher()
    ticks: ManualPublisher[int] = ManualPublisher()
    return source, ticks, subscribed(Stream.from_publisher(source).sample(ticks), request)


def test_asks_both_for_everything_and_holds_one_sample() -> None:
    source, ticks, probe = pair()
    assert source.requests == ticks.requests == [UNBOUNDED]
    for element in "abc":
        source.next(element)
        ticks.next(0)
    source.next("d")
    assert probe.elements == []
    probe.request(5)
    assert probe.elements == ["c"]
    ticks.next(0)
    ticks.next(0)
    assert probe.elements == ["c", "d"]
    source.complete()
    assert probe.completed
    assert ticks.cancelled


def test_a_cancel_reaches_both() -> None:
    source, ticks, probe = pair(1)
    source.next("a")
    probe.cancel()
    assert source.cancelled
    assert ticks.cancelled
    assert probe.signals == []


def test_a_failure_of_the_ticks_before_the_stream_is_subscribed() -> None:
    probe = subscribed(Stream.range(3).sample(Stream.error(ValueError("lost"))), 1)
    assert repr(probe.error) == "ValueError('lost')"


@pytest.mark.parametrize(
    ("every", "kind", "message"),
    [
        (0, ValueError, "sample: every must be > 0 and finite, got 0"),
        ("1", TypeError, "sample: every must be seconds, a timedelta or a Publisher, got '1'"),
        (None, TypeError, "sample: every must be seconds, a timedelta or a Publisher, got None"),
    ],
)
def test_refuses_what_is_neither_a_duration_nor_a_stream(every: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).sample(every)
    assert str(refusal.value) == message


def test_refuses_what_is_no_clock() -> None:
    with pytest.raises(TypeError, match=r"^sample: clock must be a Clock, got 5$"):
        Stream.range(3).sample(1, clock=5)  # type: ignore[arg-type]


def test_is_part_of_a_flow() -> None:
    clock = VirtualClock()
    slower = flow(lambda stream: stream.sample(2, clock=clock))
    assert record(marble("-a-b-c-|", clock=clock) | slower, clock) == "--a-b-c|"
