"""source: verify that a pull-stream source keeps the properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import penstock.tck.pull.producer_fault_trials
import penstock.tck.pull.producer_trials
import penstock.tck.pull.source_trials  # noqa: F401 - importing these files registers their trials
from penstock.tck.contract import PULL
from penstock.tck.outcome import Limits, Report
from penstock.tck.pull.case import SourceCase, SourceSubject, source_trials
from penstock.tck.trial import run_trials
from penstock.tck.verification import verification


@verification("pull-stream source", "failing")
def verify_pull_source(
    factory: Callable[[int | None], Any],
    *,
    failing: Callable[[int], Any] | None = None,
    over: Callable[[Iterator[Any]], Any] | None = None,
    stuck: Callable[[], Any] | None = None,
    combines: Callable[[list[Any]], Any] | None = None,
    exactly: int | None = None,
    finite: bool = True,
    limits: Limits | None = None,
    settle: Callable[[], object] | None = None,
    subject: str = "source",
) -> Report:
    """Hold every property of sources against what `factory` makes, and report property by property.

    A source is a function `read(abort, answer)`, or an object with such a `read`.

    Args:
        factory: makes a source of as many values as it is given, or an endless one when given None.
        failing: makes a source that fails after so many values.
        over: puts the source over an iterator, so that the kit can count what is taken and closed.
        stuck: makes a source whose next value does not come, so that asks wait.
        combines: makes a source of several inputs, given as functions to read.
        exactly: it always has so many values, whatever the factory is given.
        finite: it has an end; otherwise the factory is given None only.
        limits: elements of the longest streams, patience and quiet.
        settle: runs its scheduler dry, in place of waiting for quiet.
        subject: what the report calls it.
    """
    limits = limits or Limits()
    verified = SourceSubject(factory, failing, over, stuck, combines, exactly, finite, limits.elements)
    trials = source_trials.of(PULL)
    outcomes = run_trials(trials, lambda environment: SourceCase(verified, environment), limits, settle)
    return Report(subject, outcomes, PULL)
