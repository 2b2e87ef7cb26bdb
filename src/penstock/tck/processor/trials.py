"""trials: trials of what crosses a processor (rules 1.4, 2.4, 2.6, 2.7, 3.8, 4.1, 4.2)."""

from __future__ import annotations

from penstock.spec.predicates import PROCESSOR_METHODS, missing_methods
from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable
from penstock.tck.planned import PlannedFailure
from penstock.tck.probe import TrialProbe
from penstock.tck.processor.case import ProcessorCase, in_order, processor
from penstock.tck.subscriber.case import carries
from penstock.tck.subscriber.upstream import NOBODY
from penstock.tck.trial import Steps

_SEVERAL = 3
_MANY = 20
_FEW = 8


@processor.add("1.4")
def failure_reaches_every_subscriber(case: ProcessorCase) -> None:
    """Fail it upstream: each of its subscribers gets that failure, whatever it has asked for."""
    _does_not_recover(case)
    probes = case.connected_probes(_SEVERAL)
    for demand, probe in enumerate(probes):
        if demand:
            probe.request(demand)
    _fails(case, probes)


@processor.add("2.4")
def drains_without_asking(case: ProcessorCase) -> Steps:
    """End it upstream while it holds elements: they still come out, and it asks upstream for no more."""
    [probe] = case.connected_probes(1)
    yield
    filled = case.fill(_FEW)
    if filled == 0:
        raise NotApplicable("it holds no elements that were not requested of it")
    yield
    calls = len(case.upstream.calls)
    case.upstream.complete()
    for _ in range(filled):
        probe.request(1)
    if not case.environment.comes(lambda: len(probe.elements) >= filled):
        case.environment.breach("4.1", "elements that it held when its upstream completed did not come out")
        raise NotApplicable("elements that it held when its upstream completed did not come out (rule 4.1)")
    yield
    for call in case.upstream.calls[calls:]:
        if call not in case.upstream.calls_inside_ends:  # which is a matter of rule 2.3
            raise AssertionError(f"{call.name} was called on its upstream after on_complete")


@processor.add("2.6")
def last_cancel_reaches_upstream(case: ProcessorCase) -> Steps:
    """Cancel all its subscribers: it cancels its upstream with the last of them, and not before."""
    if not case.subject.cancels_upstream:
        raise NotApplicable("it does not claim to cancel its upstream when no subscriber is left")
    *others, last = case.connected_probes(_SEVERAL)
    for probe in (*others, last):
        probe.request(1)
    case.passes_on(1, *others, last)
    for probe in others:
        probe.cancel()
    yield
    case.environment.check(not case.upstream.cancelled, "its upstream was cancelled while a subscriber was left")
    last.request(1)
    case.passes_on(1, last)
    last.cancel()
    case.environment.wait_until(
        lambda: case.upstream.cancelled, "its last subscriber cancelled, but its upstream was not cancelled"
    )


@processor.add("2.6", dialects=("jvm", "dotnet"))
def refusal_reaches_upstream(case: ProcessorCase) -> None:
    """Make a bad request: the subscriber that is refused was the last, so its upstream is cancelled."""
    if not case.subject.cancels_upstream:
        raise NotApplicable("it does not claim to cancel its upstream when no subscriber is left")
    (probe,) = case.connected_probes(1)
    probe.request(1)
    case.passes_on(1, probe)
    probe.request(-1)
    if not case.environment.comes(lambda: probe.ended):
        raise NotApplicable("request(-1) brought no on_error (rule 3.9)")
    case.environment.wait_until(
        lambda: case.upstream.cancelled,
        "its last subscriber was refused a request(-1), but its upstream was not cancelled",
    )


@processor.add("2.6", dialects=("jvm", "dotnet"))  # an operator may hand its subscriber to its upstream
def raising_subscriber_reaches_upstream(case: ProcessorCase) -> None:
    """Raise in on_next, against the rules: the subscriber counts as gone and was the last, so upstream is cancelled."""
    if not case.subject.cancels_upstream:
        raise NotApplicable("it does not claim to cancel its upstream when no subscriber is left")
    planted = PlannedFailure("planned to raise in on_next")

    def raise_planted(probe: TrialProbe, element: object) -> None:
        raise planted

    environment, upstream = case.environment, case.upstream
    (probe,) = case.connected_probes(1)
    probe.planted = planted
    probe.on_next_hook = raise_planted
    probe.request(2)
    if environment.comes(lambda: upstream.demand > 0):
        upstream.next(blame=NOBODY)
    if not environment.comes(lambda: bool(probe.elements)):
        raise NotApplicable("an element that was requested of it and sent to it did not come out (rule 3.8)")
    environment.wait_until(
        lambda: upstream.cancelled, "its last subscriber raised in on_next, but its upstream was not cancelled"
    )


