"""alarm and credit: one timer that never rings too late to be wanted, and demand that never runs ahead."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from penstock import SystemClock, VirtualClock
from penstock.engine.alarm import Alarm
from penstock.engine.credit import Credit
from tests.engine.stress import all_at_once, restless


def test_rings_once_at_the_time_set_last() -> None:
    clock = VirtualClock()
    rung: list[float] = []
    alarm = Alarm(clock, lambda: rung.append(clock.now()))
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
    alarm = Alarm(clock, lambda: rung.append(clock.now()))
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

    def ring() -> None:
        rung.append(clock.now())
        if len(rung) < 3:
            alarm.set(2)

    alarm = Alarm(clock, ring)
    alarm.set(1)
    clock.advance(10)
    assert rung == [1, 3, 5]
    assert clock.pending == 0


class AtOnce(VirtualClock):
    """Call every task before `call_later` returns."""

    def call_later(self, seconds, task, /):  # type: ignore[no-untyped-def]
        task()
        return lambda: None


def test_a_clock_that_calls_at_once_is_no_problem() -> None:
    rung: list[int] = []
    alarm = Alarm(AtOnce(), lambda: rung.append(1))
    alarm.set(5)
    alarm.close()
    assert rung == [1]


def test_nothing_is_left_on_the_clock_however_threads_set_and_close_it() -> None:
    with restless():
        for _ in range(50):
            clock = VirtualClock()
            alarm = Alarm(clock, lambda: None)
            all_at_once(partial(alarm.set, 1), partial(alarm.set, 2), alarm.close)
            assert clock.pending == 0


def test_a_closed_alarm_lets_the_timer_thread_go() -> None:
    clock = SystemClock()
    alarm = Alarm(clock, lambda: None)
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
