"""The kit's patience passes as time does for the process: neither load nor a collection is blamed on the subject."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from penstock.tck import patience
from penstock.tck.outcome import Limits, Status
from penstock.tck.patience import Patience
from penstock.tck.trial import Trial, run_trials


class Machine:
    """Be a machine on which a process gets so much of each turn that it waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, share: Callable[[float], float], late: float = 0.0) -> None:
        self.ran = 0.0
        self.now = 0.0
        self.late = late
        self.share = share
        self.turns = 0
        monkeypatch.setattr(
            patience, "time", SimpleNamespace(process_time=lambda: self.ran, monotonic=lambda: self.now)
        )

    def wait(self, seconds: float) -> bool:
        self.turns += seconds > 0
        self.ran += self.share(seconds)
        self.now += seconds + self.late
        return False


@pytest.mark.parametrize(
    ("share", "late", "turns"),
    [
        (lambda _: 0.0, 0.0, 20),  # all wait
        (lambda seconds: seconds / 1000, 0.0, 20),  # that is what waiting takes
        (lambda seconds: seconds, 0.0, 20),  # it never stops
        (lambda seconds: seconds / 4, 0.0, 80),  # three others are as busy
        (lambda seconds: seconds / 1000, 1.0, 200),  # a hundred others are as busy
        (lambda seconds: 100.0, 100.0, 200),  # it is held up
    ],
)
def test_a_turn_counts_for_as_long_as_the_process_ran(
    monkeypatch: pytest.MonkeyPatch, share: Callable[[float], float], late: float, turns: int
) -> None:
    machine = Machine(monkeypatch, share, late)
    assert not Patience(2.0).wait(machine.wait)
    assert abs(machine.turns - turns) <= 1  # these are sums of fractions


def test_what_comes_is_not_waited_for_any_longer() -> None:
    assert Patience(2.0).wait(lambda seconds: True)


def test_what_has_come_is_seen_without_any_patience() -> None:
    asked: list[float] = []
    assert not Patience(0).wait(lambda seconds: bool(asked.append(seconds)))
    assert asked == [0]


def test_it_can_be_renewed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, lambda _: 0.0)
    made = Patience(2.0)

    def wait(seconds: float) -> bool:
        if machine.turns == 10:
            made.renew(4.0)
        return machine.wait(seconds)

    made.wait(wait)
    assert abs(machine.turns - 50) <= 1


def test_a_trial_that_holds_up_the_whole_process_is_not_given_up() -> None:
    """A collection of many objects does so, and so does this: no other thread runs meanwhile."""
    trial: Trial[object] = Trial("1.1", "adds", lambda _: sum(range(30_000_000)) and None)
    (outcome,) = run_trials([trial], lambda environment: environment, Limits(timeout=0.2))
    assert (outcome.status, outcome.detail) == (Status.PASSED, "")
