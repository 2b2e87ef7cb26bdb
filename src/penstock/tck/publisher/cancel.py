"""cancel: trials of cancelling (rules 1.8, 3.5 to 3.7, 3.12, 3.13 and 3.15)."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.spec.interfaces import Publisher, Subscription
from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable
from penstock.tck.probe import UNBOUNDED, TrialProbe
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.end import let_go_of, released
from penstock.tck.publisher.sources import CountedSource
from penstock.tck.publisher.trials import HAS_ON_SUBSCRIBE, publisher_trials
from penstock.tck.trial import Steps

_PATIENCE = 10  # times quiet, for a thread that must get going


@publisher_trials.add("1.8", dialects=HAS_ON_SUBSCRIBE)
def cancel_in_on_subscribe_brings_silence(case: PublisherCase) -> Steps:
    """Cancel inside on_subscribe: neither an element nor an end follows."""
    publishers = [case.any()]
    if case.subject.finite and case.subject.min_elements == 0:
        publishers.append(case.empty())
    probes = [case.subscribe(publisher, on_subscribe=TrialProbe.cancel) for publisher in publishers]
    probes.append(case.subscribe(case.any(), on_subscribe=_ask_and_cancel))
    yield
    for probe in probes:
        _silence_after_cancel(case, probe, "inside on_subscribe")


@publisher_trials.add("1.8")
def cancel_in_last_on_next_brings_silence(case: PublisherCase) -> Steps:
    """Cancel inside the last on_next, before the completion and before a failure: no end follows."""
    publisher, count = case.some(3)
    probes = [case.subscribe(publisher, on_next=_cancelling_at(count))]
    case.take(probes[0], count)
    if case.fails():
        probes.append(case.subscribe(case.failing(3), on_next=_cancelling_at(3)))
        probes[1].request(3)
        case.environment.comes(lambda: probes[1].cancelled or probes[1].ended)
    yield
    for probe in probes:
        _silence_after_cancel(case, probe, "inside the last on_next")


def _cancelling_at(count: int) -> Callable[[TrialProbe, Any], object]:
    return lambda probe, element: probe.cancel() if len(probe.elements) == count else None


@publisher_trials.add("1.8")
def cancel_brings_no_end(case: PublisherCase) -> Steps:
    """Cancel a stream that has no end, before any element, after one and inside one: none comes, on no thread."""
    if case.subject.max_elements is not None:
        raise NotApplicable("it may end by itself")
    before, after, inside = (case.subscribe(case.any()) for _ in range(3))
    case.take(after, 1)
    for probe in (before, after):
        probe.cancel()
    inside.on_next_hook = _cancelling_at(1)
    inside.request(2)
    case.elements(inside, 1)
    probes = (before, after, inside)
    yield
    for probe in probes:
        ended = f"on_{probe.ends[0].kind} came of a cancel" if probe.ended else ""
        case.environment.check(not probe.ended, ended)


def _ask_and_cancel(probe: TrialProbe) -> None:
    probe.request(1)
    probe.cancel()


def _silence_after_cancel(case: PublisherCase, probe: TrialProbe, where: str) -> None:
    """Fail on signals sent from within the probe's own call; others may have been under way (rule 3.12)."""
    case.environment.check(case.environment.rested, f"signals did not cease after cancel {where}")
    for signal in probe.signals:
        if signal.after_cancel and signal.inside:
            raise AssertionError(f"on_{signal.kind} came after cancel {where}")


@publisher_trials.add("3.5")
def cancel_returns(case: PublisherCase) -> Steps:
    """Cancel while the subscriber, then the source, is held at a gate: it returns and pulls nothing."""
    if case.environment.settle is None:
        _cancel_at_the_subscriber(case)
    elif case.subject.over is None:
        raise NotApplicable("what runs on the caller's own scheduler cannot be held at a gate")
    if case.subject.over is not None:
        if case.environment.settle is None:
            _cancel_at_the_source(case)
        yield from _cancel_pulls_nothing(case)


def _cancel_at_the_subscriber(case: PublisherCase) -> None:
    publisher, _ = case.running(2)
    gate = threading.Event()
    probe = case.subscribe(publisher, on_next=lambda probe, element: gate.wait())
    try:
        case.environment.elsewhere(lambda: probe.request(2))
        case.elements(probe, 1)
        case.environment.returns(probe.cancel, "cancel() while on_next was running")
    finally:
        gate.set()


