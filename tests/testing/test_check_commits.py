"""check_commits: each law of telling a source what is done refuses a fault that breaks it, and says its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Stream
from penstock.operators.delay import Delay
from penstock.operators.filter import FilterAsync
from penstock.operators.map import Map
from penstock.run.carrying.entrance import SourceRun
from penstock.run.carrying.joints import JOINTS
from penstock.run.carrying.marks import Carried
from penstock.stage import Joint
from penstock.testing import VerificationError, check_commits

Lift = Callable[[Any, Any], tuple[Any, ...]]


def through(numbers: Stream[int]) -> Stream[int]:
    return numbers.delay(0)


async def odd(number: int) -> bool:
    return number % 2 == 1


def odd_ones(numbers: Stream[int]) -> Stream[int]:
    return numbers.filter(odd)


def too_early(element: Carried) -> Carried:
    element.done()
    return Carried(element.value)


async def silently(element: Carried) -> bool:
    return await odd(element.value)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[type[Joint[Any, Any]], Lift], None]:
    """Have a step carry positions in another way than the right one."""
    return lambda kind, lift: monkeypatch.setitem(JOINTS, kind, lift)


def test_what_is_sound_holds() -> None:
    check_commits(through)
    check_commits(odd_ones)


def test_an_element_that_is_done_too_early_is_lost_when_the_run_is_broken_off(plant: Any) -> None:
    plant(Delay, lambda step, _: (Map(too_early), step))
    law = (
        "check_commits: law 'what was had and what follows the last commit is everything': broken off behind 0 results"
    )
    with pytest.raises(VerificationError, match=f"^{law} and told \\d+, .* never came$"):
        check_commits(through)


def test_an_element_that_is_dropped_and_never_done_is_not_committed_at_the_end(plant: Any) -> None:
    plant(FilterAsync, lambda step, _: (step.__class__(silently),))
    law = "check_commits: law 'a run that has come to the end of the source has committed it': 1 of 6 are committed"
    with pytest.raises(VerificationError, match=f"^{law}$"):
        check_commits(odd_ones, elements=6)


def test_elements_that_are_never_done_let_the_run_hang(plant: Any) -> None:
    plant(FilterAsync, lambda step, _: (step.__class__(silently),))
    law = r"check_commits: law 'a run comes to its end': \d+ elements were given and 1 committed"
    with pytest.raises(VerificationError, match=f"^{law}, and the run went no further$"):
        check_commits(odd_ones, wait=0.5)


def test_the_same_commit_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = SourceRun._commit

    def twice(run: SourceRun, position: Any) -> None:
        commit(run, position)
        commit(run, position)

    monkeypatch.setattr(SourceRun, "_commit", twice)
    law = "check_commits: law 'a commit goes on, and never beyond what was given': 1 was committed behind 1, when 1"
    with pytest.raises(VerificationError, match=f"^{law} elements had been given$"):
        check_commits(through, window=1)


def test_a_commit_beyond_what_was_given_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = SourceRun._commit
    monkeypatch.setattr(SourceRun, "_commit", lambda run, position: commit(run, position + 100))
    law = "check_commits: law 'a commit goes on, and never beyond what was given': 101 was committed"
    with pytest.raises(VerificationError, match=f"^{law}"):
        check_commits(through, window=1)


def test_more_uncommitted_elements_than_the_window_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = SourceRun.__init__

    def without_window(run: SourceRun, source: Any, window: int | None, *rest: Any) -> None:
        begin(run, source, None, *rest)

    monkeypatch.setattr(SourceRun, "__init__", without_window)
    law = "check_commits: law 'at most `window` elements are uncommitted': 9 are uncommitted when 9 is asked for, and 8"
    with pytest.raises(VerificationError, match=f"^{law} may be$"):
        check_commits(lambda numbers: numbers.buffer(10))
