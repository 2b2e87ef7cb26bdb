"""The explorer finds faults that were planted, shows them again, and finds nothing where there is none."""

import re

import pytest

from tests.explore.running import output

PLANTED = {
    "WithoutLock": ("down.ask|down.ask", "rule 1.3: down: on_next came inside another signal"),
    "LostWakeUp": ("a.next|down.ask", "it rests as no order of calls leaves it"),
    "TwoEnds": ("a.complete|down.bad", "rule 1.7: down: on_complete came after completed"),
    "Crossed": ("down.ask|down.cancel", "deadlock"),
    "Leaking": ("subscribe|down.cancel", "a is not let go"),
    "Raising": ("a.next|down.cancel", "a.next raised IndexError('pop from an empty deque')"),
}

PLANTED_TASKS = {
    "FromElsewhere": ("down.cancel|down.cancel", "a is not let go"),
    "ForgottenDemand": ("a.next|down.ask", "it rests as no order of calls leaves it"),
    "TwoTasks": ("down.ask|down.ask", "it rests as no order of calls leaves it"),
    "EndedUntold": ("tasks.cancel|down.ask", "down: no end came"),
}

pytestmark = pytest.mark.timeout(600)  # it is all work and no waiting: on a busy machine it takes longer


def test_finds_planted_faults_and_shows_them_again_and_finds_nothing_else() -> None:
    """One test, so that the engine is imported once."""
    _finds(PLANTED, "Sound")


def test_finds_faults_that_were_planted_on_an_event_loop() -> None:
    _finds(PLANTED_TASKS, "SoundTask")


def _finds(faults: dict[str, tuple[str, str]], sound: str) -> None:
    planted = [f"--planted={fault}" for fault in (*faults, sound)]
    status, text = output(*planted, *(f"--calls={calls}" for calls, _ in faults.values()))
    assert status == 1, text
    for fault, (calls, what) in faults.items():
        found = rf"  {fault}: .* then {re.escape(calls.replace('|', ' | '))}\n    {re.escape(what)}"
        assert re.search(found, text), text
        assert f"again: {fault}: yes" in text
    assert ": no\n" not in text
    assert re.search(rf"^{sound} .* 0 violations$", text, re.MULTILINE), text


def test_random_schedules_find_a_planted_fault() -> None:
    status, text = output("--planted", "WithoutLock", "--preemptions", "0", "--random", "1500")
    assert status == 1, text


def test_two_runs_are_the_same() -> None:
    one, other = (output("--part", "race", "--calls", "a.next|b.next")[1] for _ in range(2))
    assert one.split(" s ")[0].split()[:5] == other.split(" s ")[0].split()[:5]
