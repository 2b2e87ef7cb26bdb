"""The kit's patience passes as time does for the process: neither load nor a collection is blamed on the subject."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from penstock.tck import patience
from penstock.tck.activity import Activity
from penstock.tck.environment import Environment, rest
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
        (lambda seconds: seconds / 30, 0.0, 200),  # it looks now and then whether it may go on
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


def test_patience_is_counted_from_the_last_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty turns in which something happens, and then as many as the patience is worth."""
    machine = Machine(monkeypatch, lambda _: 0.0)
    activity = Activity()

    class Changed:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

        def wait_for(self, holds: Callable[[], bool], seconds: float) -> bool:
            return machine.wait(seconds)

    activity.changed = Changed()  # type: ignore[assignment]
    assert not activity.wait_until(lambda: False, 2.0, lambda: min(machine.turns, 50))
    assert abs(machine.turns - 70) <= 1


def test_what_counts_as_quiet_grows_with_the_time_that_elements_take() -> None:
    environment = Environment(Limits(timeout=2.0, quiet=0.05))
    assert environment.quiet == 0.05
    environment.element_took(0.1)
    assert environment.quiet == pytest.approx(0.3)
    environment.element_took(100.0)
    assert environment.quiet == 2.0


@pytest.mark.parametrize(
    ("pace", "wanted", "most"), [(0.0, 5000, 1000), (0.0, 7, 7), (0.01, 5000, 200), (1.0, 5000, 5), (1.0, 3, 3)]
)
def test_a_trial_waits_for_as_many_elements_as_the_limits_and_the_pace_allow(
    pace: float, wanted: int, most: int
) -> None:
    environment = Environment(Limits(elements=1000, timeout=2.0))
    environment.element_took(pace)
    assert environment.most(wanted) == most


def test_trials_come_to_rest_each_by_itself() -> None:
    """One whose subject never rests does not keep the others from it."""
    activity = Activity()
    limits = Limits(timeout=0.1, quiet=0.01)
    still, restless = Environment(limits, activity), Environment(limits, activity)
    waited = activity.wait_until

    def wait_until(holds: Callable[[], bool], patience: float, progress: Callable[[], int] = lambda: 0) -> bool:
        restless.pulse()
        return waited(holds, patience, progress)

    activity.wait_until = wait_until  # type: ignore[method-assign]
    rest([still, restless])
    assert (still.rested, restless.rested) == (True, False)


def test_a_trial_that_holds_up_the_whole_process_is_not_given_up() -> None:
    """A collection of many objects does so, and so does this: no other thread runs meanwhile."""
    trial: Trial[object] = Trial("1.1", "adds", lambda _: sum(range(30_000_000)) and None)
    (outcome,) = run_trials([trial], lambda environment: environment, Limits(timeout=0.2))
    assert (outcome.status, outcome.detail) == (Status.PASSED, "")


def test_a_subject_that_the_kit_itself_holds_up_has_as_long_as_that_takes() -> None:
    environment = Environment(Limits(timeout=0.05, quiet=0.5))
    entered = threading.Event()
    held = environment.elsewhere(lambda: environment.lingers(lambda: entered.set() is not None))
    entered.wait()
    assert environment.comes(lambda: held.done)
