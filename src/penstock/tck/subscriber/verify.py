"""verify: verify that a subscriber keeps the rules, from inside (whitebox) or from outside (blackbox)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import penstock.tck.subscriber.blackbox_trials
import penstock.tck.subscriber.demand
import penstock.tck.subscriber.ends
import penstock.tck.subscriber.long
import penstock.tck.subscriber.signals
import penstock.tck.subscriber.whitebox_trials  # noqa: F401 - importing these files registers their trials
from penstock.spec.dialects.cpp import CppSubscription
from penstock.spec.interfaces import Subscriber
from penstock.spec.rules.every import RULES, rule
from penstock.tck.dialects import Attach, CppSeat, dialect_given, in_dialect, subscriber_of, trials_of
from penstock.tck.environment import Environment
from penstock.tck.outcome import Limits, Outcome, Report, Status
from penstock.tck.subscriber.blackbox import Hook, Outside
from penstock.tck.subscriber.case import Claims, Reach, SubscriberCase, SubscriberSetup, blackbox, whitebox
from penstock.tck.subscriber.whitebox import SubscriberProbe
from penstock.tck.trial import Steps, Trial, run_trials
from penstock.tck.verification import verification

_SOME = 3

_NOT_FROM_THIS_SIDE = (
    Outcome(
        "2.12",
        "publisher.on_subscribe_at_most_once",
        Status.NOT_APPLICABLE,
        "it binds the publisher, which calls on_subscribe: verify that",
    ),
)
_NOT_FROM_OUTSIDE = (
    Outcome(
        "2.2",
        "subscriber.slow_work_does_not_block",
        Status.NOT_APPLICABLE,
        "its work cannot be held up from outside: verify it whitebox",
    ),
    Outcome(
        "2.11",
        "subscriber.signals_are_processed_in_order",
        Status.NOT_APPLICABLE,
        "what it processes cannot be seen from outside: verify it whitebox",
    ),
    *_NOT_FROM_THIS_SIDE,
)


@verification("subscriber")
def verify_subscriber(
    factory: Callable[[SubscriberProbe], Subscriber[Any]],
    *,
    element: Callable[[int], Any] = int,
    limits: Limits | None = None,
    asynchronous: bool = False,
    ordered: bool = True,
    concurrent: bool = False,
    dialect: str = "jvm",
    attach: Attach | None = None,
    settle: Callable[[], object] | None = None,
    subject: str = "subscriber",
) -> Report:
    """Hold every subscriber rule against what `factory` makes around a probe, and report rule by rule.

    Args:
        factory: makes a fresh subscriber that tells the given probe what drives it and what it processes.
        element: makes the element of the given number, counted from 0; no two need be alike.
        limits: elements per trial, patience and quiet.
        asynchronous: it claims that its signals return while it works (rule 2.2).
        ordered: it processes elements in the order they came.
        concurrent: its triggers may be called from any threads at once, while signals come on others (rule 2.7).
        dialect: the text whose shapes and numbers apply: "jvm", "dotnet" or "cpp".
        attach: C++: hands the subscription to the subscriber it takes; otherwise the kit asks and cancels for it.
        settle: runs its scheduler dry, in place of waiting for quiet.
        subject: what the report calls it.
    """
    dialect_given("verify_subscriber", dialect, attach)
    claims = Claims(asynchronous=asynchronous, ordered=ordered, concurrent=concurrent, overlapping=concurrent)

    def adapted(probe: SubscriberProbe) -> Subscriber[Any]:
        def drive(_: Any, subscription: CppSubscription) -> None:
            probe.subscribed(request=subscription.request, cancel=subscription.cancel, stop=subscription.cancel)

        return subscriber_of("verify_subscriber", dialect, factory(probe), attach or drive)

    held = hold_whitebox(adapted, element, limits, settle, claims, dialect)
    return Report(subject, by_rule(in_dialect(held + _NOT_FROM_THIS_SIDE, dialect, attach)), dialect)


def hold_whitebox(
    factory: Callable[[SubscriberProbe], Subscriber[Any]],
    element: Callable[[int], Any],
    limits: Limits | None,
    settle: Callable[[], object] | None,
    claims: Claims,
    dialect: str = "jvm",
) -> tuple[Outcome, ...]:
    """Hold the trials that need a probe, against a subscriber or the upper side of a processor."""

    def make(environment: Environment) -> tuple[Subscriber[Any], Reach]:
        probe = SubscriberProbe(environment)
        return factory(probe), probe

    return _hold(trials_of(whitebox, dialect), SubscriberSetup(make, element, _SOME, claims), limits, settle)


@verification("subscriber")
def verify_subscriber_blackbox(
    factory: Callable[[], Subscriber[Any]],
    *,
    element: Callable[[int], Any] = int,
    expects: int = 1,
    trigger: Hook | None = None,
    stop: Hook | None = None,
    dialect: str = "jvm",
    attach: Attach | None = None,
    limits: Limits | None = None,
    settle: Callable[[], object] | None = None,
    subject: str = "subscriber",
) -> Report:
    """Hold what can be seen from outside against the subscribers that `factory` makes, and report rule by rule.

    Args:
        factory: makes a fresh subscriber.
        element: makes the element of the given number, counted from 0.
        expects: it asks for at least so many elements, unless it cancels.
        trigger: makes the given subscriber ask for one more element, if it does not ask by itself.
        stop: makes the given subscriber want no more (rule 2.6).
        dialect: the text whose shapes and numbers apply: "jvm", "dotnet" or "cpp".
        attach: C++: hands the subscription to the subscriber it takes; otherwise the kit asks and cancels for it.
        limits: elements per trial, patience and quiet.
        settle: runs its scheduler dry, in place of waiting for quiet.
        subject: what the report calls it.
    """
    if expects < 1:
        raise ValueError(f"verify_subscriber_blackbox: expects must be >= 1, got {expects!r}")

    dialect_given("verify_subscriber_blackbox", dialect, attach)
    if dialect != "jvm":
        subscriber_of("verify_subscriber_blackbox", dialect, factory())

    def make(environment: Environment) -> tuple[Subscriber[Any], Reach]:
        made = factory()
        adapted = subscriber_of("verify_subscriber_blackbox", dialect, made, attach)
        if isinstance(adapted, CppSeat) and attach is None:
            return adapted, Outside(adapted, trigger or CppSeat.ask, stop or CppSeat.quit)
        return adapted, Outside(made, trigger, stop)

    outcomes = _hold(trials_of(blackbox, dialect), SubscriberSetup(make, element, expects), limits, settle)
    return Report(subject, by_rule(in_dialect(outcomes + _NOT_FROM_OUTSIDE, dialect, attach)), dialect)


def _hold(
    trials: Iterable[Trial[SubscriberCase]],
    setup: SubscriberSetup,
    limits: Limits | None,
    settle: Callable[[], object] | None,
) -> tuple[Outcome, ...]:
    held = [closing(trial) for trial in trials]
    return run_trials(held, lambda environment: SubscriberCase(environment, setup), limits or Limits(), settle)


class Closable(Protocol):
    """A case that can end the streams which its trial leaves open."""

    def close(self) -> None:
        """End them."""


C = TypeVar("C", bound=Closable)


def closing(trial: Trial[C]) -> Trial[C]:
    """Return the trial with its case closed at the end, so that subjects let go of their threads."""

    def body(case: C) -> Steps:
        try:
            steps = trial.body(case)
            if steps is not None:
                yield from steps
        finally:
            case.close()

    return replace(trial, body=body)


def by_rule(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """Return the outcomes in the order of the text."""
    return tuple(sorted(outcomes, key=lambda outcome: RULES.index(rule(outcome.rule))))
