"""reentrant: trials of calls made inside signals, and of who runs what (rules 1.3, 3.2-3.4, 3.10, 3.11)."""

from __future__ import annotations

import random
import threading
from itertools import cycle
from typing import Any

from penstock.spec.shown import shown
from penstock.tck.elements import alike
from penstock.tck.environment import NotApplicable
from penstock.tck.probe import UNBOUNDED, TrialProbe
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.trials import HAS_ON_SUBSCRIBE, publisher_trials
from penstock.tck.trial import Steps

_PATIENCE = 10  # times quiet, for a thread that must get going


@publisher_trials.add("1.3")
def signals_are_serial(case: PublisherCase) -> Steps:
    """Stay inside a signal while more is asked for on another thread: no other signal begins meanwhile."""
    environment = case.environment
    callers: list[Any] = []

    def stay_subscribed(probe: TrialProbe) -> None:
        if case.subject.dialect != "cpp":
            probe.request(1)
            if not probe.elements:  # asynchronous: its thread must wait for on_subscribe to return
                environment.lingers(lambda: probe.overlapped)

    def stay(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) > 2:
            return
        at_once = bool(probe.signals[-1].inside)
        asking = environment.elsewhere(lambda: probe.request(1))
        callers.append(asking)
        environment.lingers(lambda: probe.overlapped or asking.done, times=_PATIENCE)
        if not at_once:  # asynchronous: what was asked for comes on yet another thread
            environment.lingers(lambda: probe.overlapped)

    publisher, count = case.running(4)
    probe = case.subscribe(publisher, on_subscribe=stay_subscribed, on_next=stay)
    if not probe.requested:
        probe.request(1)
    if count > 1:
        probe.request(min(2, count - 1))
    case.elements(probe, 1)
    environment.comes(lambda: all(asking.done for asking in callers), due=False)
    yield
    for message in case.breaches("1.3"):
        raise AssertionError(message)


@publisher_trials.add("3.2")
def request_inside_on_next(case: PublisherCase) -> None:
    """Ask for each next element inside on_next: the stream runs to its end."""
    publisher, count = case.some(50)
    probe = case.subscribe(publisher, on_next=lambda probe, element: probe.request(1))
    probe.request(1)
    case.environment.wait_until(
        lambda: len(probe.elements) >= count,
        f"request(1) inside each on_next brought fewer than {count} elements",
    )


@publisher_trials.add("3.2", dialects=HAS_ON_SUBSCRIBE)
def request_inside_on_subscribe(case: PublisherCase) -> None:
    """Ask inside on_subscribe, as the first subscriber and as the next: the elements come."""
    publisher, count = case.running(3)
    probes = [case.subscribe(publisher, on_subscribe=lambda probe: probe.request(count))]
    case.environment.wait_until(
        lambda: len(probes[0].elements) >= count, f"request({count}) inside on_subscribe brought fewer elements"
    )
    if not case.subject.unicast:
        probes.append(case.subscribe(publisher, rule="1.10", on_subscribe=lambda probe: probe.request(count)))
        if probes[1].subscription is probes[0].subscription:
            case.unmet("3.1", "two subscribers were given one subscription")
        probes[0].request(count)  # one that is behind may hold the others up
        case.environment.wait_until(
            lambda: len(probes[1].elements) >= count or probes[1].ended,
            f"request({count}) inside on_subscribe of a second subscriber brought fewer elements",
        )


@publisher_trials.add("3.3")
def recursion_is_bounded(case: PublisherCase) -> None:
    """Ask inside on_next for the next element, for several, for everything: the calls do not pile up on one stack."""
    _does_not_nest(case, (1,), case.environment.limits.elements, "3.2")
    _does_not_nest(case, (1, 2, 3), 100, "3.8")
    _does_not_nest(case, (UNBOUNDED,), 5, "3.17")


def _does_not_nest(case: PublisherCase, asked: tuple[int, ...], wanted: int, rule: str) -> None:
    depth = case.environment.limits.depth
    amounts = cycle(asked)

    def ask(probe: TrialProbe, element: object) -> None:
        if probe.deepest > depth or len(probe.elements) >= count:
            probe.cancel()
        else:
            probe.request(next(amounts))

    publisher, count = case.running(wanted)
    probe = case.subscribe(publisher, on_next=ask)
    case.environment.elsewhere(lambda: probe.request(1))
    case.needs(
        lambda: len(probe.elements) >= count or probe.cancelled,
        rule,
        f"request({asked[0]}) inside each on_next brought fewer than {count} elements",
    )
    deepest = probe.deepest
    case.environment.check(deepest <= depth, f"on_next was called inside on_next {deepest} deep, {depth} is the bound")


@publisher_trials.add("3.4")
def request_returns(case: PublisherCase) -> None:
    """Hold the subscriber at a gate: requests before and behind it return, if the publisher is asynchronous."""
    if not case.subject.asynchronous:
        raise NotApplicable("it does not claim to be asynchronous")
    gate = threading.Event()
    publisher, _ = case.running(2)
    probe = case.subscribe(publisher, on_next=lambda probe, element: gate.wait())
    try:
        case.environment.returns(lambda: probe.request(2), "request(2) while on_next was running")
        # A scheduler that the trial runs dry would have its own thread stand at the gate.
        if case.environment.settle is None and case.environment.comes(lambda: bool(probe.elements)):
            case.environment.returns(lambda: probe.request(1), "request(1) while on_next was running")
    finally:
        gate.set()
    case.elements(probe, 1)


@publisher_trials.add("3.10")
def elements_inside_request(case: PublisherCase) -> None:
    """Ask at random from inside on_next: elements sent within request come in the order of any other run."""
    publisher, count = case.some(40)
    plain = case.subscribe(publisher)
    case.take(plain, count)
    if not all(signal.inside for signal in plain.signals if signal.kind == "next"):
        raise NotApplicable("it is asynchronous")
    case.reentry_works()
    chance = random.Random(1)

    def ask(probe: TrialProbe, element: object) -> None:
        if probe.requested < count and chance.random() < 0.7:
            probe.request(min(chance.randint(1, 4), count - probe.requested))

    probe = case.subscribe(case.some(40)[0], on_next=ask)
    while len(probe.elements) < count and not probe.ended:
        due = len(probe.elements)
        probe.request(1)
        if len(probe.elements) == due:
            break
    case.elements(probe, count)
    same = alike(probe.elements, plain.elements)
    if not same and case.differs(count):
        raise NotApplicable("its elements differ from run to run")
    case.environment.check(
        same, f"asked from inside on_next it sent {shown(probe.elements)}, else {shown(plain.elements)}"
    )


@publisher_trials.add("3.11")
def end_inside_request(case: PublisherCase) -> None:
    """Ask for everything inside request and inside on_subscribe: the end comes once, after the last element."""
    publisher, count = case.some(3)

    def ask(probe: TrialProbe) -> None:
        probe.request(count)

    probes = [case.run_out(publisher, count)]
    if case.subject.dialect != "cpp":
        probe = case.subscribe(case.some(3)[0], on_subscribe=ask)
        case.needs(lambda: probe.ended or len(probe.elements) >= count, "3.2", "request inside on_subscribe was lost")
        case.complete(probe)
        probes.append(probe)
    if not all(probe.ends[0].inside for probe in probes):
        raise NotApplicable("it is asynchronous")
    for probe in probes:
        got = len(probe.elements)
        case.environment.check(got == count, f"the end came after {got} of {count} elements")