@processor.add("2.7")
def requests_upstream_are_serial(case: ProcessorCase) -> None:
    """Let two subscribers ask at once, as each of them may: its upstream is asked one by one."""
    if not case.subject.multicast:
        raise NotApplicable("it serves one subscriber only")
    environment, upstream = case.environment, case.upstream
    first, second, *_ = case.connected_probes(_SEVERAL)
    upstream.lingering = _SEVERAL
    asking = environment.elsewhere(lambda: first.request(_MANY))
    environment.comes(lambda: upstream.asking or asking.done)
    calls = [asking, environment.elsewhere(lambda: second.request(2 * _MANY))]
    environment.comes(lambda: all(call.done for call in calls))
    environment.check(not upstream.overlap, upstream.overlap)


@processor.add("3.8")
def early_demand_reaches_upstream(case: ProcessorCase) -> None:
    """Ask it for much, before it has an upstream if it allows that: all of it is asked of the upstream."""
    probe = case.subscribe()
    if not probe.subscribed:
        case.connect()
        case.subscribed(probe)
    for n in (_MANY - 1, 1):
        probe.request(n)
    if not case.upstream.subscribed:
        case.connect()
    case.pass_on(_MANY, probe)
    if case.subject.multicast:
        late = case.subscribe()
        case.subscribed(late)
        probe.request(1)
        late.request(1)
        case.pass_on(1, probe)


@processor.add("4.1")
def keeps_both_contracts(case: ProcessorCase) -> None:
    """See it have both shapes; whether both its sides passed is added once they have run."""
    missing = ", ".join(missing_methods(case.processor, PROCESSOR_METHODS))
    case.environment.check(not missing, f"it lacks {missing}")


@processor.add("4.1")
def elements_pass_in_order(case: ProcessorCase) -> Steps:
    """Ask in slices: what was sent comes out, in order, within demand, and then the completion."""
    probes = case.connected_probes(_SEVERAL)
    for demand in (1, 3, 1, 5):
        for probe in probes:
            probe.request(demand)
        case.pass_on(demand, *probes)
    case.upstream.complete()
    case.environment.wait_until(lambda: all(probe.ended for probe in probes), "its upstream completed, it did not")
    yield
    for probe in probes:
        in_order(case, probe.elements)
        case.environment.check(probe.completed, f"its upstream completed, it sent on_error({shown(probe.error)})")


@processor.add("4.2")
def error_is_passed_on_at_once(case: ProcessorCase) -> Steps:
    """Fail it upstream when there is no demand, and while it holds elements: the failure waits for neither."""
    _does_not_recover(case)
    probes = case.connected_probes(1)
    yield
    if not case.subject.delays_errors:
        case.fill(_FEW)
    _fails(case, probes)


@processor.add("4.2")
def recovery_ends_upstream(case: ProcessorCase) -> Steps:
    """Fail it upstream: if it recovers, its subscribers see no failure and its upstream sees no call."""
    if not case.subject.recovers:
        raise NotApplicable("it does not claim to recover")
    [probe] = case.connected_probes(1)
    probe.request(2)
    case.passes_on(1, probe)
    yield
    calls = len(case.upstream.calls)
    case.upstream.error(PlannedFailure("planned to fail upstream of a processor"))
    yield
    if not probe.ended:
        probe.request(_FEW)
    yield
    case.environment.check(probe.error is None, f"it claims to recover, but sent on_error({shown(probe.error)})")
    for call in case.upstream.calls[calls:]:
        if call not in case.upstream.calls_inside_ends:  # which is a matter of rule 2.3
            raise AssertionError(f"{call.name} was called on its upstream after on_error")


def _fails(case: ProcessorCase, probes: list[TrialProbe]) -> None:
    """Fail it upstream and wait until that failure has come out everywhere, though nothing more is asked for."""
    error = PlannedFailure("planned to fail upstream of a processor")
    case.upstream.error(error)
    ended = case.environment.comes(lambda: all(probe.ended for probe in probes))
    missed = sum(not probe.ended for probe in probes)
    case.environment.check(ended, f"its upstream failed, {missed} of {len(probes)} subscribers got no on_error")
    for probe in probes:
        case.environment.check(probe.error is not None, "its upstream failed, it sent on_complete")
        case.environment.check(carries(probe.error, error), f"{shown(error)} went in, {shown(probe.error)} came out")


def _does_not_recover(case: ProcessorCase) -> None:
    if case.subject.recovers:
        raise NotApplicable("it recovers from failures of its upstream")
