"""verify: verify that a publisher keeps the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import penstock.tck.publisher.amounts
import penstock.tck.publisher.apart
import penstock.tck.publisher.cancel
import penstock.tck.publisher.closing
import penstock.tck.publisher.demand
import penstock.tck.publisher.end
import penstock.tck.publisher.races
import penstock.tck.publisher.reentrant
import penstock.tck.publisher.subscribe  # noqa: F401 - importing these files registers their trials
from penstock.spec.dialects.cpp import FromCpp
from penstock.spec.dialects.dotnet import PublisherFromDotnet
from penstock.tck.outcome import Limits, Report
from penstock.tck.publisher.case import Factory, PublisherCase, PublisherSubject
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.trial import run_trials
from penstock.tck.verification import verification

_ADAPTERS: dict[str, Callable[[Any], Any]] = {
    "jvm": lambda publisher: publisher,
    "dotnet": PublisherFromDotnet,
    "cpp": FromCpp,
}


@verification("publisher", "failing", "over")
def verify_publisher(
    factory: Factory,
    *,
    failing: Callable[..., Any] | None = None,
    over: Callable[[Iterable[Any]], Any] | None = None,
    limits: Limits | None = None,
    dialect: str = "jvm",
    unicast: bool = False,
    asynchronous: bool = False,
    closes: Callable[[], int] | bool = False,
    max_elements: int | None = None,
    min_elements: int = 0,
    finite: bool = True,
    settle: Callable[[], object] | None = None,
    subject: str = "publisher",
) -> Report:
    """Hold every publisher rule against what `factory` makes, and report rule by rule.

    Args:
        factory: makes a publisher of as many elements as it is given, or an endless one when given None.
        failing: makes a publisher that fails; if it takes a number, after so many elements.
        over: puts the publisher over an iterable, so that the kit can gate it, count its reads and make it fail.
        limits: elements per trial, patience, quiet, and the depth of recursion allowed.
        dialect: the text whose shapes and numbers apply: "jvm", "dotnet" or "cpp".
        unicast: it serves one subscriber and refuses the next by on_error.
        asynchronous: it claims that request never runs the subscriber (rule 3.4).
        closes: it claims to close its source (rule 3.14): how often it did so far, or True together with `over`.
        max_elements: the most elements it can have; it is then never asked to be endless.
        min_elements: the fewest elements it can have.
        finite: it can end by itself.
        settle: runs its scheduler dry, in place of waiting for quiet.
        subject: what the report calls it.
    """
    if dialect not in _ADAPTERS:
        raise ValueError(f"verify_publisher: dialect must be one of {', '.join(sorted(_ADAPTERS))}, got {dialect!r}")
    if closes is True and over is None:
        raise ValueError("verify_publisher: closes must be a count of closes unless `over` is given, got True")
    limits = limits or Limits()
    verified = PublisherSubject(
        factory=factory,
        failing=failing,
        over=over,
        limits=limits,
        dialect=dialect,
        unicast=unicast,
        asynchronous=asynchronous,
        closes=closes,
        max_elements=max_elements,
        min_elements=min_elements,
        finite=finite,
        adapt=_ADAPTERS[dialect],
    )
    trials = publisher_trials.of(dialect)
    outcomes = run_trials(trials, lambda environment: PublisherCase(verified, environment), limits, settle)
    return Report(subject, outcomes, dialect)