def _cancel_at_the_source(case: PublisherCase) -> None:
    gate = threading.Event()
    source = CountedSource(gate=gate, on_wait=case.environment.pulse)
    publisher = case.over(source)
    probe = case.environment.probe(on_subscribe=lambda probe: probe.request(1))
    try:
        case.environment.elsewhere(lambda: probe.subscribe_to(publisher))  # on a thread: it may read, or run, at once
        if case.environment.comes(source.waiting.is_set) and probe.subscribed:
            case.environment.returns(probe.cancel, "cancel() while the source was being read")
    finally:
        gate.set()


def _cancel_pulls_nothing(case: PublisherCase) -> Steps:
    source = CountedSource()
    probe = case.subscribe(case.over(source))
    case.take(probe, 2)
    yield
    pulls = source.pulls
    probe.cancel()
    yield
    more = source.pulls - pulls
    case.environment.check(more == 0, f"cancel() pulled {more} elements from the source")


@publisher_trials.add("3.5", dialects=HAS_ON_SUBSCRIBE)
def cancel_from_many_threads(case: PublisherCase) -> Steps:
    """Cancel again and again from several threads at once: no exception comes of it."""
    publisher, count = case.running(3, least=0)
    alone = case.subscribe(publisher)
    alone.cancel()
    alone.cancel()
    if alone.raised:
        raise NotApplicable(f"cancel() raised {shown(alone.raised[0])} on one thread, too (rule 3.15)")
    publisher, count = case.running(3, least=0)
    probe = case.subscribe(publisher)
    case.take(probe, count)
    subscription = probe.subscription
    assert subscription is not None
    start = threading.Barrier(4)

    def cancel_often(subscription: Subscription = subscription) -> None:
        start.wait(case.environment.limits.timeout)
        for _ in range(25):
            subscription.cancel()

    callers = [case.environment.elsewhere(cancel_often) for _ in range(4)]
    probe.cancelled = True
    case.environment.wait_until(
        lambda: all(caller.done for caller in callers), "cancel() from several threads at once did not return"
    )
    for caller in callers:
        case.environment.check(
            caller.error is None, f"cancel() from several threads at once raised {shown(caller.error)}"
        )
    yield


@publisher_trials.add("3.6")
def request_after_cancel_is_ignored(case: PublisherCase) -> Steps:
    """Request, rightly and wrongly, after cancel: nothing comes of it."""
    publisher, count = case.running(1, least=0)
    probe = case.subscribe(publisher)
    case.take(probe, count)
    probe.cancel()
    yield
    seen = len(probe.signals)
    for count in (1, 10, 0, -1, UNBOUNDED):
        probe.request(count)
    yield
    case.silent_since(probe, seen, "of a request made after cancel")


@publisher_trials.add("3.7")
def cancel_after_cancel_is_ignored(case: PublisherCase) -> Steps:
    """Cancel again: nothing comes of it."""
    publisher, count = case.running(1, least=0)
    probe = case.subscribe(publisher)
    case.take(probe, count)
    probe.cancel()
    yield
    seen = len(probe.signals)
    probe.cancel()
    probe.cancel()
    yield
    case.silent_since(probe, seen, "of a second cancel")


@publisher_trials.add("3.12")
def cancel_stops_the_stream(case: PublisherCase) -> Steps:
    """Cancel inside the first on_next of a long run, bounded and unbounded: it stops though demand is left.

    One that sends inside request stops at once. What an asynchronous one has under way may come: that it stops is seen
    where it has no end.
    """
    _, count = case.plenty()
    if count < 2:
        raise NotApplicable("it has no more than one element")

    def cancel_at_first(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) == 1:
            probe.cancel()

    probes = []
    for n in (count, UNBOUNDED):
        probe = case.subscribe(case.plenty()[0], on_next=cancel_at_first)
        probe.request(n)
        rule = "3.8" if n == count else "3.17"
        case.needs(partial(bool, probe.elements), rule, f"request({n}) brought no element")
        probes.append(probe)
    yield
    case.environment.check(case.environment.rested, "elements kept coming after cancel")
    at_once = bool(next(signal for signal in probes[0].signals if signal.kind == "next").inside)
    if not at_once and case.subject.max_elements is not None:
        raise NotApplicable(f"it is asynchronous and all of its {count} elements may have been under way")
    for probe in probes if at_once else ():
        got = len(probe.elements)
        case.environment.check(got < count, f"{got} elements came though cancel was called in the first on_next")


