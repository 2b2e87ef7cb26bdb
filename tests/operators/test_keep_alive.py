"""keep_alive: something when nothing comes for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock import Stream, VirtualClock
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import ManualPublisher, marble, record, subscribed
from tests.operators.subjects import notes, place


@pytest.mark.parametrize("seconds", [3, timedelta(seconds=3)])
def test_fills_a_silence_again_and_again(seconds: float | timedelta) -> None:
    clock = VirtualClock()
    source = marble("a-b------c-|", clock=clock)
    assert record(source.keep_alive(seconds, "x", clock=clock), clock) == "a-b--x--xc-|"


def test_a_function_makes_each_filler() -> None:
    clock = VirtualClock()
    numbers = iter("123")
    source = marble("-------|", clock=clock)
    assert record(source.keep_alive(2, fn=lambda: next(numbers), clock=clock), clock) == "--1-2-3|"


def idle(request: int = 0, size: int = 256) -> tuple[VirtualClock, ManualPublisher[str], Any]:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()
    stream = Stream.from_publisher(upstream).keep_alive(2, "x", size=size, clock=clock)
    return clock, upstream, subscribed(stream, request)


def test_no_time_passes_while_nothing_is_asked_for() -> None:
    clock, upstream, probe = idle()
    clock.advance(100)
    probe.request(1)
    clock.advance(1.5)
    upstream.next("a")
    clock.advance(100)
    probe.request(1)
    assert probe.elements == ["a"]
    clock.advance(1.9)
    assert probe.elements == ["a"]
    clock.advance(0.1)
    assert probe.elements == ["a", "x"]


def test_never_more_than_was_asked_for() -> None:
    clock, upstream, probe = idle(2)
    assert upstream.requests == [2]
    clock.advance(100)
    assert probe.elements == ["x", "x"]
    upstream.next("a", "b")
    assert probe.elements == ["x", "x"]
    probe.request(1)
    assert probe.elements == ["x", "x", "a"]
    assert upstream.requests == [2]
    probe.request(2)
    assert probe.elements == ["x", "x", "a", "b"]
    assert upstream.requests == [2, 1]


def test_what_is_asked_for_is_bounded_by_the_size() -> None:
    _, upstream, probe = idle(UNBOUNDED, size=4)
    assert upstream.requests == [4]
    upstream.next("a", "b", "c")
    assert probe.elements == ["a", "b", "c"]
    assert upstream.requests == [4, 2]


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_leaves_no_timer_behind(end: str) -> None:
    clock, upstream, probe = idle(5)
    assert clock.pending == 1
    {"complete": upstream.complete, "fail": lambda: upstream.fail(ValueError()), "cancel": probe.cancel}[end]()
    assert clock.pending == 0
    assert upstream.cancelled == (end == "cancel")
    clock.advance(9)
    assert probe.elements == []


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    clock = VirtualClock()
    upstream: ManualPublisher[str] = ManualPublisher()

    def filler() -> str:
        raise ValueError("nothing to say")

    probe = subscribed(Stream.from_publisher(upstream).keep_alive(2, fn=filler, clock=clock), 5)
    clock.advance(2)
    assert repr(probe.error) == "ValueError('nothing to say')"
    name = filler.__qualname__.replace("<locals>.", "")
    assert notes(probe.error) == [f"in keep_alive({name}), {place(filler)}"]
    assert upstream.cancelled
    assert clock.pending == 0


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda: None, str(no_element())),
        (lambda: next(iter(())), ": the function raised StopIteration; that is an error, not an end"),
    ],
)
def test_what_is_no_filler_is_an_error(fn: Any, message: str) -> None:
    clock = VirtualClock()
    probe = subscribed(Stream.never().keep_alive(2, fn=fn, clock=clock), 5)
    clock.advance(2)
    assert str(probe.error).endswith(message)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"seconds": 0, "value": 1}, ValueError, "keep_alive: seconds must be > 0 and finite, got 0"),
        ({"seconds": "1", "value": 1}, TypeError, "keep_alive: seconds must be seconds or a timedelta, got '1'"),
        ({"seconds": 1}, TypeError, "keep_alive: one of value and fn must be given"),
        ({"seconds": 1, "value": 1, "fn": int}, TypeError, "keep_alive: one of value and fn must be given"),
        ({"seconds": 1, "value": None}, TypeError, "keep_alive: None is not an element (rule 2.13)"),
        ({"seconds": 1, "fn": 5}, TypeError, "keep_alive: fn must be callable, got 5"),
        ({"seconds": 1, "value": 1, "size": 0}, ValueError, "keep_alive: size must be >= 1, got 0"),
        ({"seconds": 1, "value": 1, "clock": 5}, TypeError, "keep_alive: clock must be a Clock, got 5"),
    ],
)
def test_refuses_wrong_arguments(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        Stream.range(3).keep_alive(**options)
    assert str(refusal.value) == message
