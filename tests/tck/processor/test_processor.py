"""test_processor: sound processors pass whole, and broken ones are caught by the rule they break."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.spec.rules.every import rule
from penstock.tck.outcome import Report, Status
from penstock.tck.processor.case import processor
from penstock.tck.processor.feed import NumberFeed
from penstock.tck.processor.verify import verify_processor
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.subscriber.case import whitebox
from tests.tck.processor import broken_processors as broken
from tests.tck.processor.broken_processors import BrokenProcessor
from tests.tck.processor.broken_processors_sound import Hub, Lockstep, Offloaded, Recovering, Relay
from tests.tck.subscriber.broken_subscribers import PROMPT, THREADED, WAITED_FOR

SEVERAL = {"multicast": True}
SUMMARY = "processor.keeps_both_contracts"  # fails with either side


def left_open(report: Report) -> set[str]:
    return {outcome.test for outcome in report.outcomes if outcome.status is Status.NOT_APPLICABLE}


UNICAST = {
    "publisher.several_subscribers_one_by_one",
    "publisher.several_subscribers_up_front",
    "publisher.what_one_left_is_not_the_next_ones",
    "processor.requests_upstream_are_serial",
}
SYNCHRONOUS = {
    "subscriber.slow_work_does_not_block",
    "publisher.request_returns",
    "publisher.refusal_waits_its_turn",
    "publisher.requests_race_emission",
    "publisher.cancel_elsewhere_stops_the_stream",
}
NOT_RECOVERING = {"processor.recovery_ends_upstream"}
NEVER_FAILING = {
    "processor.failure_reaches_every_subscriber",
    "processor.error_is_passed_on_at_once",
    "publisher.failure_is_signalled",
    "publisher.silent_after_failure",
}
NO_SOURCE = {"publisher.last_cancel_closes_the_source"}


def test_passes_a_sound_processor_of_one_subscriber_whole() -> None:
    report = verify_processor(Relay, limits=PROMPT)
    assert report.failed == ()
    assert left_open(report) == UNICAST | SYNCHRONOUS | NOT_RECOVERING | NO_SOURCE


def test_passes_a_sound_processor_that_waits_for_its_slowest_subscriber_whole() -> None:
    report = verify_processor(Lockstep, limits=PROMPT, multicast=True)
    assert report.failed == ()
    assert left_open(report) == SYNCHRONOUS | NOT_RECOVERING | NO_SOURCE


def test_passes_a_sound_processor_that_runs_with_its_fastest_subscriber_whole() -> None:
    report = verify_processor(Hub, limits=PROMPT, multicast=True)
    assert report.failed == ()
    assert left_open(report) == SYNCHRONOUS | NOT_RECOVERING | NO_SOURCE | {"processor.drains_without_asking"}


def test_passes_a_sound_processor_with_a_thread_of_its_own_whole() -> None:
    report = verify_processor(Offloaded, asynchronous=True)
    assert report.failed == ()
    assert left_open(report) >= UNICAST | NOT_RECOVERING | NO_SOURCE


def test_passes_a_sound_recovering_processor_whole() -> None:
    report = verify_processor(Recovering, limits=PROMPT, recovers=True)
    assert report.failed == ()
    assert left_open(report) == UNICAST | SYNCHRONOUS | NEVER_FAILING | NO_SOURCE


def test_holds_the_trials_of_all_three_parties() -> None:
    report = verify_processor(Relay, limits=PROMPT, subject="relay")
    members = [trial for trials in (publisher_trials, whitebox, processor) for trial in trials.of("jvm")]
    assert report.subject == "relay"
    assert sorted(outcome.test for outcome in report.outcomes) == sorted(trial.name for trial in members)


def test_every_trial_belongs_to_a_rule_of_the_text() -> None:
    for trial in processor.members:
        assert rule(trial.rule).id == trial.rule


def test_sends_the_elements_it_is_told_to_make() -> None:
    class Reading(Relay):
        def on_next(self, element: Any, /) -> None:
            super().on_next(element if element is None else element + "")

    assert verify_processor(Reading, element=lambda number: f"element {number}", limits=PROMPT).ok


@pytest.mark.parametrize(
    ("make", "claim", "test"),
    [
        (broken.KeepsItsUpstream, "cancels_upstream", "processor.last_cancel_reaches_upstream"),
        (broken.ErrorWaitsForElements, "delays_errors", ""),
    ],
)
def test_holds_it_to_what_it_claims_only(make: type[Relay], claim: str, test: str) -> None:
    assert not verify_processor(make, limits=WAITED_FOR).ok
    claims: dict[str, Any] = {claim: claim == "delays_errors"}
    report = verify_processor(make, limits=WAITED_FOR, **claims)
    assert report.failed == ()
    assert {test} - {""} <= left_open(report)


BROKEN = [
    BrokenProcessor(
        broken.WorksOnEveryThread,
        {"1.3": ("one_signal_at_a_time", "one_signal_at_a_time_from_the_last")},
        "on_next began on one thread while on_next ran on another",
        {},
        THREADED,
    ),
    BrokenProcessor(
        broken.HandsOnWhereItComes,
        {"1.3": ("one_signal_at_a_time_from_the_last",)},
        "on_next began on one thread while on_next ran on another",
        {},
        THREADED,
    ),
    BrokenProcessor(
        broken.KeepsALateUpstream,
        {"2.6": ("late_upstream_is_cancelled",)},
        "its upstream was not cancelled, though its subscriber had cancelled before",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.AsksALateUpstream,
        {"2.6": ("late_upstream_is_cancelled",)},
        "its upstream was not cancelled, though its subscriber had cancelled before",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.KeepsAnEarlyUpstream,
        {"2.6": ("early_upstream_is_cancelled",)},
        "its upstream, which came first, was not cancelled, though its subscriber cancelled inside on_subscribe",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.LosesWhatComesMeanwhile,
        {"4.1": ("elements_pass_between_threads",)},
        "2 elements that came in while another was handed on did not come out (seen in processor.one_signal_at_a_time)",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.ForgetsDemandMeanwhile,
        {"3.8": ("early_demand_reaches_upstream",)},
        "elements that were requested while another was handed on did not come "
        "(seen in processor.one_signal_at_a_time)",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.FailsOnlyTheFirst,
        {"1.4": ("failure_reaches_every_subscriber",)},
        "its upstream failed, it sent on_complete",
        SEVERAL,
    ),
    BrokenProcessor(
        broken.LeavesTheOthersHanging,
        {"1.4": ("failure_reaches_every_subscriber",)},
        "its upstream failed, 2 of 3 subscribers got no on_error",
        SEVERAL,
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.AsksWhileDraining,
        {"2.4": ("drains_without_asking",)},
        "request(1) was called on its upstream after on_complete",
    ),
    BrokenProcessor(
        broken.LeavesWithTheFirst,
        {"2.6": ("last_cancel_reaches_upstream",)},
        "its upstream was cancelled while a subscriber was left",
        SEVERAL,
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.KeepsItsUpstreamAfterARefusal,
        {"2.6": ("refusal_reaches_upstream",)},
        "its last subscriber was refused a request(-1), but its upstream was not cancelled",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.KeepsItsUpstreamAfterARaise,
        {"2.6": ("raising_subscriber_reaches_upstream",)},
        "its last subscriber raised in on_next, but its upstream was not cancelled",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.AsksWhereItIsAsked,
        {"2.7": ("requests_upstream_are_serial",)},
        "request(20) was called on one thread while a request ran on another",
        SEVERAL,
        THREADED,
    ),
    BrokenProcessor(
        broken.ForgetsEarlyDemand,
        {"3.8": ("early_demand_reaches_upstream",)},
        "20 elements were requested of it, it asked its upstream for 4",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        broken.KeepsTheLastOfEarlyDemand,
        {"3.8": ("early_demand_reaches_upstream",)},
        "20 elements were requested of it, it asked its upstream for 5",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(broken.NoPublisher, {"4.1": ("keeps_both_contracts",)}, "it lacks subscribe"),
    BrokenProcessor(
        broken.SwapsTwo,
        {"4.1": ("elements_pass_between_threads", "keeps_both_contracts", "elements_pass_in_order")},
        "element 4 went in as 4 and came out as 5",
    ),
    BrokenProcessor(
        broken.ErrorWaitsForElements,
        {"4.2": ("error_is_passed_on_at_once",)},
        "its upstream failed, 1 of 1 subscribers got no on_error",
        {},
        WAITED_FOR,
    ),
    BrokenProcessor(
        Relay,
        {"4.2": ("recovery_ends_upstream",)},
        "it claims to recover, but sent on_error(PlannedFailure('planned to fail upstream of a processor'))",
        {"recovers": True},
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_catches(case: BrokenProcessor) -> None:
    report = verify_processor(case.make, limits=case.limits, **case.claims)
    expected = [(rule, f"processor.{test}") for rule, tests in case.tests.items() for test in tests]
    failed = [
        outcome
        for outcome in report.failed
        if outcome.test.startswith("processor.") and ("4.1" in case.tests or outcome.test != SUMMARY)
    ]
    assert [(outcome.rule, outcome.test) for outcome in failed] == expected
    assert failed[0].detail == case.detail
    assert failed[0].hint


def test_no_rule_and_no_trial_lacks_a_broken_processor() -> None:
    caught = {(rule, f"processor.{test}") for case in BROKEN for rule, tests in case.tests.items() for test in tests}
    assert caught == {(trial.rule, trial.name) for trial in processor.members}


@pytest.mark.parametrize(
    ("make", "claims", "test"),
    [
        (broken.ExceedsDemand, {}, "publisher.demand_never_exceeded"),
        (broken.KeepsItsUpstream, {}, "subscriber.unneeded_subscription_is_cancelled"),
        (broken.AsksWhereElementsCome, {}, "subscriber.subscription_calls_are_serial"),
        (broken.TakesASecondUpstream, {}, "subscriber.second_subscription_is_cancelled"),
        (broken.SwapsTwo, {}, "subscriber.signals_are_processed_in_order"),
        (broken.AsksAfterRecovery, {"recovers": True}, "subscriber.no_calls_after_end"),
    ],
)
def test_a_side_that_fails_fails_the_whole(make: type[Relay], claims: dict[str, bool], test: str) -> None:
    limits = THREADED if make is broken.AsksWhereElementsCome else WAITED_FOR
    report = verify_processor(make, limits=limits, **claims)  # type: ignore[arg-type]
    summary = report.outcome(SUMMARY)
    assert report.outcome(test).status is Status.FAILED
    assert summary.status is Status.FAILED
    assert test in summary.detail


def failed(report: Report) -> dict[str, set[str]]:
    """Return the tests that failed, by rule, without those of rule 4.1, which fails with any other."""
    return {
        outcome.rule: {each.test for each in report.failed if each.rule == outcome.rule}
        for outcome in report.failed
        if outcome.rule != "4.1"
    }


def test_what_it_raises_is_its_own_fault_and_no_finding_of_the_trial_that_feeds_it() -> None:
    report = verify_processor(broken.RaisesAtAnEarlyEnd, limits=PROMPT)
    assert failed(report) == {
        "2.9": {"subscriber.takes_completion_with_demand", "subscriber.takes_completion_without_demand"},
        "2.13": {"subscriber.signals_return_normally"},
    }
    empty = report.outcome("publisher.empty_stream_completes")
    assert (empty.status, empty.detail) == (Status.NOT_APPLICABLE, "on_complete raised AssertionError() (rule 2.13)")


def test_what_it_raises_late_is_a_fault_of_the_side_that_raises() -> None:
    report = verify_processor(broken.RaisesLate, limits=WAITED_FOR)
    assert "2.13" in failed(report)
    assert not {"1.3", "1.4", "1.5", "1.8", "1.9", "2.1", "2.6", "3.16"} & failed(report).keys()


def test_what_is_raised_at_its_feed_alone_fails_it_too() -> None:
    class RaisesUnderAFeed(Relay):
        def on_subscribe(self, subscription: Any, /) -> None:
            super().on_subscribe(subscription)
            if type(subscription) is NumberFeed and not self.outlets:
                raise LookupError("fed too early")

    report = verify_processor(RaisesUnderAFeed, limits=WAITED_FOR)
    outcome = report.outcome("subscriber.signals_return_normally")
    assert (outcome.status, outcome.detail) == (Status.FAILED, "on_subscribe raised LookupError('fed too early')")


def test_one_that_cannot_be_subscribed_to_breaks_that_rule_alone() -> None:
    assert failed(verify_processor(broken.LetsNobodySubscribe, limits=WAITED_FOR)).keys() == {"1.9"}


def test_one_that_loses_an_element_is_not_blamed_for_keeping_its_upstream() -> None:
    assert "2.6" not in failed(verify_processor(broken.LosesTheFirst, limits=WAITED_FOR))