@publisher_trials.add("3.12")
def cancel_elsewhere_stops_the_stream(case: PublisherCase) -> Steps:
    """Cancel on another thread while the first on_next of a long run is going on: it stops though demand is left."""
    publisher, count = case.plenty()
    if case.environment.settle is not None:
        raise NotApplicable("what runs on the caller's own scheduler has no other thread")
    if case.subject.max_elements is not None:
        raise NotApplicable(f"all of its {count} elements may have been under way")

    def wait_for_cancel(probe: TrialProbe, element: object) -> None:
        if probe.signals[-1].inside:
            probe.cancel()
        elif len(probe.elements) == 1:
            case.environment.lingers(lambda: probe.cancelled, times=_PATIENCE)

    probe = case.subscribe(publisher, on_next=wait_for_cancel)
    probe.request(UNBOUNDED)
    case.needs(partial(bool, probe.elements), "3.17", f"request({UNBOUNDED}) brought no element")
    if next(signal for signal in probe.signals if signal.kind == "next").inside:
        raise NotApplicable("it sends inside request, and calls must not overlap (rule 2.7)")
    probe.cancel()
    case.environment.pulse()
    yield
    case.environment.check(case.environment.rested, "elements kept coming after cancel on another thread")
    for message in case.breaches("3.12"):
        raise AssertionError(message)


@publisher_trials.add("3.12", dialects=("cpp",))
def dropping_the_subscription_cancels(case: PublisherCase) -> Steps:
    """Let the last reference to the subscription go: the publisher lets go of the subscriber."""
    publisher, _ = case.running(2)
    probe = case.subscribe(publisher)
    case.take(probe, 1)
    subscriber = let_go_of(case, probe)
    probe.forget_subscription()
    del probe
    yield from released(case, subscriber, "its subscription was dropped")


@publisher_trials.add("3.13")
def cancelled_subscriber_is_released(case: PublisherCase) -> Steps:
    """Keep publisher and subscription: the subscriber must still be free to go after cancel."""
    publisher, count = case.running(1, least=0)
    subscriber, subscription = _run_and_cancel(case, publisher, count)
    yield from released(case, subscriber, "cancel")
    if count:
        publisher, count = case.running(1)
        subscriber, subscription = _run_and_cancel(case, publisher, count, lambda probe, _: probe.cancel())
        yield from released(case, subscriber, "cancel inside on_next")
    publisher = case.any()
    subscriber, subscription = _run_and_cancel(case, publisher, 0)
    yield from released(case, subscriber, "cancel before any request")
    publisher = case.any()
    subscriber, subscription = _run_and_cancel(case, publisher, 0, elsewhere=case.environment.settle is None)
    yield from released(case, subscriber, "cancel on another thread")
    if case.subject.dialect != "cpp":
        publisher = case.any()
        subscriber, subscription = _run_and_cancel(case, publisher, 0, on_subscribe=TrialProbe.cancel)
        yield from released(case, subscriber, "cancel inside on_subscribe")
    del publisher, subscription


def _run_and_cancel(
    case: PublisherCase,
    publisher: Publisher[Any],
    count: int,
    on_next: Callable[[TrialProbe, Any], object] | None = None,
    *,
    on_subscribe: Callable[[TrialProbe], object] | None = None,
    elsewhere: bool = False,
) -> tuple[weakref.ref[TrialProbe], Subscription | None]:
    probe = case.subscribe(publisher, on_subscribe=on_subscribe, on_next=on_next)
    case.take(probe, count)
    if elsewhere:
        case.environment.returns(probe.cancel, "cancel() on another thread")
    if not probe.cancelled:  # a second cancel might make up for what the first one left
        probe.cancel()
    if probe.raised:
        raise NotApplicable(f"cancel() raised {shown(probe.raised[0])} (rule 3.15)")
    return let_go_of(case, probe), probe.subscription


@publisher_trials.add("3.15")
def cancel_never_raises(case: PublisherCase) -> Steps:
    """Cancel in every state: it returns normally."""
    probes = [case.subscribe(case.any())]
    probes[0].cancel()
    publisher, count = case.running(1, least=0)
    probes.append(case.subscribe(publisher, on_next=lambda probe, element: probe.cancel()))
    case.take(probes[-1], count)
    probes[-1].cancel()
    if case.subject.finite:
        probe = case.run_out(*case.some(2, least=0))
        probe.cancel()
        probes.append(probe)
    if case.fails():
        probe = case.subscribe(case.failing(1))
        case.fail(probe)
        probe.cancel()
        probes.append(probe)
    if case.subject.over is not None:
        probe = case.subscribe(case.over(CountedSource(fails_to_close=True)))
        case.take(probe, 1)
        probe.cancel()
        probes.append(probe)
    yield
    for message in case.breaches("3.15"):
        raise AssertionError(message)
