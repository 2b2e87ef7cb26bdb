"""time: every operator that minds the time works on a virtual clock, on the system's and on a loop that is running."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Clock, Overflow, Recorder, Stream, SystemClock, VirtualClock, thread
from penstock.engine.places.loop_clock import LoopClock
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Probe
from tests.engine.watch import dropped, left_alive, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

UNIT = 0.002
"""How long a unit of time is where it is real; nothing that is asserted depends on it."""


@dataclass(frozen=True)
class Case:
    """Build a stream on a clock whose unit of time is given, and say what must come of it."""

    build: Callable[[Clock, float], Stream[Any]]
    expected: list[Any]
    units: float = 20


class Flaky:
    """Fail twice and then give something."""

    def __init__(self) -> None:
        self.attempts = 0

    def __call__(self) -> Stream[str]:
        self.attempts += 1
        return Stream.error(ValueError("not yet")) if self.attempts < 3 else Stream.just("well")


def ticks(clock: Clock, unit: float) -> Stream[int]:
    return Stream.interval(unit, overflow=Overflow.BUFFER, clock=clock)


def is_8(n: int) -> bool:
    return n == 8


# Whatever the clock, however late its timers are, and however long a thread is held up, the elements are these.
CASES: dict[str, Case] = {
    "buffer_timeout": Case(lambda c, u: Stream.timer(u, clock=c).buffer_timeout(9, u, clock=c), [[0]]),
    "buffer_timeout of many": Case(
        lambda c, u: ticks(c, u).take(6).buffer_timeout(2, 1000, clock=c), [[0, 1], [2, 3], [4, 5]]
    ),
    "debounce": Case(
        lambda c, u: Stream.range(9).concat(Stream.never()).debounce(u, clock=c).filter(is_8).take(1), [8]
    ),
    "delay": Case(lambda c, u: Stream.range(5).delay(2 * u, size=2, clock=c), [0, 1, 2, 3, 4]),
    "delay_subscription": Case(lambda c, u: Stream.range(3).delay_subscription(u, clock=c), [0, 1, 2]),
    "group_by": Case(
        lambda c, u: (
            Stream.range(9)
            .group_by(lambda _: 0, size=2, patience=1000, clock=c)
            .flat_map(lambda group: group.delay_subscription(0, clock=c), concurrency=1)
        ),
        list(range(9)),
    ),
    "group_by that gives up": Case(
        lambda c, u: (
            Stream.range(9)
            .group_by(lambda n: n, size=2, patience=u, clock=c)
            .ignore_elements()
            .on_error_resume(lambda error: [type(error).__name__])
        ),
        ["OverflowedError"],
    ),
    "interval": Case(lambda c, u: ticks(c, u).take(4), [0, 1, 2, 3]),
    "keep_alive": Case(lambda c, u: Stream.never().keep_alive(u, "x", clock=c).take(3), ["x", "x", "x"]),
    "keep_alive with a function": Case(
        lambda c, u: Stream.never().keep_alive(u, fn=lambda: "x", clock=c).take(3), ["x", "x", "x"]
    ),
    "observed": Case(lambda c, u: ticks(c, u).take(3).observed(Recorder(), every=u, clock=c), [0, 1, 2]),
    "retry": Case(lambda c, u: Stream.defer(Flaky()).retry(5, backoff=u, clock=c), ["well"]),
    "sample": Case(lambda c, u: Stream.range(9).concat(Stream.never()).sample(u, clock=c).filter(is_8).take(1), [8]),
    "throttle": Case(lambda c, u: Stream.range(6).throttle(2, u, clock=c), [0, 1, 2, 3, 4, 5]),
    "throttle_first": Case(lambda c, u: ticks(c, u).take(5).throttle_first(1000, clock=c), [0]),
    "time_interval": Case(
        lambda c, u: ticks(c, u).take(3).time_interval(clock=c).map(lambda pair: pair[0] >= 0), [True, True, True]
    ),
    "timeout": Case(
        lambda c, u: Stream.never().timeout(u, clock=c).on_error_resume(lambda error: [type(error).__name__]),
        ["TimeoutError"],
    ),
    "timer": Case(lambda c, u: Stream.timer(u, clock=c), [0]),
    "timestamp": Case(
        lambda c, u: ticks(c, u).take(3).timestamp(clock=c).pairwise().map(lambda pair: pair[0] <= pair[1]), [True] * 2
    ),
    "window": Case(
        lambda c, u: (
            Stream.range(3)
            .concat(Stream.never())
            .window(seconds=u, clock=c)
            .flat_map(lambda window: window.to_list().map(tuple), concurrency=1)
            .scan(operator.add, ())
            .filter(lambda so_far: len(so_far) == 3)
            .take(1)
        ),
        [(0, 1, 2)],
    ),
    "window until": Case(
        lambda c, u: (
            Stream.range(3)
            .concat(Stream.never())
            .window(until=ticks(c, u), clock=c)
            .flat_map(lambda window: window.to_list().map(tuple), concurrency=1)
            .scan(operator.add, ())
            .filter(lambda so_far: len(so_far) == 3)
            .take(1)
        ),
        [(0, 1, 2)],
    ),
    "several": Case(
        lambda c, u: (
            ticks(c, u)
            .delay(u, clock=c)
            .throttle(1, u / 2, clock=c)
            .timeout(1000, clock=c)
            .buffer_timeout(2, 1000, clock=c)
            .take(2)
        ),
        [[0, 1], [2, 3]],
    ),
}
# What has a clock and is not among them is a stranger here.
MINDS_TIME = {
    "buffer_timeout", "debounce", "delay", "delay_subscription", "group_by", "interval", "keep_alive", "observed",
    "retry", "sample", "throttle", "throttle_first", "time_interval", "timeout", "timer", "timestamp", "window",
}  # fmt: skip

each_case = pytest.mark.parametrize("name", CASES)


def test_no_operator_with_a_clock_is_missing() -> None:
    from penstock.stream import Stream as Class

    with_clock = {
        name
        for name in vars(Class)
        if not name.startswith("_") and "clock" in getattr(getattr(Class, name), "__annotations__", {})
    }
    assert with_clock - MINDS_TIME == set()
    assert set(CASES) >= MINDS_TIME


@each_case
def test_on_a_virtual_clock(name: str) -> None:
    case, clock = CASES[name], VirtualClock()
    probe: Probe[Any] = Probe(UNBOUNDED)
    case.build(clock, 1.0).subscribe(probe)
    clock.advance(case.units)
    assert probe.elements == case.expected
    assert probe.completed
    assert probe.breaches == []
    assert clock.pending == 0


@each_case
def test_one_by_one_on_a_virtual_clock(name: str) -> None:
    case, clock = CASES[name], VirtualClock()
    probe: Probe[Any] = Probe()
    case.build(clock, 1.0).subscribe(probe)
    for _ in range(50):
        if not probe.ended:
            probe.request(1)
            clock.advance(1)
    assert probe.elements == case.expected
    assert probe.completed
    assert clock.pending == 0


@each_case
def test_on_the_timer_thread_of_the_system(name: str) -> None:
    case = CASES[name]
    before = set(threading.enumerate())
    assert list(case.build(SystemClock(), UNIT)) == case.expected
    assert left_alive(before) == []


@each_case
def test_behind_another_thread(name: str) -> None:
    case = CASES[name]
    assert list(case.build(SystemClock(), UNIT).publish_on(thread(), prefetch=2)) == case.expected


@each_case
@pytest.mark.parametrize("clock", ["system", "loop"])
def test_inside_a_running_loop(name: str, clock: str) -> None:
    case = CASES[name]

    async def collect() -> list[Any]:
        time = SystemClock() if clock == "system" else LoopClock()
        found = [element async for element in case.build(time, UNIT)]
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return found

    assert asyncio.run(collect()) == case.expected


@each_case
def test_a_loop_that_is_left_takes_its_timers_along(name: str) -> None:
    clock = VirtualClock()

    async def leave() -> None:
        async with CASES[name].build(clock, 1.0).open() as elements:
            task = asyncio.ensure_future(anext(elements, None))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(leave())
    assert clock.pending == 0
