"""alarm and credit: one timer that never rings too late to be wanted, and demand that never runs ahead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Dropped, SystemClock, VirtualClock
from penstock.engine.grounds.alarm import Alarm
from penstock.engine.words.credit import Credit
from tests.engine.stress import all_at_once, restless


def raising(error: Exception) -> None:
    """Take no failure."""
    raise error


def test_rings_once_at_the_time_set_last() -> None:
    clock = VirtualClock()
    rung: list[float] = []
    alarm = Alarm(clock, lambda _: rung.append(clock.now()), raising)
    alarm.set(1)
    alarm.set(3)
    assert clock.pending == 1
    clock.advance(9)
    assert rung == [3]
    alarm.set(-1)
    clock.advance(0)
    assert rung == [3, 9]


def test_can_be_called_off_and_set_again_but_not_after_the_end() -> None:
    clock = VirtualClock()
    rung: list[float] = []
    alarm = Alarm(clock, lambda _: rung.append(clock.now()), raising)
    alarm.set(1)
    alarm.call_off()
    clock.advance(2)
    alarm.set(1)
    clock.advance(2)
    assert rung == [3]
    alarm.set(1)
    alarm.close()
    alarm.set(1)
    assert clock.pending == 0
    clock.advance(2)
    assert rung == [3]


def test_may_be_set_again_while_it_rings() -> None:
    clock = VirtualClock()
    rung: list[float] = []

    def ring(_: object) -> None:
        rung.append(clock.now())
        if len(rung) < 3:
            alarm.set(2)

    alarm = Alarm(clock, ring, raising)
    alarm.set(1)
    clock.advance(10)
    assert rung == [1, 3, 5]
    assert clock.pending == 0


def test_rings_for_what_it_was_set_last() -> None:
    clock = VirtualClock()
    rung: list[object] = []
    alarm = Alarm(clock, rung.append, raising)
    alarm.set(1, "first")
    alarm.set(1, "second")
    clock.advance(1)
    alarm.at(3)
    alarm.at(2)
    clock.advance(9)
    assert rung == ["second", 2]


def test_a_time_that_moves_on_takes_one_timer_of_the_clock() -> None:
    clock = Counting()
    rung: list[float] = []
    alarm = Alarm(clock, lambda _: rung.append(clock.now()), raising)
    for _ in range(100):
        alarm.set(10)
        clock.advance(1)
    assert (rung, clock.pending) == ([], 1)
    assert clock.calls <= 12
    clock.advance(10)
    assert rung == [109]
    alarm.close()


def test_an_earlier_time_is_not_missed() -> None:
    clock = VirtualClock()
    rung: list[float] = []
    alarm = Alarm(clock, lambda _: rung.append(clock.now()), raising)
    alarm.set(10)
    alarm.set(1)
    assert clock.pending == 1
    clock.advance(2)
    assert rung == [1]
    assert clock.pending == 0


@pytest.mark.parametrize("broken", ["now", "call_later"])
def test_what_the_clock_raises_is_told_once_and_it_never_rings_again(broken: str) -> None:
    clock = Counting()
    told: list[Exception] = []
    rung: list[object] = []
    alarm = Alarm(clock, rung.append, told.append)
    alarm.set(1)
    clock.broken = broken
    alarm.set(0.5)
    alarm.set(0.1)
    alarm.at(9)
    assert [repr(error) for error in told] == ["KeyError('no time')"]
    clock.broken = ""
    clock.advance(20)
    assert (rung, clock.pending) == ([], 0)


def test_a_clock_that_cannot_call_off_is_reported(dropped: list[Dropped]) -> None:
    clock = Counting()
    alarm = Alarm(clock, lambda _: None, raising)
    alarm.set(1)
    clock.broken = "cancel"
    alarm.close()
    assert [(entry.what, repr(entry.error)) for entry in dropped] == [
        ("a clock raised when a task was called off", "KeyError('no time')")
    ]
    dropped.clear()


class Counting(VirtualClock):
    """Count what is asked of it, and raise where it is broken."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.broken = ""

    def _raise_if(self, broken: str) -> None:
        if self.broken == broken:
            raise KeyError("no time")

    def now(self) -> float:
        self._raise_if("now")
        return super().now()

    def call_later(self, seconds: float, task: Callable[[], None], /) -> Callable[[], None]:
        self._raise_if("call_later")
        self.calls += 1
        cancel = super().call_later(seconds, task)

        def call_off() -> None:
            self._raise_if("cancel")
            cancel()

        return call_off


class AtOnce(VirtualClock):
    """Call every task before `call_later` returns."""

    def call_later(self, seconds, task, /):  # type: ignore[no-untyped-def]
        task()
        return lambda: None


def test_a_clock_that_calls_at_once_is_no_problem() -> None:
    rung: list[int] = []
    alarm = Alarm(AtOnce(), lambda _: rung.append(1), raising)
    alarm.set(5)
    alarm.close()
    assert rung == [1]


def test_nothing_is_left_on_the_clock_however_threads_set_and_close_it() -> None:
    with restless():
        for _ in range(50):
            clock = VirtualClock()
            alarm = Alarm(clock, lambda _: None, raising)
            all_at_once(partial(alarm.set, 1), partial(alarm.set, 2), alarm.close)
            assert clock.pending == 0


def test_the_time_set_last_is_never_forgotten_however_threads_set_it_while_it_rings() -> None:
    with restless():
        for _ in range(50):
            clock = VirtualClock()
            rung: list[int] = []
            alarm = Alarm(clock, rung.append, raising)
            all_at_once(
                lambda: [alarm.set(1 + n % 3, n) for n in range(40)],  # noqa: B023
                lambda: [alarm.call_off() or alarm.set(2, n) for n in range(100, 140)],  # type: ignore[func-returns-value]  # noqa: B023
                lambda: [clock.advance(0.5) for _ in range(40)],  # noqa: B023
            )
            clock.advance(3)
            assert {39, 139} & set(rung)
            assert clock.pending == 0


def test_a_closed_alarm_lets_the_timer_thread_go() -> None:
    clock = SystemClock()
    alarm = Alarm(clock, lambda _: None, raising)
    alarm.set(3600)
    alarm.close()  # the fixture waits for the thread to end


@given(
    size=st.integers(1, 9),
    steps=st.lists(st.tuples(st.sampled_from(["demand", "come", "take"]), st.integers(1, 12)), max_size=60),
)
def test_never_owes_and_holds_more_than_the_size_or_the_demand(size: int, steps: list[tuple[str, int]]) -> None:
    credit = Credit(size)
    demand = 0
    for step, count in steps:
        if step == "demand":
            demand += count
        elif step == "come":
            credit.arrived(min(count, credit.owed))
        else:
            taken = min(count, credit.held, demand)
            credit.held -= taken
            demand -= taken
        credit.ask(demand)
        assert credit.owed + credit.held <= size
        assert credit.owed + credit.held <= demand
        assert credit.owed or credit.held or not demand  # whoever asks gets something in the end
