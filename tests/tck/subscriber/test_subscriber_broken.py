"""test_subscriber_broken: for each rule seen from inside, subscribers that break just that one are caught by name."""

from __future__ import annotations

import pytest

from penstock.tck.subscriber.case import whitebox
from penstock.tck.subscriber.verify import verify_subscriber
from tests.tck.subscriber import broken_subscribers as broken
from tests.tck.subscriber import broken_subscribers_late as late
from tests.tck.subscriber.broken_both_ways import BOTH_WAYS
from tests.tck.subscriber.broken_subscribers import THREADED, WAITED_FOR, Broken, trials_of
from tests.tck.subscriber.broken_subscribers_sound import Sound

AFTER_THE_END = (
    "request(1) was called after on_complete, when it was made to ask: "
    "what makes it ask goes the subscriber's own way, which asks no more then"
)
IN_ORDER = (
    "signals_are_processed_in_order",
    "long_streams_are_processed_in_order",
    "elements_inside_request_are_processed",
)
BROKEN = [
    *BOTH_WAYS,
    Broken(
        "2.1",
        broken.AsksOnce,
        ("asks_before_elements",),
        "it asked for 2 elements and then neither asked for more nor cancelled",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.1",
        broken.ReportsNothing,
        ("asks_before_elements",),
        "it never reported an element as processed: call probe.processed where it works",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.1",
        broken.HidesItsTriggers,
        ("asks_before_elements",),
        "it never handed its triggers to the probe: call probe.subscribed from on_subscribe",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.2",
        Sound,
        ("slow_work_does_not_block",),
        "with its work held up, on_next did not return within 0.5 s",
        claims={"asynchronous": True},
        limits=WAITED_FOR,
    ),
    Broken(
        "2.3",
        late.CancelsInALateOnError,
        ("on_complete_calls_nothing",),
        "cancel() was called from inside on_error (seen in subscriber.requests_stay_serial)",
    ),
    Broken("2.4", broken.AsksAfterTheEnd, ("no_calls_after_end",), AFTER_THE_END),
    Broken(
        "2.5",
        broken.ForgetsTheFirst,
        ("second_subscription_is_cancelled",),
        "1 elements were sent, 0 were reported as processed",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.5",
        late.TakesTheSecondLate,
        ("second_subscription_is_cancelled",),
        "the second subscription was not cancelled",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.6",
        broken.StopsWithoutCancel,
        ("unneeded_subscription_is_cancelled",),
        "no more was wanted, but cancel() was not called",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.6",
        broken.QuitsWithoutCancel,
        ("unneeded_subscription_is_cancelled",),
        "it was made to cancel, but cancel() was not called (seen in subscriber.takes_elements_after_cancel)",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.7",
        broken.AsksOnTwoThreads,
        ("subscription_calls_are_serial", "requests_stay_serial"),
        "request(1) was called on one thread while a request ran on another",
        claims={"asynchronous": True},
        limits=THREADED,
    ),
    Broken(
        "2.7",
        Sound,
        ("subscription_calls_are_serial",),
        "request(1) was called on one thread while a request ran on another",
        claims={"concurrent": True},
        limits=THREADED,
    ),
    Broken(
        "2.9",
        broken.CompletionNeedsDemand,
        ("takes_completion_without_demand",),
        "on_complete raised RuntimeError('completed before it was asked anything')",
    ),
    Broken(
        "2.9",
        broken.LosesEarlyCompletion,
        ("takes_completion_without_demand",),
        "on_complete was sent, but no end was reported as processed",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.9",
        broken.CompletesTwice,
        ("takes_completion_with_demand", "takes_completion_without_demand"),
        "one end was sent, 2 were reported as processed",
    ),
    Broken(
        "2.9",
        late.LosesTheEndInsideRequest,
        ("takes_completion_with_demand",),
        "on_complete was sent inside request, but no end was reported as processed "
        "(seen in subscriber.elements_inside_request_are_processed)",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.10",
        broken.ErrorNeedsDemand,
        ("takes_error_without_demand",),
        "on_error raised RuntimeError('failed before it was asked anything')",
    ),
    Broken(
        "2.10",
        broken.WrapsErrors,
        ("takes_error_with_demand", "takes_error_without_demand"),
        "on_error was sent, but RuntimeError('upstream failed, as the trial wants it') was reported as the end",
    ),
    Broken(
        "2.10",
        broken.TakesErrorsForCompletion,
        ("takes_error_with_demand", "takes_error_without_demand"),
        "on_error was sent, but None was reported as the end",
    ),
    Broken(
        "2.11",
        broken.SwapsTwo,
        IN_ORDER,
        "11 was processed before 10, which was sent earlier",
    ),
    Broken("2.11", broken.LosesOne, IN_ORDER, "[10] was sent and not processed", limits=WAITED_FOR),
    Broken(
        "2.11",
        broken.LosesOneBeforeASecondSubscription,
        IN_ORDER,
        "[6] was sent and not processed",
        limits=WAITED_FOR,
    ),
    Broken("2.11", broken.RepeatsOne, IN_ORDER, "10 was processed more often than it was sent"),
    Broken(
        "2.11",
        late.LosesOneLate,
        ("long_streams_are_processed_in_order",),
        "50 elements were sent, 49 were reported as processed",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.11",
        late.SwapsTwoLate,
        ("long_streams_are_processed_in_order",),
        "30 was processed before 29, which was sent earlier",
    ),
    Broken(
        "2.9",
        late.FinishesTwiceLate,
        ("takes_completion_with_demand",),
        "one end was sent, 2 were reported as processed (seen in subscriber.long_streams_are_processed_in_order)",
    ),
    Broken(
        "2.11",
        late.LosesWhatComesInsideRequest,
        ("elements_inside_request_are_processed",),
        "20 elements were sent, 0 were reported as processed",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.11",
        broken.EndOvertakesWork,
        ("signals_are_processed_in_order", "elements_inside_request_are_processed"),
        "the end was processed before all elements were",
        claims={"asynchronous": True},
    ),
    Broken(
        "2.13",
        late.RaisesLate,
        ("none_subscription_refused",),
        "on_next raised OverflowError('no room') (seen in subscriber.requests_stay_serial)",
    ),
    Broken(
        "2.13",
        broken.TakesNoneForASubscription,
        ("none_subscription_refused",),
        "on_subscribe(None) returned normally instead of raising TypeError",
    ),
    Broken(
        "2.13",
        broken.TakesNoneForAnElement,
        ("none_element_refused",),
        "on_next(None) returned normally instead of raising TypeError",
    ),
    Broken(
        "2.13",
        broken.TakesNoneForAnError,
        ("none_error_refused",),
        "on_error(None) returned normally instead of raising TypeError",
    ),
    Broken(
        "2.13",
        broken.RefusesNoneWrongly,
        ("none_subscription_refused", "none_element_refused", "none_error_refused"),
        "on_subscribe(None) raised ValueError('a signal must not carry None') instead of TypeError",
    ),
    Broken(
        "2.13",
        broken.RaisesAtAnEndAfterCancel,
        ("signals_return_normally",),
        "on_complete raised RuntimeError('cancelled, and yet the end came') after its cancel()",
    ),
    Broken(
        "3.1",
        late.SharesItsSubscription,
        ("uses_only_its_own_subscription",),
        "request(1) was called on the subscription of another subscriber, which had no signal",
    ),
    Broken(
        "3.8",
        late.AsksIn32Bits,
        ("asks_for_large_amounts",),
        "it was made to ask for 4294967297 elements, the demand was 1",
        limits=WAITED_FOR,
    ),
    Broken(
        "3.8",
        broken.AsksForOneOfMany,
        ("takes_all_it_asked_for", "asks_for_large_amounts"),
        "it was made to ask for 2 elements and for 3, the demand was 2",
        limits=WAITED_FOR,
    ),
    Broken(
        "3.8",
        broken.CountsOnlyTheLargestRequest,
        ("takes_all_it_asked_for",),
        "it was made to ask for 2 elements and for 3, the demand was 3",
        limits=WAITED_FOR,
    ),
    Broken(
        "3.9",
        broken.AsksForNothing,
        ("requests_are_positive",),
        "request(0) was called: a request must be positive (seen in subscriber.asks_before_elements)",
    ),
    Broken(
        "3.9",
        broken.AsksForHalves,
        ("requests_are_positive",),
        "request(0.5) was called: a request must be positive (seen in subscriber.asks_before_elements)",
    ),
    Broken(
        "3.9",
        broken.AsksForTrue,
        ("requests_are_positive",),
        "request(True) was called: a request must be positive (seen in subscriber.asks_before_elements)",
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_catches(case: Broken) -> None:
    case.caught("subscriber", verify_subscriber)


def test_no_rule_and_no_trial_lacks_a_broken_subscriber() -> None:
    assert trials_of("subscriber", BROKEN) == {(trial.rule, trial.name) for trial in whitebox.members}
