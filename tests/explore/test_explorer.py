"""The explorer finds faults that were planted, shows them again, and finds nothing where there is none."""

import pytest

from tests.explore.running import output

PLANTED = {
    "WithoutLock": "rule 1.3: down: on_next came inside another signal",
    "LostWakeUp": "it rests as no order of calls leaves it",
    "TwoEnds": "rule 1.7: down: on_complete came after completed",
    "Crossed": "deadlock",
    "Leaking": "a is not let go",
    "Raising": "raised IndexError('pop from an empty deque')",
}

pytestmark = pytest.mark.timeout(600)  # it is all work and no waiting: on a busy machine it takes longer


@pytest.mark.parametrize("fault", PLANTED)
def test_finds_a_planted_fault_and_shows_it_again(fault: str) -> None:
    status, text = output("--planted", fault, "--random", "0")
    assert status == 1
    assert PLANTED[fault] in text
    assert "again: yes" in text
    assert "again: no" not in text


def test_random_schedules_find_a_planted_fault() -> None:
    status, text = output("--planted", "WithoutLock", "--preemptions", "0", "--random", "1500")
    assert status == 1, text


def test_finds_nothing_where_nothing_is_planted() -> None:
    status, text = output("--planted", "Sound", "--random", "500")
    assert status == 0, text


def test_two_runs_are_the_same() -> None:
    one, other = (output("--part", "race", "--calls", "a.next|b.next")[1] for _ in range(2))
    assert one.split(" s ")[0].split()[:5] == other.split(" s ")[0].split()[:5]
