"""The kit fails every broken publisher, under the rule it breaks and no other that it could help."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from penstock.tck.outcome import Limits, Status
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.publisher.verify import verify_publisher
from tests.tck.publisher import broken_publishers as broken
from tests.tck.publisher import broken_publishers_demand as demanding
from tests.tck.publisher import broken_publishers_seldom as seldom
from tests.tck.publisher.correct_publishers import (
    FailsAfter,
    PascalPublisher,
    SyncPublisher,
    SyncRun,
    ThreadRun,
    numbers,
)

QUICK = Limits(elements=200, timeout=5, quiet=0.01)
HANGING = Limits(elements=200, timeout=1, quiet=0.01)


def nothing():
    """Settle what is synchronous: nothing is ever left to run."""


@dataclass(frozen=True)
class Broken:
    """One broken publisher, the rule it breaks, the test that says so, and what it cannot help breaking with it."""

    kind: type
    rule: str
    test: str
    also: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)

    def publisher(self, source):
        if issubclass(self.kind, ThreadRun):
            made = demanding.ThreadsOf(source)
            made.serving = self.kind
            return made
        if not issubclass(self.kind, SyncRun):
            return self.kind(source)
        made = SyncPublisher(source)
        made.run = self.kind
        return made

    def verify(self):
        wrap = PascalPublisher if self.options.get("dialect") == "dotnet" else lambda publisher: publisher
        defaults = {"over": lambda source: wrap(self.publisher(source)), "limits": QUICK, "settle": nothing}
        return verify_publisher(
            lambda n: wrap(self.publisher(numbers(n))),
            failing=lambda k: wrap(self.publisher(FailsAfter(k))),
            subject=self.kind.__name__,
            **{**defaults, **self.options},
        )


THREADED = {"settle": None, "over": None, "limits": Limits(elements=200, timeout=5, quiet=0.05)}
CPP = {"dialect": "cpp"}
DOTNET = {"dialect": "dotnet"}
UNICAST = {"unicast": True, "over": None}
CLOSES = {"closes": True}

BROKEN = [
    Broken(broken.SendsOneTooMany, "1.1", "publisher.demand_never_exceeded"),
    Broken(demanding.SendsOneAhead, "1.1", "publisher.demand_never_exceeded"),
    Broken(demanding.SharesUnboundedDemand, "1.1", "publisher.demand_never_exceeded"),
    Broken(demanding.SendsOneMoreWith64, "1.1", "publisher.no_amount_brings_more"),
    Broken(seldom.SendsTheLastBeforeAFailureUnasked, "1.1", "publisher.demand_never_exceeded"),
    Broken(broken.WaitsForFullDemand, "1.2", "publisher.may_end_early", also=("3.8",)),  # it hears no large request
    Broken(broken.ServesEveryThread, "1.3", "publisher.signals_are_serial"),
    Broken(demanding.IsHelpedLate, "1.3", "publisher.signals_stay_serial", options=THREADED),
    Broken(demanding.IsHelpedRarely, "1.3", "publisher.signals_stay_serial", options=THREADED),
    Broken(demanding.IsHelpedWithTheLast, "1.3", "publisher.signals_stay_serial", options=THREADED),
    Broken(demanding.ServesEveryThreadLate, "1.3", "publisher.signals_stay_serial", options=THREADED),
    Broken(seldom.ServesTheNextOnTwoThreads, "1.3", "publisher.signals_stay_serial", options=THREADED),
    Broken(demanding.RefusesAtOnce, "1.3", "publisher.refusal_waits_its_turn", options=THREADED),
    Broken(broken.SwallowsFailure, "1.4", "publisher.failure_is_signalled"),
    Broken(broken.CompletesOnFailure, "1.4", "publisher.failure_is_signalled"),
    Broken(demanding.CompletesOnLateFailure, "1.4", "publisher.failure_is_signalled"),
    Broken(seldom.LosesAFailureThatIsAskedForInside, "1.4", "publisher.failure_is_signalled"),
    Broken(broken.NeverCompletes, "1.5", "publisher.completion_is_signalled"),
    Broken(seldom.NeverCompletesIfUnbounded, "1.5", "publisher.completion_is_signalled"),
    Broken(seldom.NeverCompletesForTheNext, "1.5", "publisher.completion_is_signalled"),
    Broken(seldom.LosesAnEndThatIsAskedForElsewhere, "1.5", "publisher.completion_is_signalled"),
    Broken(broken.NeverCompletesWhenEmpty, "1.5", "publisher.empty_stream_completes"),
    # an answer after the end is a signal after the end
    Broken(broken.AnswersAfterTheEnd, "1.6", "publisher.end_cancels_subscription", also=("1.7",)),
    Broken(broken.KeepsEndedSubscriber, "1.6", "publisher.ended_subscriber_is_released"),
    Broken(broken.KeepsFailedSubscriber, "1.6", "publisher.ended_subscriber_is_released"),
    Broken(seldom.KeepsTheRefused, "1.6", "publisher.ended_subscriber_is_released", options=UNICAST),
    Broken(broken.CompletesTwice, "1.7", "publisher.silent_after_completion"),
    Broken(broken.CompletesAfterFailure, "1.7", "publisher.silent_after_failure"),
    Broken(seldom.CompletesTwiceIfUnbounded, "1.7", "publisher.silent_after_completion"),
    Broken(seldom.FailsIfTheEndRaises, "1.7", "publisher.silent_after_completion"),
    Broken(broken.GoesOnAfterRefusal, "1.7", "publisher.silent_after_completion"),
    Broken(broken.CompletesAfterCancelInOnSubscribe, "1.8", "publisher.cancel_in_on_subscribe_brings_silence"),
    # nor does a failure stop what was asked for there
    Broken(
        broken.SendsWhatWasAskedForInOnSubscribe,
        "1.8",
        "publisher.cancel_in_on_subscribe_brings_silence",
        also=("1.7",),
    ),
    Broken(broken.CompletesAfterCancelInLast, "1.8", "publisher.cancel_in_last_on_next_brings_silence"),
    Broken(seldom.FailsAfterCancelInLast, "1.8", "publisher.cancel_in_last_on_next_brings_silence"),
    Broken(broken.FailsWithCancel, "1.8", "publisher.cancel_brings_no_end"),
    Broken(broken.CompletesWithCancel, "1.8", "publisher.cancel_brings_no_end", options=THREADED),
    Broken(seldom.CompletesWhenItsLoopIsLeft, "1.8", "publisher.cancel_brings_no_end", options=THREADED),
    Broken(broken.AcceptsNone, "1.9", "publisher.none_subscriber_refused"),
    Broken(broken.RaisesAttributeErrorForNone, "1.9", "publisher.none_subscriber_refused"),
    Broken(broken.SendsBeforeOnSubscribe, "1.9", "publisher.on_subscribe_comes_first"),
    Broken(broken.NeverCallsOnSubscribe, "1.9", "publisher.on_subscribe_comes_first"),
    Broken(broken.RejectsByCompleting, "1.9", "publisher.rejection_by_on_error", options=UNICAST),
    Broken(broken.RejectsByRaising, "1.9", "publisher.subscribe_never_raises", options=UNICAST),
    Broken(broken.RaisesWhenSourceDoes, "1.9", "publisher.subscribe_never_raises"),
    Broken(broken.IgnoresSecondSubscriber, "1.10", "publisher.subscribe_again_keeps_the_rules"),
    Broken(broken.ShowsEachItsOwn, "1.11", "publisher.several_subscribers_one_by_one"),
    Broken(broken.ShowsEachItsOwn, "1.11", "publisher.several_subscribers_up_front"),
    Broken(broken.ReadsOneIteratorForAll, "1.11", "publisher.several_subscribers_one_by_one"),
    # one of them gets what the other one has asked for
    Broken(demanding.SharesDemand, "1.11", "publisher.demand_is_kept_apart", also=("1.1",)),
    Broken(demanding.LeavesDemandToTheNext, "1.11", "publisher.what_one_left_is_not_the_next_ones", also=("1.1",)),
    Broken(demanding.DropsRequestsWhileAnotherIsServed, "1.11", "publisher.demand_is_kept_apart"),
    Broken(demanding.SharesCancel, "1.11", "publisher.cancel_is_kept_apart"),
    Broken(demanding.SharesRefusal, "1.11", "publisher.refusal_is_kept_apart"),
    Broken(broken.CallsOnSubscribeTwice, "2.12", "publisher.on_subscribe_at_most_once"),
    Broken(broken.SendsNone, "2.13", "publisher.raising_subscriber_is_cut_off"),
    Broken(broken.FailsWithAText, "2.13", "publisher.raising_subscriber_is_cut_off"),
    Broken(broken.GoesOnAfterSubscriberRaised, "2.13", "publisher.raising_subscriber_is_cut_off"),
    Broken(seldom.FailsIfOnSubscribeRaises, "2.13", "publisher.raising_subscriber_is_cut_off"),
    Broken(seldom.GoesOnIfOnSubscribeRaises, "2.13", "publisher.raising_subscriber_is_cut_off"),
    # what the second subscriber asks for goes to the first: too much for the one, nothing for the other
    Broken(broken.SharesSubscription, "3.1", "monitor.subscription_has_one_user", also=("1.1", "1.11")),
    # who was refused asks for the first
    Broken(
        seldom.GivesTheRefusedTheFirstSubscription,
        "3.1",
        "monitor.subscription_has_one_user",
        also=("1.1",),
        options=UNICAST,
    ),
    Broken(broken.LosesRequestInsideOnNext, "3.2", "publisher.request_inside_on_next"),
    Broken(
        seldom.LosesWhatTheNextAsksAtFirst, "3.2", "publisher.request_inside_on_subscribe", options={"limits": HANGING}
    ),
    Broken(broken.LosesRequestInsideOnSubscribe, "3.2", "publisher.request_inside_on_subscribe"),
    Broken(demanding.HoldsTwentyRequests, "3.2", "publisher.request_inside_on_next", options={"limits": HANGING}),
    Broken(broken.Deadlocks, "3.2", "publisher.request_inside_on_next", options={"limits": HANGING}),
    # the end is found by the innermost call, before the outer ones have told the failure
    Broken(broken.Recurses, "3.3", "publisher.recursion_is_bounded", also=("1.4",)),
    Broken(demanding.RecursesForMoreThanOne, "3.3", "publisher.recursion_is_bounded"),
    Broken(demanding.SendsAllAtOnceWhenUnbounded, "3.3", "publisher.recursion_is_bounded"),
    Broken(SyncRun, "3.4", "publisher.request_returns", options={"asynchronous": True, "limits": HANGING}),
    Broken(
        seldom.RequestWaitsForOnNext,
        "3.4",
        "publisher.request_returns",
        options={**THREADED, "asynchronous": True, "limits": Limits(elements=50, timeout=1, quiet=0.05)},
    ),
    Broken(broken.CancelWaitsForOnNext, "3.5", "publisher.cancel_returns", options={"settle": None, "limits": HANGING}),
    Broken(broken.CancelDrainsTheSource, "3.5", "publisher.cancel_returns"),
    Broken(broken.CancelIsForOneThread, "3.5", "publisher.cancel_from_many_threads"),
    Broken(broken.AnswersRequestAfterCancel, "3.6", "publisher.request_after_cancel_is_ignored"),
    Broken(broken.RefusesRequestAfterCancel, "3.6", "publisher.request_after_cancel_is_ignored"),
    Broken(broken.SecondCancelCompletes, "3.7", "publisher.cancel_after_cancel_is_ignored"),
    Broken(broken.LosesOneOfSeven, "3.8", "publisher.requests_add_up"),
    # what is cut short is cut short when everything is asked for, too
    Broken(demanding.ServesNoMoreThan64AtATime, "3.8", "publisher.one_request_for_many", also=("3.17",)),
    Broken(demanding.ServesWholeTensOnly, "3.8", "publisher.requests_add_up"),
    Broken(demanding.LosesDemandLate, "3.8", "publisher.one_request_for_many"),
    Broken(demanding.CountsOneInsideOnNext, "3.8", "publisher.requests_inside_signals_add_up"),
    # and what is kept of very much is little
    Broken(demanding.KeepsTheLastInsideOnNext, "3.8", "publisher.requests_inside_signals_add_up", also=("3.17",)),
    Broken(demanding.KeepsTheLargestInsideOnNext, "3.8", "publisher.requests_inside_signals_add_up"),
    Broken(demanding.KeepsTheLastInsideOnSubscribe, "3.8", "publisher.requests_inside_signals_add_up"),
    # asked one by one it never comes to the end
    Broken(demanding.BeginsAnewWithEachRequest, "3.8", "publisher.elements_are_additional", also=("1.5",)),
    Broken(demanding.LosesRequestsWhileSending, "3.8", "publisher.requests_race_emission", options=THREADED),
    Broken(seldom.RefusalStopsTheFirst, "3.8", "publisher.one_request_for_many", options=UNICAST),
    Broken(broken.IgnoresZero, "3.9", "publisher.zero_request_is_an_error"),
    Broken(broken.IgnoresNegative, "3.9", "publisher.negative_request_is_an_error"),
    Broken(broken.IgnoresNegativeWithDemand, "3.9", "publisher.negative_request_is_an_error"),
    Broken(seldom.TakesUnboundedForEverything, "3.9", "publisher.negative_request_is_an_error"),
    Broken(seldom.IgnoresNegativeInsideOnSubscribe, "3.9", "publisher.negative_request_is_an_error"),
    Broken(broken.RefusesWithTypeError, "3.9", "publisher.zero_request_is_an_error"),
    # what is raised instead of signalled is raised out of request
    Broken(broken.RaisesForZero, "3.9", "publisher.zero_request_is_an_error", also=("3.16",)),
    Broken(broken.SpoilsElementAskedForInside, "3.10", "publisher.elements_inside_request"),
    Broken(broken.DropsLastInsideOnSubscribe, "3.11", "publisher.end_inside_request"),
    # a cancel inside on_subscribe comes too early for it as well
    Broken(broken.CancelsWhenDemandIsMet, "3.12", "publisher.cancel_stops_the_stream", also=("1.8",)),
    Broken(demanding.IgnoresCancelWhenUnbounded, "3.12", "publisher.cancel_stops_the_stream"),
    Broken(
        demanding.HearsCancelOnItsThreadOnly, "3.12", "publisher.cancel_elsewhere_stops_the_stream", options=THREADED
    ),
    Broken(broken.KeepsCancelledSubscriber, "3.13", "publisher.cancelled_subscriber_is_released"),
    Broken(broken.KeepsSubscriberThatNeverAsked, "3.13", "publisher.cancelled_subscriber_is_released"),
    Broken(broken.KeepsSubscriberThatCancelsInside, "3.13", "publisher.cancelled_subscriber_is_released"),
    Broken(broken.KeepsSubscriberUntilTheSecondCancel, "3.13", "publisher.cancelled_subscriber_is_released"),
    Broken(seldom.KeepsSubscriberThatCancelsInOnSubscribe, "3.13", "publisher.cancelled_subscriber_is_released"),
    Broken(
        seldom.KeepsSubscriberCancelledElsewhere,
        "3.13",
        "publisher.cancelled_subscriber_is_released",
        options={"settle": None},
    ),
    Broken(broken.LeavesTheUnreadOpen, "3.14", "publisher.last_cancel_closes_the_source", options=CLOSES),
    Broken(broken.NeverCloses, "3.14", "publisher.last_cancel_closes_the_source", options=CLOSES),
    Broken(broken.ClosesTwice, "3.14", "publisher.last_cancel_closes_the_source", options=CLOSES),
    # what ends a subscription of another is not kept apart
    Broken(
        broken.ClosesUnderTheOthers,
        "3.14",
        "publisher.last_cancel_closes_the_source",
        also=("1.11",),
        options=CLOSES,
    ),
    Broken(broken.CancelRaisesWithTheSource, "3.15", "publisher.cancel_never_raises"),
    Broken(broken.SecondCancelRaises, "3.15", "publisher.cancel_never_raises"),
    Broken(broken.FirstCancelRaises, "3.15", "publisher.cancel_never_raises"),
    Broken(broken.CancelRaisesAfterTheEnd, "3.15", "publisher.cancel_never_raises"),
    Broken(broken.RaisesAfterTheEnd, "3.16", "publisher.request_never_raises"),
    # a request inside on_subscribe raises out of subscribe
    Broken(broken.RaisesWithTheSource, "3.16", "publisher.request_never_raises", also=("1.9",)),
    Broken(seldom.RefusedRequestRaises, "3.16", "publisher.request_never_raises", options=UNICAST),
    Broken(broken.RefusesUnbounded, "3.17", "publisher.demand_of_two_to_the_63_minus_1"),
    Broken(broken.Overflows, "3.17", "publisher.demand_past_two_to_the_63_minus_1"),
    Broken(demanding.CutsRequestsTo32Bits, "3.17", "publisher.large_demand"),
    Broken(demanding.CountsIn32Bits, "3.17", "publisher.large_demand_adds_up"),
    Broken(demanding.CountsInASigned32BitWord, "3.17", "publisher.large_demand_adds_up"),
    Broken(demanding.CountsIn63Bits, "3.17", "publisher.large_demand_adds_up"),
    Broken(demanding.CountsIn64Bits, "3.17", "publisher.large_demand_adds_up"),
    Broken(demanding.OverwritesUnbounded, "3.17", "publisher.large_demand_adds_up"),
    Broken(demanding.IgnoresUnboundedWhileSending, "3.17", "publisher.large_demand_adds_up"),
    Broken(broken.CountsRequests, "3.17", "publisher.many_requests"),
    Broken(broken.EndsWithItsPublisher, "C++ 1.11", "publisher.subscription_outlives_publisher", options=CPP),
    Broken(broken.DroppingDoesNothing, "3.12", "publisher.dropping_the_subscription_cancels", options=CPP),
    Broken(broken.RefusesZero, "3.8", "publisher.zero_request_asks_nothing", options=CPP),
    Broken(broken.UnnamedRefusal, "3.9", "publisher.zero_request_is_an_error", options=DOTNET),
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: f"{case.rule} {case.kind.__name__} {case.test}")
def test_fails_the_rule_that_is_broken(case):
    report = case.verify()
    outcome = report.outcome(case.test)
    assert (outcome.rule, outcome.status) == (case.rule, Status.FAILED), outcome
    assert outcome.detail
    assert outcome.hint
    assert {failed.rule for failed in report.failed} == {case.rule, *case.also}, report.failed


def test_every_trial_is_failed_by_a_broken_publisher():
    assert {trial.name for trial in publisher_trials.members} == {case.test for case in BROKEN}
