"""end: trials of how a stream ends (rules 1.2, 1.4 to 1.7)."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from penstock.spec.interfaces import Publisher, Subscription
from penstock.spec.shown import shown
from penstock.tck.planned import PlannedFailure
from penstock.tck.probe import TrialProbe
from penstock.tck.publisher.asking import asked, asked_in_every_way
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.trial import Steps


@publisher_trials.add("1.2")
def may_end_early(case: PublisherCase) -> None:
    """Ask for more than there is: what there is comes, then the end."""
    publisher, count = case.some(3)
    case.run_out(publisher, count)
    publisher, count = case.some(3)
    probe = case.subscribe(publisher)
    probe.request(count + 10)
    ended = case.environment.comes(lambda: probe.ended)
    case.environment.check(ended, f"asked for {count + 10} of {count} elements, it did not end")
    got = len(probe.elements)
    case.environment.check(got == count, f"asked for {count + 10} of {count} elements, it ended after {got}")


@publisher_trials.add("1.4")
def failure_is_signalled(case: PublisherCase) -> Steps:
    """See a publisher that fails, at once, after some elements and after many, say so by on_error, however asked."""
    many = case.environment.most(case.environment.limits.elements)
    for after, demand in ((0, 10), (many, 10 * many)):  # one that tries again has more elements than it was told
        _fails(case, asked(case, case.subscribe(case.failing(after)), (demand,), after))
    for probe in asked_in_every_way(case, partial(case.failing, 3), 3, 10):
        _fails(case, probe)
    yield


def _fails(case: PublisherCase, probe: TrialProbe) -> None:
    case.environment.wait_until(lambda: probe.ended, "the failing publisher sent no on_error")
    case.environment.check(probe.error is not None, "the failing publisher sent on_complete instead of on_error")


@publisher_trials.add("1.5")
def completion_is_signalled(case: PublisherCase) -> Steps:
    """See a finite stream end with on_complete, however its elements are asked for."""
    _, count = case.some(3)
    for probe in asked_in_every_way(case, lambda: case.some(3)[0], count, 1):
        _completes(case, probe, "the last element")
    yield


@publisher_trials.add("1.5")
def empty_stream_completes(case: PublisherCase) -> None:
    """See a stream of no elements end with on_complete."""
    _completes(case, case.subscribe(case.empty()), "on_subscribe, though it is empty")


def _completes(case: PublisherCase, probe: TrialProbe, last: str) -> None:
    if not probe.ended:
        probe.request(1)  # an iterator shows its end only when asked once more
    case.environment.wait_until(lambda: probe.ended, f"no on_complete came after {last}")
    case.environment.check(probe.completed, f"on_error({shown(probe.error)}) came instead of on_complete")


@publisher_trials.add("1.6")
def end_cancels_subscription(case: PublisherCase) -> Steps:
    """Use the subscription after the end: nothing comes of it."""
    probe = case.run_out(*case.some(2, least=0))
    yield
    seen = len(probe.signals)
    for n in (1, -1, 0):
        probe.request(n)
    probe.cancel()
    probe.request(1)
    yield
    case.silent_since(probe, seen, "of a call made after the end")


@publisher_trials.add("1.6")
def ended_subscriber_is_released(case: PublisherCase) -> Steps:
    """Keep publisher and subscription: the subscriber must still be free to go after the end, and after a failure."""
    publisher, count = case.some(2, least=0)
    subscriber, subscription = _run_to_the_end(case, publisher, count)
    yield from released(case, subscriber, "the end")
    if case.fails():
        publisher = case.failing(1)
        subscriber, subscription = _run_to_the_failure(case, publisher)
        yield from released(case, subscriber, "a failure")
    if case.subject.unicast:
        publisher, _ = case.running(1, least=0)
        first = case.subscribe(publisher)
        subscriber, subscription = _run_to_the_refusal(case, publisher)
        yield from released(case, subscriber, "it was refused")
        del first
    del publisher, subscription


def _run_to_the_end(
    case: PublisherCase, publisher: Publisher[Any], count: int
) -> tuple[weakref.ref[TrialProbe], Subscription | None]:
    probe = case.run_out(publisher, count)
    return let_go_of(case, probe), probe.subscription


def _run_to_the_failure(
    case: PublisherCase, publisher: Publisher[Any]
) -> tuple[weakref.ref[TrialProbe], Subscription | None]:
    probe = case.subscribe(publisher)
    case.fail(probe)
    error: object = probe.error
    if isinstance(error, BaseException):  # what the frames of a kept error refer to is not the publisher's doing
        BaseException.with_traceback(error, None)
    return let_go_of(case, probe), probe.subscription


def _run_to_the_refusal(
    case: PublisherCase, publisher: Publisher[Any]
) -> tuple[weakref.ref[TrialProbe], Subscription | None]:
    probe = case.subscribe(publisher, rule="1.10")
    case.needs(lambda: probe.ended, "1.9", "the second subscriber of a unicast publisher got no on_error")
    return let_go_of(case, probe), probe.subscription


def released(case: PublisherCase, subscriber: weakref.ref[TrialProbe], since: str) -> Steps:
    """Fail the trial unless the subscriber is let go of, if not at once then before patience runs out."""
    for turn in range(3):
        if turn:  # most often nothing has to be collected
            case.environment.collect()
        if subscriber() is None:
            return
        yield
    if not case.environment.comes(lambda: subscriber() is None):
        case.environment.collect()
    case.environment.check(subscriber() is None, f"the subscriber is still referred to after {since}")


def let_go_of(case: PublisherCase, probe: TrialProbe) -> weakref.ref[TrialProbe]:
    """Return a reference that tells those who wait when the probe is gone."""
    return weakref.ref(probe, lambda _: case.environment.pulse())


@publisher_trials.add("1.7")
def silent_after_completion(case: PublisherCase) -> Steps:
    """Ask for more after on_complete, and raise inside of it: nothing comes."""
    probe = case.run_out(*case.some(3, least=0))
    yield from _silence(case, probe)
    publisher, count = case.some(1, least=0)
    probe = _raising_at_the_end(case, publisher)
    case.take(probe, count)
    case.complete(probe)
    yield from _silence(case, probe)


@publisher_trials.add("1.7")
def silent_after_failure(case: PublisherCase) -> Steps:
    """Ask for more after on_error, and raise inside of it: nothing comes."""
    probe = case.subscribe(case.failing(3))
    case.fail(probe)
    yield from _silence(case, probe)
    probe = _raising_at_the_end(case, case.failing(1))
    case.fail(probe)
    yield from _silence(case, probe)


def _raising_at_the_end(case: PublisherCase, publisher: Publisher[Any]) -> TrialProbe:
    """Subscribe a probe that raises inside the end, against the rules."""
    planted = PlannedFailure("planned to raise in the end")

    def raise_planted(probe: TrialProbe) -> None:
        raise planted

    probe = case.environment.probe(on_end=raise_planted)
    probe.planted = planted
    probe.subscribe_to(publisher)
    case.needs(lambda: probe.subscribed, "1.9", "on_subscribe did not come")
    return probe


def _silence(case: PublisherCase, probe: TrialProbe) -> Steps:
    probe.request(10)
    yield
    end = probe.signals.index(probe.ends[0])
    case.silent_since(probe, end + 1, f"after on_{probe.ends[0].kind}")
