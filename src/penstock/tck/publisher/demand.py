"""demand: trials of asking for elements (rules 1.1, 3.8, 3.9, 3.16, 3.17)."""

from __future__ import annotations

import random
from functools import partial

from penstock.spec.shown import shown
from penstock.tck.environment import NotApplicable
from penstock.tck.probe import UNBOUNDED, TrialProbe
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.sources import CountedSource
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.trial import Steps

_UNDER_WAY = 10_000  # elements that may come before what was asked inside the first is looked at


@publisher_trials.add("1.1")
def demand_never_exceeded(case: PublisherCase) -> Steps:
    """Ask for nothing, then for little by little: never does more come than was asked for."""
    publisher, count = case.running(20, least=0)
    probe = case.subscribe(publisher)
    yield
    for wanted in (1, 2, 1, 5, 3, 8):
        if len(probe.elements) + wanted <= count:
            case.take(probe, wanted)
    yield
    got = len(probe.elements)
    case.environment.check(got <= probe.requested, f"publisher sent {got} elements, {probe.requested} were requested")


@publisher_trials.add("1.1")
def no_amount_brings_more(case: PublisherCase) -> Steps:
    """Ask for amounts around powers of two, where buffers end: never does more come than was asked for."""
    most = case.running(case.environment.limits.elements)[1]
    probes = []
    for power in range(2, most.bit_length()):
        for wanted in (2**power - 1, 2**power, 2**power + 1):
            publisher, count = case.running(wanted)
            if count == wanted:
                probe = case.subscribe(publisher)
                case.take(probe, wanted)
                probes.append(probe)
    yield
    for probe in probes:
        got = len(probe.elements)
        case.environment.check(got <= probe.requested, f"request({probe.requested}) brought {got} elements")


@publisher_trials.add("3.8")
def requests_add_up(case: PublisherCase) -> Steps:
    """Ask at random, several times before looking: what was asked for in all is what comes."""
    probes = []
    for seed in range(3):
        publisher, count = case.running(90)
        probe = case.subscribe(publisher)
        chance = random.Random(seed)
        while probe.requested < count:
            probe.request(min(chance.randint(1, chance.choice((9, 9, 40))), count - probe.requested))
            if chance.random() < 0.5:
                _all_came(case, probe)
        _all_came(case, probe)
        probes.append(probe)
    for seed in range(3):
        _ask_and_cancel_at_random(case, random.Random(seed))
    yield
    for probe in probes:
        got, wanted = len(probe.elements), probe.requested
        case.environment.check(got >= wanted, f"{wanted} elements were requested in all, {got} came")


def _ask_and_cancel_at_random(case: PublisherCase, chance: random.Random) -> None:
    """Mix requests from outside, from inside on_next, and a cancel; the probe sees to it that demand holds."""
    publisher, count = case.running(60)
    last = chance.randrange(count)

    def ask_or_cancel(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) > last:
            probe.cancel()
        elif chance.random() < 0.3:
            probe.request(chance.randint(1, 3))

    probe = case.subscribe(publisher, on_next=ask_or_cancel)
    while not probe.cancelled and not probe.ended and len(probe.elements) < count:
        due = len(probe.elements) + 1
        probe.request(1)
        # The cancel made in on_next may take effect before this element comes.
        if not case.environment.comes(partial(_has_come, probe, due)):
            raise AssertionError(f"{due} elements were due, {len(probe.elements)} came")


def _has_come(probe: TrialProbe, due: int) -> bool:
    return probe.cancelled or probe.ended or len(probe.elements) >= due


def _all_came(case: PublisherCase, probe: TrialProbe) -> None:
    if not case.environment.comes(lambda: len(probe.elements) >= probe.requested):
        got, wanted = len(probe.elements), probe.requested
        raise AssertionError(f"{wanted} elements were requested in all, {got} came")


@publisher_trials.add("3.8", dialects=("cpp",))
def zero_request_asks_nothing(case: PublisherCase) -> Steps:
    """Request zero elements: nothing comes, and the stream goes on."""
    publisher, _ = case.running()
    probe = case.subscribe(publisher)
    probe.request(0)
    yield
    case.silent_since(probe, 1, "of request(0)")
    case.take(probe, 1)


@publisher_trials.add("3.9")
def zero_request_is_an_error(case: PublisherCase) -> Steps:
    """Request zero elements, before and after others: on_error carries a ValueError."""
    yield from _is_an_error(case, 0)


@publisher_trials.add("3.9")
def negative_request_is_an_error(case: PublisherCase) -> Steps:
    """Request less than nothing, also inside on_subscribe and on_next: on_error carries a ValueError."""
    yield from _is_an_error(case, -1)
    yield from _is_an_error(case, -(2**63))
    case.entry_works()
    probe = case.subscribe(case.any(), on_subscribe=lambda probe: probe.request(-1))
    _is_refused(case, probe, "request(-1) inside on_subscribe")
    if case.subject.max_elements is None:
        _is_refused_though_unbounded(case)
    for wanted in (1, 4):
        publisher, count = case.running(wanted + 1, least=0)
        if count <= wanted:
            return  # its end comes with its last element
        probe = case.subscribe(publisher, on_next=_ask_wrongly_at_first)
        probe.request(wanted)
        case.elements(probe, 1)
        left = f" with demand of {wanted - 1} left" if wanted > 1 else ""
        _is_refused(case, probe, f"request(-1) inside on_next{left}")


