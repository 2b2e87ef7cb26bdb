"""through: verify that a pull-stream through keeps the properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock.tck.pull.producer_fault_trials
import penstock.tck.pull.producer_trials
import penstock.tck.pull.through_fault_trials
import penstock.tck.pull.through_trials  # noqa: F401 - importing these files registers their trials
from penstock.tck.contract import PULL
from penstock.tck.outcome import Limits, Report
from penstock.tck.pull.case import ThroughCase, ThroughSubject, same, through_trials
from penstock.tck.trial import run_trials
from penstock.tck.verification import verification


@verification("pull-stream through")
def verify_pull_through(
    factory: Callable[[], Any],
    *,
    expects: Callable[[list[Any]], list[Any]] = same,
    eager: bool = False,
    recovers: bool = False,
    stopping: Callable[[int], Any] | None = None,
    failing: Callable[[Exception], Any] | None = None,
    working: Callable[[Any], Any] | None = None,
    hooked: Callable[[Any], Any] | None = None,
    flattens: Callable[[], Any] | None = None,
    limits: Limits | None = None,
    settle: Callable[[], object] | None = None,
    subject: str = "through",
) -> Report:
    """Hold every property of throughs against what `factory` makes, and report property by property.

    A through is a function that takes what it reads from and returns what it is read by. It is tried under an upstream
    of the numbers from 0 on, which answers at once and later, with one ask and with twenty asks at a time.

    Args:
        factory: makes a fresh through.
        expects: tells which values come out for the values that go in; the same, unless told otherwise.
        eager: it claims to read ahead once it was asked (property B5).
        recovers: it claims to make a good end of an error (property F7).
        stopping: makes a through that lets so many values pass and stops (property A8).
        failing: makes a through whose function raises the given error at one of the first values (property F5).
        working: makes a through that works by calling `start(value, finished)`, given `start` (property A11).
        hooked: makes a through that tells the given function of its end (property A12).
        flattens: makes a through that gives the values of the sources that come (property F12).
        limits: elements of the longest streams, patience and quiet.
        settle: runs its scheduler dry, in place of waiting for quiet.
        subject: what the report calls it.
    """
    limits = limits or Limits()
    verified = ThroughSubject(
        factory, expects, eager, recovers, stopping, failing, working, hooked, flattens, limits.elements
    )
    trials = through_trials.of(PULL)
    outcomes = run_trials(trials, lambda environment: ThroughCase(verified, environment), limits, settle)
    return Report(subject, outcomes, PULL)
