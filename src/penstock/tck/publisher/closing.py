"""closing: a trial of what the last cancel does to the source (rule 3.14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.spec.interfaces import Publisher
from penstock.tck.environment import NotApplicable
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.sources import CountedSource
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.trial import Steps


@publisher_trials.add("3.14")
def last_cancel_closes_the_source(case: PublisherCase) -> Steps:
    """Cancel the only subscriber, then the last of two: the source is closed then, once, and not before."""
    publisher, closes = _closable(case)
    yield from _pause(case)
    before = closes()
    probe = case.subscribe(publisher)
    case.take(probe, 1)
    yield from _pause(case)
    case.environment.check(closes() == before, "the source was closed while it was being read")
    probe.cancel()
    probe.cancel()
    yield from _pause(case)
    times = closes() - before
    case.environment.check(times == 1, f"the source was closed {times} times after the last cancel, not once")
    if not case.subject.unicast:
        yield from _closes_under_nobody(case)
    if case.subject.closes is True:
        yield from _closes_what_was_not_read(case)


def _pause(case: PublisherCase) -> Steps:
    """Come to rest; without letting other trials go on meanwhile, if theirs are counted too."""
    if callable(case.subject.closes):
        case.environment.rest()
    else:
        yield


def _closable(case: PublisherCase) -> tuple[Publisher[Any], Callable[[], int]]:
    closes = case.subject.closes
    if callable(closes):
        return case.running()[0], closes
    if not closes:
        raise NotApplicable("it does not claim to close its source")
    source = CountedSource()
    return case.over(source), lambda: source.closes


def _closes_under_nobody(case: PublisherCase) -> Steps:
    publisher, _ = _closable(case)
    first, second = case.subscribe(publisher), case.subscribe(publisher, rule="1.10")
    for probe in (first, second):
        probe.request(1)
    case.elements(first, 1)
    case.elements(second, 1)
    first.cancel()
    yield from _pause(case)
    second.request(1)
    case.environment.wait_until(
        lambda: len(second.elements) == 2, "one subscriber cancelled and the other got no more elements"
    )


def _closes_what_was_not_read(case: PublisherCase) -> Steps:
    source = CountedSource()
    probe = case.subscribe(case.over(source))
    yield
    probe.cancel()
    yield
    left = source.opens - source.closes
    case.environment.check(left == 0, "the source was opened and, cancelled before any request, not closed")