def _is_refused_though_unbounded(case: PublisherCase) -> None:
    def ask_wrongly_and_stop(probe: TrialProbe, element: object) -> None:
        _ask_wrongly_at_first(probe, element)
        if len(probe.elements) == _UNDER_WAY:
            probe.cancel()

    probe = case.subscribe(case.any(), on_next=ask_wrongly_and_stop)
    probe.request(UNBOUNDED)
    case.needs(partial(bool, probe.elements), "3.17", f"request({UNBOUNDED}) brought no element")
    case.environment.comes(lambda: probe.ended or probe.cancelled)
    _is_refused(case, probe, "request(-1) inside on_next with unbounded demand")


def _ask_wrongly_at_first(probe: TrialProbe, element: object) -> None:
    if len(probe.elements) == 1:
        probe.request(-1)


def _is_an_error(case: PublisherCase, n: int) -> Steps:
    probe = case.subscribe(case.any())
    yield
    if probe.ended:
        raise NotApplicable("it ends before anything can be requested")
    probe.request(n)
    _is_refused(case, probe, f"request({n})")
    publisher, count = case.running(3, least=0)
    if count > 1:
        probe = case.subscribe(publisher)
        case.take(probe, 1)
        probe.request(n)
        _is_refused(case, probe, f"request({n})")


def _is_refused(case: PublisherCase, probe: TrialProbe, call: str) -> None:
    case.environment.wait_until(lambda: probe.ended, f"{call} brought no on_error")
    error = probe.error
    if not isinstance(error, ValueError):
        got = "on_complete()" if error is None else f"on_error({shown(error)})"
        raise AssertionError(f"{call} brought {got}, it must bring on_error with a ValueError")
    if case.subject.dialect == "dotnet" and "3.9" not in str(error):
        raise AssertionError(f"{call} brought {shown(error)}, whose message must name rule 3.9")
    probe.request(2)  # after which the probe takes no element (rule 1.7)


@publisher_trials.add("3.16")
def request_never_raises(case: PublisherCase) -> Steps:
    """Request in every state, rightly and wrongly: it returns normally."""
    for n in (1, 0, -1, -(2**63)):
        _request_in_every_state(case, n)
    yield
    for message in case.breaches("3.16"):
        raise AssertionError(message)


def _request_in_every_state(case: PublisherCase, n: int) -> None:
    def request_at_first(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) == 1:
            probe.request(n)

    case.subscribe(case.any(), on_subscribe=lambda probe: probe.request(n)).cancel()
    publisher, count = case.running(3, least=0)
    if count > 1:
        probe = case.subscribe(publisher, on_next=request_at_first)
        case.take(probe, 1)
        probe.cancel()
        probe.request(n)
    if case.subject.unicast:
        publisher, _ = case.running(1, least=0)
        case.subscribe(publisher)
        case.subscribe(publisher, rule="1.10").request(n)  # it is refused
    if case.subject.finite:
        case.run_out(*case.some(2, least=0)).request(n)
    if case.fails():
        for after in (0, 1):
            probe = case.subscribe(case.failing(after))
            case.fail(probe)
            probe.request(n)
    if case.subject.over is not None:
        for source in (CountedSource(fails_to_open=True), CountedSource(fails_after=0)):
            case.subscribe(case.over(source)).request(n)


@publisher_trials.add("3.17")
def demand_of_two_to_the_63_minus_1(case: PublisherCase) -> None:
    """Request as much as can be counted, at once: elements come."""
    probe = _run_unbounded(case, more=())
    case.environment.check(probe.error is None, f"request({UNBOUNDED}) brought on_error({shown(probe.error)})")


@publisher_trials.add("3.17")
def demand_past_two_to_the_63_minus_1(case: PublisherCase) -> None:
    """Request more than can be counted, in several goes: elements come all the same."""
    probe = _run_unbounded(case, more=(1, UNBOUNDED))
    case.environment.check(probe.error is None, f"demand past {UNBOUNDED} brought on_error({shown(probe.error)})")


def _run_unbounded(case: PublisherCase, more: tuple[int, ...]) -> TrialProbe:
    publisher, count = case.running(case.environment.limits.elements)

    def ask_and_stop(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) == 1:
            for n in more:
                probe.request(n)
        if len(probe.elements) == count:
            probe.cancel()

    probe = case.subscribe(publisher, on_next=ask_and_stop)
    probe.request(UNBOUNDED)
    came = case.environment.comes(lambda: len(probe.elements) >= count or probe.error is not None)
    case.environment.check(came, f"{probe.requested} elements were requested, only {len(probe.elements)} came")
    return probe


@publisher_trials.add("3.17")
def many_requests(case: PublisherCase) -> None:
    """Request one element, very often: they add up."""
    publisher, count = case.running(case.environment.limits.elements)
    probe = case.subscribe(publisher)
    for _ in range(count):
        probe.request(1)
    came = case.environment.comes(lambda: len(probe.elements) >= count)
    case.environment.check(came, f"request(1) was called {count} times, {len(probe.elements)} elements came")
