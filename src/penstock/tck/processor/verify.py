"""verify: verify that a processor that hands on what it gets keeps the rules of both its sides, and its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import penstock.tck.processor.races
import penstock.tck.processor.trials  # noqa: F401 - importing these files registers their trials
from penstock.spec.interfaces import Processor, Subscription
from penstock.spec.predicates import is_processor
from penstock.spec.rules.every import rule
from penstock.spec.shown import shown
from penstock.tck.dialects import Attach, Operator, dialect_given, processor_of, publisher_of
from penstock.tck.environment import Environment, NotApplicable
from penstock.tck.outcome import Limits, Outcome, Report, Status
from penstock.tck.planned import PlannedFailure
from penstock.tck.processor.case import ProcessorCase, ProcessorSubject, processor
from penstock.tck.processor.feed import NumberFeed
from penstock.tck.publisher.verify import verify_publisher
from penstock.tck.subscriber.case import Claims
from penstock.tck.subscriber.verify import by_rule, closing, hold_whitebox
from penstock.tck.subscriber.whitebox import SubscriberProbe
from penstock.tck.trial import Trial, run_trials
from penstock.tck.verification import verification

_SUMMARY = "processor.keeps_both_contracts"
_RETURN_NORMALLY = "subscriber.signals_return_normally"


@verification("processor")
def verify_processor(
    factory: Callable[[], Processor[Any, Any]],
    *,
    element: Callable[[int], Any] = int,
    limits: Limits | None = None,
    multicast: bool = False,
    recovers: bool = False,
    delays_errors: bool = False,
    cancels_upstream: bool = True,
    concurrent: bool = True,
    asynchronous: bool = False,
    dialect: str = "jvm",
    attach: Attach | None = None,
    settle: Callable[[], object] | None = None,
    subject: str = "processor",
) -> Report:
    """Hold every rule of publishers, subscribers and processors against what `factory` makes, and report rule by rule.

    Args:
        factory: makes a fresh processor that hands on the elements it gets.
        element: makes the element of the given number, counted from 0.
        limits: elements per trial, patience, quiet, and the depth of recursion allowed.
        multicast: it serves several subscribers; otherwise it refuses the second by on_error.
        recovers: it claims to recover from failures of its upstream (rule 4.2).
        delays_errors: it delivers what it holds before it passes a failure on, against rule 4.2.
        cancels_upstream: it cancels its upstream when its last subscriber has cancelled.
        concurrent: it may be asked on one thread while elements come on another (rule 2.7).
        asynchronous: it claims that request and its signals return while its subscribers work (rules 2.2, 3.4).
        dialect: the text whose shapes and numbers apply: "jvm", "dotnet" or "cpp"; that has no processors, so the rules
            of its publishers and subscribers are held, and an operator, a function between publishers, will do as well.
        attach: C++: hands its upstream's subscription to the processor it takes; an operator needs none.
        settle: runs its scheduler dry, in place of waiting for quiet.
        subject: what the report calls it.
    """
    dialect_given("verify_processor", dialect, attach)
    limits = limits or Limits()

    def adapted() -> Any:
        return processor_of("verify_processor", dialect, factory(), attach)

    verified = ProcessorSubject(adapted, element, multicast, recovers, delays_errors, cancels_upstream, concurrent)
    trials = processor.of(dialect)
    if not is_processor(adapted(), "jvm"):  # nothing else can be said of it
        shape = [trial for trial in trials if trial.name == _SUMMARY]
        return Report(subject, _across(verified, limits, settle, shape))
    below, raised = _below(verified, limits, settle, asynchronous, dialect)
    claims = Claims(asynchronous=asynchronous, concurrent=concurrent, recovers=recovers)
    above = hold_whitebox(lambda probe: _probed(verified, probe), element, limits, settle, claims, dialect)
    sides = _with_raised(below + above, raised)
    return Report(subject, by_rule(sides + _summed_up(sides, _across(verified, limits, settle, trials))), dialect)


def _below(
    subject: ProcessorSubject,
    limits: Limits,
    settle: Callable[[], object] | None,
    asynchronous: bool,
    dialect: str,
) -> tuple[tuple[Outcome, ...], str]:
    """Hold the trials of a publisher against processors that are fed from above; tell what a feed saw raised."""
    feeds: list[NumberFeed] = []

    def fed(count: int | None, error: Exception | None = None) -> Processor[Any, Any]:
        made: Any = subject.factory()
        feed = NumberFeed(subject.element, count, error, made.let_go if isinstance(made, Operator) else None)
        feeds.append(feed)
        feed.subscribe(made)
        if feed.raised:
            raise NotApplicable(f"{feed.raised} (rule 2.13)")
        return publisher_of(dialect, made)  # type: ignore[no-any-return]

    def failing(count: int) -> Processor[Any, Any]:
        return fed(count, PlannedFailure("planned to fail upstream of a processor"))

    report = verify_publisher(
        fed,
        failing=None if subject.recovers else failing,
        limits=limits,
        unicast=not subject.multicast,
        asynchronous=asynchronous,
        dialect=dialect,
        settle=settle,
    )
    for feed in feeds:
        with suppress(Exception):
            feed.finish()
    return report.outcomes, next((feed.raised for feed in feeds if feed.raised), "")


def _across(
    subject: ProcessorSubject,
    limits: Limits,
    settle: Callable[[], object] | None,
    trials: Iterable[Trial[ProcessorCase]],
) -> tuple[Outcome, ...]:
    def open_case(environment: Environment) -> ProcessorCase:
        return ProcessorCase(environment, subject)

    return run_trials([closing(trial) for trial in trials], open_case, limits, settle)


def _probed(subject: ProcessorSubject, probe: SubscriberProbe) -> Processor[Any, Any]:
    made = subject.factory()
    try:
        made.subscribe(_Below(probe, subject.cancels_upstream))
    except Exception as error:
        raise NotApplicable(f"subscribe raised {shown(error)} (rule 1.9)") from error
    return made


class _Below:
    """A subscriber that tells a probe what a processor hands on, and drives the processor by its subscription."""

    def __init__(self, probe: SubscriberProbe, cancels_upstream: bool) -> None:
        self._probe = probe
        self._cancels_upstream = cancels_upstream

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Give the probe what drives the processor."""
        cancel = subscription.cancel
        stop = cancel if self._cancels_upstream else None
        self._probe.subscribed(request=subscription.request, cancel=cancel, stop=stop)
        self._probe.cancels = self._cancels_upstream
        self._probe.asks_its_own_way = True  # it is the processor's subscription that is called

    def on_next(self, element: Any, /) -> None:
        """Report an element as handed on."""
        self._probe.processed(element)

    def on_error(self, error: Exception, /) -> None:
        """Report a failure as handed on."""
        self._probe.failed(error)

    def on_complete(self) -> None:
        """Report the completion as handed on."""
        self._probe.completed()


def _with_raised(sides: tuple[Outcome, ...], raised: str) -> tuple[Outcome, ...]:
    """Return the outcomes of both sides, rule 2.13 failed for what was raised if no rule of subscribers has failed."""
    of_subscribers = [outcome for outcome in sides if outcome.test.startswith("subscriber.")]
    if not raised or any(outcome.status is Status.FAILED for outcome in of_subscribers):
        return sides
    return tuple(
        replace(outcome, status=Status.FAILED, detail=raised, hint=rule("2.13").hint)
        if outcome.test == _RETURN_NORMALLY
        else outcome
        for outcome in sides
    )


def _summed_up(sides: tuple[Outcome, ...], across: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """Return the outcomes of the processor's own trials, rule 4.1 failed with either of its sides."""
    failed = ", ".join(outcome.test for outcome in sides if outcome.status is Status.FAILED)
    if not failed:
        return across
    return tuple(
        replace(outcome, status=Status.FAILED, detail=f"failed: {failed}", hint=rule("4.1").hint)
        if outcome.test == _SUMMARY and outcome.status is Status.PASSED
        else outcome
        for outcome in across
    )
