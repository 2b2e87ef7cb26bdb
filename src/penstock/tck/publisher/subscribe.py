"""subscribe: trials of subscribing, and of who is subscribed (rules 1.9 to 1.11, 2.12, 2.13, 3.1)."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from penstock.spec.interfaces import Publisher
from penstock.spec.shown import shown
from penstock.tck.elements import alike
from penstock.tck.environment import NotApplicable
from penstock.tck.planned import PlannedFailure
from penstock.tck.probe import TrialProbe
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.sources import CountedSource
from penstock.tck.publisher.trials import HAS_ON_SUBSCRIBE, publisher_trials
from penstock.tck.trial import Steps, Trial


@publisher_trials.add("1.9", dialects=HAS_ON_SUBSCRIBE)
def none_subscriber_refused(case: PublisherCase) -> None:
    """Subscribe None: the caller gets a TypeError."""
    publisher: Any = case.any()
    try:
        publisher.subscribe(None)
    except TypeError:
        return
    except Exception as error:
        raise AssertionError(f"subscribe(None) raised {shown(error)}, it must raise TypeError") from error
    raise AssertionError("subscribe(None) returned, it must raise TypeError")


@publisher_trials.add("1.9", dialects=HAS_ON_SUBSCRIBE)
def on_subscribe_comes_first(case: PublisherCase) -> Steps:
    """See every kind of stream begin with on_subscribe."""
    probes = [(kind, case.environment.probe(), make()) for kind, make in _kinds(case)]
    for _, probe, publisher in probes:
        probe.subscribe_to(publisher)
    yield
    for kind, probe, _ in probes:
        case.environment.check(probe.subscribed, f"{kind} sent no on_subscribe")
        first = probe.signals[0].kind
        case.environment.check(first == "subscribe", f"{kind} sent on_{first} before on_subscribe")


@publisher_trials.add("1.9")
def rejection_by_on_error(case: PublisherCase) -> None:
    """Be refused, as second subscriber of a unicast publisher or by a failing one: on_error says so."""
    if case.subject.unicast:
        publisher, count = case.running(2, least=0)
        served = case.subscribe(publisher)
        probe = case.subscribe(publisher, rule="1.10")
        refused = "the second subscriber of a unicast publisher"
        case.environment.wait_until(lambda: probe.ended, f"{refused} got no on_error")
        case.environment.check(probe.error is not None, f"{refused} got on_complete instead of on_error")
        case.take(served, count)  # who came first goes on
    else:
        probe = case.subscribe(case.failing(0))
        case.fail(probe)
        first = probe.signals[0].kind
        case.environment.check(first == "subscribe", f"on_{first} came first, it must be on_subscribe")


@publisher_trials.add("1.9")
def subscribe_never_raises(case: PublisherCase) -> None:
    """Subscribe in every state: fresh, again, after cancel, after the end, after a failure."""
    for kind, make in _kinds(case):
        publisher = make()
        for state in ("fresh", "subscribed", "cancelled", "over"):
            probe = case.environment.probe()
            probe.subscribe_to(publisher)
            if probe.raised:
                raise AssertionError(f"subscribe raised {shown(probe.raised[0])} on {kind} that was {state}")
            if state == "subscribed":
                probe.cancel()
            elif state == "cancelled" and not probe.ended:
                probe.request(3)


def _kinds(case: PublisherCase) -> list[tuple[str, Callable[[], Publisher[Any]]]]:
    """Return every kind of publisher that the subject can be made into."""
    subject = case.subject
    kinds: list[tuple[str, Callable[[], Publisher[Any]]]] = [("a publisher", case.any)]
    if subject.finite and subject.max_elements != 0:
        kinds.append(("a finite publisher", lambda: case.some(3)[0]))
    if subject.finite and subject.min_elements == 0:
        kinds.append(("an empty publisher", case.empty))
    if case.fails():
        kinds.append(("a failing publisher", lambda: case.failing(0)))
    if subject.over is not None:
        kinds.append(("a source that raises in __iter__", lambda: case.over(CountedSource(fails_to_open=True))))
        kinds.append(("a source that raises in __next__", lambda: case.over(CountedSource(fails_after=0))))
    return kinds


@publisher_trials.add("1.10")
def subscribe_again_keeps_the_rules(case: PublisherCase) -> Steps:
    """Subscribe fresh subscribers beside the first and after it: each gets its on_subscribe and a legal stream."""
    publisher, count = case.running(2, least=0)
    first = case.subscribe(publisher)
    second = _subscribe_again(case, publisher, "second")
    first.cancel()
    third = _subscribe_again(case, publisher, "third")
    for probe in (second, third):
        if count and not probe.ended:
            probe.request(count)
    yield
    third.cancel()
    second.cancel()
    _subscribe_again(case, publisher, "fourth")


def _subscribe_again(case: PublisherCase, publisher: Publisher[Any], turn: str) -> TrialProbe:
    probe = case.environment.probe()
    probe.subscribe_to(publisher)
    if probe.raised:
        raise NotApplicable(f"subscribe raised {shown(probe.raised[0])} (rule 1.9)")
    case.environment.wait_until(lambda: probe.subscribed, f"the {turn} subscriber got no on_subscribe")
    return probe


@publisher_trials.add("1.11")
def several_subscribers_one_by_one(case: PublisherCase) -> None:
    """Let three subscribers ask for one element at a time, in turn: all see the same, and the end."""
    probes, count = _several(case)
    for due in range(1, count + 1):
        for probe in probes:
            probe.request(1)
        _all_get(case, probes, due)
    _see_the_same(case, probes)
    _all_end(case, probes)


@publisher_trials.add("1.11")
def several_subscribers_up_front(case: PublisherCase) -> None:
    """Let three subscribers ask for everything at once: all see the same, and the end."""
    probes, count = _several(case)
    for probe in probes:
        probe.request(count)
    _all_get(case, probes, count)
    _see_the_same(case, probes)
    _all_end(case, probes)


def _several(case: PublisherCase) -> tuple[list[TrialProbe], int]:
    if case.subject.unicast:
        raise NotApplicable("it serves one subscriber only")
    publisher, count = case.some(5)
    return [case.subscribe(publisher, rule=rule) for rule in ("1.9", "1.10", "1.10")], count


def _all_get(case: PublisherCase, probes: list[TrialProbe], count: int) -> None:
    for probe in probes:
        case.environment.comes(lambda probe=probe: len(probe.elements) >= count or probe.ended)  # type: ignore[misc]
        refusal = f"another subscriber got on_error({shown(probe.error)}): verify it as unicast"
        case.environment.check(probe.error is None or probe is probes[0], refusal)
        if len(probe.elements) < count:
            alone = case.subscribe(case.some(5)[0])
            case.take(alone, count)  # or else it has nothing to do with the others
            got = len(probe.elements)
            raise AssertionError(f"{count} elements were requested by each of three subscribers, one of them got {got}")


def _see_the_same(case: PublisherCase, probes: list[TrialProbe]) -> None:
    first = probes[0].elements
    for probe in probes[1:]:
        if not alike(probe.elements, first):
            if case.differs(len(first)):
                raise NotApplicable("its elements differ from run to run")
            raise AssertionError(f"one subscriber saw {shown(first)}, another {shown(probe.elements)}")


def _all_end(case: PublisherCase, probes: list[TrialProbe]) -> None:
    for probe in probes:
        if not probe.ended:
            probe.request(1)  # one that is behind may hold the others up
    for probe in probes:
        case.complete(probe)


@publisher_trials.add("C++ 1.11")
def subscription_outlives_publisher(case: PublisherCase) -> None:
    """Drop the publisher: its subscription still brings the elements and the end."""
    publisher, count = case.some(3)
    probe = case.subscribe(publisher)
    dropped = weakref.ref(publisher)
    del publisher
    case.environment.kept.clear()
    if dropped() is not None:
        case.environment.collect()
    probe.request(count)
    case.environment.wait_until(
        lambda: len(probe.elements) >= count, f"{count} elements did not come after the publisher was dropped"
    )
    if not probe.ended:
        probe.request(1)
    case.environment.wait_until(lambda: probe.ended, "no end came after the publisher was dropped")


@publisher_trials.add("2.12")
def on_subscribe_at_most_once(case: PublisherCase) -> Steps:
    """See one subscribe bring one on_subscribe over a whole run."""
    probe = case.run_out(*case.some(3, least=0))
    yield
    started = [signal for signal in probe.signals if signal.kind == "subscribe"]
    case.environment.check(len(started) == 1, f"one subscribe brought on_subscribe {len(started)} times")


@publisher_trials.add("2.13")
def raising_subscriber_is_cut_off(case: PublisherCase) -> Steps:
    """Raise in on_subscribe or on_next, against the rules: the subscription counts as cancelled, nothing more comes."""
    planted = PlannedFailure("planned to raise in a signal")
    raised: dict[TrialProbe, int] = {}

    def raise_planted(probe: TrialProbe, element: object = None) -> None:
        if not probe.elements:
            probe.request(1)
        raised.setdefault(probe, len(probe.signals))
        raise planted

    publisher, _ = case.running(5)
    probe = case.subscribe(publisher, on_next=raise_planted)
    probe.planted = planted
    probe.request(5)
    case.elements(probe, 1)
    if case.subject.dialect != "cpp":
        probe = case.environment.probe(on_subscribe=raise_planted)
        probe.planted = planted
        probe.subscribe_to(case.any())
    yield
    for probe, seen in raised.items():
        case.silent_since(probe, seen, "after the subscriber had raised")


def _subscription_has_one_user(case: PublisherCase) -> None:
    """Subscribe two subscribers: each gets its own subscription, also one that is refused."""
    publisher, _ = case.running()
    first, second = case.subscribe(publisher), case.subscribe(publisher, rule="1.10")
    shared = first.subscription is second.subscription
    case.environment.check(not shared, f"two subscribers were given one subscription, {shown(first.subscription)}")


publisher_trials.members.append(Trial("3.1", "monitor.subscription_has_one_user", _subscription_has_one_user))
