"""law_leaving: everything is let go of however a run ends, and runs share nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Subscription
from penstock.testing.laws.case import Case
from penstock.testing.laws.forms import Form, filled
from penstock.testing.laws.ways import ask
from penstock.testing.probe import Probe
from penstock.testing.signals import VerificationError, spoken


def everything_is_let_go(case: Case) -> None:
    """Close upstream, and end threads, tasks and timers, after completion, failure, and a cancel at any time."""
    for error, when in ((None, "completion"), (case.failure, "a failure")):
        upstream = case.upstream(error)
        probe = case.probe(case.over(upstream), UNBOUNDED)
        case.ended(probe, "all were requested: expected the end")
        case.let_go(upstream, when)
    _cancelled(case, "a cancel inside on_subscribe", on_subscribe=lambda subscription: subscription.cancel())
    _cancelled(case, "a request and a cancel inside on_subscribe", on_subscribe=_ask_and_cancel)
    for count in {1, len(case.expected.of(case.items))} - {0}:
        _cancelled(case, f"a cancel inside on_next after {count}", request=UNBOUNDED, stop=count)
        _cancelled(case, f"a cancel on another thread after {count}", request=UNBOUNDED, stop=count, call=_elsewhere)
        _cancelled(case, f"a cancel after {count} that were requested", request=count, rests=True)
    if case.form is Form.SUBJECT:
        subject = filled(case.upstream())
        probe = case.probe(case.make(subject), 1)
        probe.cancel()
        if not case.session.comes(lambda: not subject.subscribers):
            raise case.broken(f"{subject.subscribers} subscribers of upstream were left after a cancel")


def _ask_and_cancel(subscription: Subscription) -> None:
    subscription.request(1)
    subscription.cancel()


def _cancelled(
    case: Case,
    when: str,
    *,
    on_subscribe: Callable[[Subscription], object] | None = None,
    request: int = 0,
    stop: int = 0,
    rests: bool = False,
    call: Callable[[Case, Probe[Any]], None] | None = None,
) -> None:
    upstream = case.upstream()

    def on_signal(_: object) -> None:
        if len(probe.elements) == stop and not probe.cancelled and not probe.ended:
            if call is None:
                probe.cancel()
            else:
                call(case, probe)

    probe: Probe[Any] = Probe(
        request, on_subscribe=on_subscribe, on_signal=on_signal if stop else None, patience=case.session.patience
    )
    case.over(upstream).subscribe(probe)
    if stop and not case.comes(probe, lambda: probe.cancelled or probe.ended):
        probe.cancel()
        raise case.broken(f"expected {stop} elements or the end, got {spoken(probe.signals)}")
    if rests:
        case.comes(probe, lambda: len(probe.elements) >= request or probe.ended)
        probe.cancel()
    case.let_go(upstream, when)
    case.keeps_rules(probe)
    if (stop and probe.cancelled and len(probe.signals) > stop) or (on_subscribe is not None and probe.elements):
        raise case.broken(f"signals came after {when}: {spoken(probe.signals)}")


def _elsewhere(case: Case, probe: Probe[Any]) -> None:
    thread = threading.Thread(target=probe.cancel, daemon=True)
    thread.start()
    thread.join(case.session.patience)


def two_runs_share_nothing(case: Case) -> None:
    """Give the same to two subscribers that take turns, and to one that comes after a run that was cut short."""
    results = case.expected.of(case.items)
    stream = case.over(case.upstream())
    probes = [case.probe(stream), case.probe(stream)]
    try:
        while not all(probe.ended for probe in probes):
            for probe in probes:
                if not probe.ended:
                    ask(probe, 1)
    except VerificationError as error:
        for probe in probes:
            probe.cancel()
        raise case.broken(f"taken in turns: {error}") from None
    for probe in probes:
        case.keeps_rules(probe)
        if probe.error is not None or not case.expected.same(probe.elements, results):
            raise case.broken(f"taken in turns expected {results!r}, got {probe}")
    if case.promise.shared:
        return
    stream = case.over(case.upstream())
    case.probe(stream, 1).cancel()
    probe = case.probe(stream, UNBOUNDED)
    case.ended(probe, "after a run that was cancelled: expected the end")
    if probe.error is not None or not case.expected.same(probe.elements, results):
        raise case.broken(f"after a run that was cancelled expected {results!r}, got {probe}")
