"""test_subscriber: sound subscribers pass the whitebox verification whole, and what is not shown is said."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.spec.rules.every import rule
from penstock.tck.outcome import Limits, Report, Status
from penstock.tck.subscriber.case import whitebox
from penstock.tck.subscriber.verify import verify_subscriber
from tests.tck.subscriber.broken_subscribers import PROMPT
from tests.tck.subscriber.broken_subscribers_sound import SOUND, Asynchronous, Sound, StopAndWait


def left_open(report: Report) -> dict[str, str]:
    return {outcome.test: outcome.detail for outcome in report.outcomes if outcome.status is Status.NOT_APPLICABLE}


SYNCHRONOUS = [make for make in SOUND if make is not Asynchronous]
ALWAYS_OPEN = {"publisher.on_subscribe_at_most_once": "it binds the publisher, which calls on_subscribe: verify that"}


@pytest.mark.parametrize("make", SYNCHRONOUS)
def test_passes_a_sound_synchronous_subscriber_whole(make: type[Sound]) -> None:
    report = verify_subscriber(make, limits=PROMPT)
    assert report.failed == ()
    assert left_open(report) == {
        "subscriber.slow_work_does_not_block": "it does not claim to be asynchronous",
        **ALWAYS_OPEN,
    }


def test_passes_a_sound_asynchronous_subscriber_whole() -> None:
    report = verify_subscriber(Asynchronous, asynchronous=True, concurrent=True)
    assert report.failed == ()
    assert left_open(report) == ALWAYS_OPEN


def test_leaves_no_thread_of_a_subscriber_behind() -> None:
    made: list[Asynchronous] = []

    def make(probe: object) -> Asynchronous:
        made.append(Asynchronous(probe))  # type: ignore[arg-type]
        return made[-1]

    assert verify_subscriber(make, asynchronous=True).ok
    for subscriber in made:
        if subscriber.subscription is not None:
            subscriber.thread.join(5)
    assert not [subscriber for subscriber in made if subscriber.thread.is_alive()]


def test_reports_rule_by_rule_in_the_order_of_the_text() -> None:
    report = verify_subscriber(StopAndWait, limits=PROMPT, subject="stop and wait")
    chapters = [tuple(map(int, outcome.rule.split("."))) for outcome in report.outcomes]
    assert report.subject == "stop and wait"
    assert chapters == sorted(chapters)
    assert {f"2.{number}" for number in range(1, 14)} | {"3.1", "3.8", "3.9"} == {o.rule for o in report.outcomes}


def test_a_subscriber_that_always_wants_all_need_not_offer_to_stop() -> None:
    class Insatiable(Sound):
        def on_subscribe(self, subscription: object, /) -> None:
            probe, self.probe = self.probe, None
            super().on_subscribe(subscription)  # type: ignore[arg-type]
            self.probe = probe
            if probe is not None:
                probe.subscribed(request=self.ask, cancel=self.quit)

    report = verify_subscriber(Insatiable, limits=PROMPT)
    assert report.ok
    assert left_open(report)["subscriber.unneeded_subscription_is_cancelled"] == (
        "it offers no way to stop wanting elements"
    )


def test_a_subscriber_may_work_out_of_order_if_it_says_so() -> None:
    class Pairs(Sound):
        """Work on elements ten and eleven the other way round."""

        held = False

        def work(self, element: object) -> None:
            if element == 10:
                self.held = True
                return
            super().work(element)
            if self.held:
                self.held = False
                super().work(10)

    assert [outcome.rule for outcome in verify_subscriber(Pairs, limits=PROMPT).failed] == ["2.11"] * 3
    assert verify_subscriber(Pairs, limits=PROMPT, ordered=False).ok


def test_sends_the_elements_it_is_told_to_make() -> None:
    seen: set[object] = set()

    class Seeing(StopAndWait):
        def work(self, element: object) -> None:
            seen.add(element)
            super().work(element)

    assert verify_subscriber(Seeing, element=lambda number: f"element {number}", limits=PROMPT).ok
    assert {"element 0", "element 1", "element 2"} <= seen
    assert all(isinstance(element, str) for element in seen)


def test_a_subscriber_that_never_returns_fails_its_trials_and_no_more() -> None:
    never = threading.Event()

    class Stuck(StopAndWait):
        def on_complete(self) -> None:
            never.wait()

    report = verify_subscriber(Stuck, limits=Limits(timeout=0.05, quiet=0.001))
    never.set()
    outcome = report.outcome("subscriber.takes_completion_without_demand")
    assert outcome.status is Status.FAILED
    assert outcome.detail == "the subject did not return within 0.05 s"
    assert report.outcome("subscriber.takes_error_without_demand").status is Status.PASSED


def test_a_trigger_that_raises_fails_the_trial_that_pulled_it() -> None:
    class Jammed(Sound):
        def stop(self) -> None:
            raise RuntimeError("jammed")

    report = verify_subscriber(Jammed, limits=PROMPT)
    assert [(outcome.rule, outcome.detail) for outcome in report.failed] == [
        ("2.6", "the trigger stop() raised RuntimeError('jammed')")
    ]


def test_every_trial_belongs_to_a_rule_of_the_text() -> None:
    for trial in whitebox.members:
        assert rule(trial.rule).id == trial.rule


class Puppet:
    """Pull the strings of a subscriber from outside, as the JVM text's whitebox example does."""

    def __init__(self, subscription: Any) -> None:
        self.subscription = subscription

    def trigger_request(self, n: int) -> None:
        self.subscription.request(n)

    def signal_cancel(self) -> None:
        self.subscription.cancel()


class AsTheJvmTextHasIt(Sound):
    """Hand a puppet to the probe, and ask for nothing by itself."""

    def on_subscribe(self, subscription: Any, /) -> None:
        self.refuse_none(subscription)
        if self.subscription is not None:
            subscription.cancel()
            return
        self.subscription = subscription
        assert self.probe is not None
        self.hand_over(self.probe, subscription)

    def hand_over(self, probe: Any, subscription: Any) -> None:
        puppet = Puppet(subscription)
        probe.subscribed(request=puppet.trigger_request, cancel=puppet.signal_cancel)


class HandsItsSubscriptionOver(AsTheJvmTextHasIt):
    def hand_over(self, probe: Any, subscription: Any) -> None:
        probe.subscribed(request=subscription.request, cancel=subscription.cancel)


class HandsAFunctionOver(AsTheJvmTextHasIt):
    def hand_over(self, probe: Any, subscription: Any) -> None:
        probe.subscribed(request=lambda n: subscription.request(n), cancel=lambda: subscription.cancel())


@pytest.mark.parametrize("make", [AsTheJvmTextHasIt, HandsItsSubscriptionOver, HandsAFunctionOver])
def test_a_literal_port_of_the_whitebox_example_passes(make: type[Sound]) -> None:
    assert verify_subscriber(make, limits=PROMPT).failed == ()


def test_a_request_may_be_any_whole_number() -> None:
    class Whole:
        def __init__(self, number: int) -> None:
            self.number = number

        def __index__(self) -> int:
            return self.number

    class AsksByIndex(Sound):
        def ask(self, n: int = 1) -> None:
            super().ask(Whole(n))  # type: ignore[arg-type]

    assert verify_subscriber(AsksByIndex, limits=PROMPT).failed == ()
