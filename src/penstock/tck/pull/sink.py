"""sink: verify that a pull-stream sink keeps the properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock.tck.pull.sink_trials  # noqa: F401 - importing this file registers its trials
from penstock.tck.contract import PULL
from penstock.tck.outcome import Limits, Report
from penstock.tck.pull.case import SinkCase, SinkSubject, sink_trials
from penstock.tck.trial import run_trials
from penstock.tck.verification import verification


@verification("pull-stream sink")
def verify_pull_sink(
    factory: Callable[[Any], Any],
    *,
    stopping: Callable[[Any, int], Any] | None = None,
    failing: Callable[[Any, Exception], Any] | None = None,
    limits: Limits | None = None,
    settle: Callable[[], object] | None = None,
    subject: str = "sink",
) -> Report:
    """Hold every property of sinks against what `factory` makes, and report property by property.

    A sink is a function that takes what it reads from, and reads. It is tried under an upstream of the numbers from 0
    on, which answers at once and later.

    Args:
        factory: makes a fresh sink that calls `done(error, *results)`, given `done`, when it is over.
        stopping: makes one that wants so many values and no more, given `done` and that number (property F9).
        failing: makes one whose function raises the given error, given `done` and that error (property F9).
        limits: elements of the longest streams, patience and quiet.
        settle: runs its scheduler dry, in place of waiting for quiet.
        subject: what the report calls it.
    """
    limits = limits or Limits()
    verified = SinkSubject(factory, stopping, failing, limits.elements)
    trials = sink_trials.of(PULL)
    outcomes = run_trials(trials, lambda environment: SinkCase(verified, environment), limits, settle)
    return Report(subject, outcomes, PULL)
