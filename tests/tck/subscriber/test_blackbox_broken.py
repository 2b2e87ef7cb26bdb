"""test_blackbox_broken: for each rule seen from outside, subscribers that break just that one are caught by name."""

from __future__ import annotations

import pytest

from penstock.tck.subscriber.case import blackbox
from penstock.tck.subscriber.verify import verify_subscriber_blackbox
from tests.tck.subscriber import broken_subscribers as broken
from tests.tck.subscriber import broken_subscribers_late as late
from tests.tck.subscriber.broken_subscribers import THREADED, WAITED_FOR, Broken, trials_of
from tests.tck.subscriber.broken_subscribers_sound import Sound


def asking(subscriber: Sound) -> None:
    subscriber.ask(1)


def stopping(subscriber: Sound) -> None:
    subscriber.stop()


BROKEN = [
    Broken(
        "2.1",
        broken.NeverAsks,
        ("asks_before_elements",),
        "it was to ask for an element, but request was not called",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.1",
        broken.AsksOnce,
        ("asks_before_elements",),
        "it asked for 2 elements and then neither asked for more nor cancelled",
        claims={"expects": 5},
        limits=WAITED_FOR,
    ),
    Broken(
        "2.3", broken.CancelsInOnComplete, ("on_complete_calls_nothing",), "cancel() was called from inside on_complete"
    ),
    Broken("2.3", broken.RequestsInOnError, ("on_error_calls_nothing",), "request(1) was called from inside on_error"),
    Broken(
        "2.4",
        broken.AsksAfterTheEnd,
        ("no_calls_after_end",),
        "request(1) was called after on_complete, when it was made to ask: "
        "what makes it ask goes the subscriber's own way, which asks no more then",
        claims={"trigger": asking},
    ),
    Broken(
        "2.4",
        broken.CancelsSoonAfterTheEnd,
        ("no_calls_after_end",),
        "cancel() was called after on_complete",
        limits=THREADED,
    ),
    Broken(
        "2.5",
        broken.IgnoresTheSecond,
        ("second_subscription_is_cancelled",),
        "the second subscription was not cancelled",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.5",
        broken.SwitchesToTheSecond,
        ("second_subscription_is_cancelled",),
        "the second subscription was not cancelled",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.5",
        broken.CancelsBoth,
        ("second_subscription_is_cancelled",),
        "the first subscription was cancelled instead of the second",
    ),
    Broken(
        "2.5",
        broken.AsksTheSecond,
        ("second_subscription_is_cancelled",),
        "elements were requested of the second subscription",
    ),
    Broken(
        "2.5",
        broken.RaisesAtTheSecond,
        ("second_subscription_is_cancelled",),
        "on_subscribe raised RuntimeError('already subscribed') after its cancel()",
    ),
    Broken(
        "2.6",
        broken.StopsWithoutCancel,
        ("unneeded_subscription_is_cancelled",),
        "no more was wanted, but cancel() was not called",
        claims={"trigger": asking, "stop": stopping},
        limits=WAITED_FOR,
    ),
    Broken(
        "2.7",
        broken.AsksOnTwoThreads,
        ("subscription_calls_are_serial", "requests_stay_serial"),
        "request(1) was called on one thread while a request ran on another",
        limits=THREADED,
    ),
    Broken(
        "2.7",
        late.AsksElsewhereLate,
        ("requests_stay_serial",),
        "request(1) was called on one thread while a request ran on another",
        limits=THREADED,
    ),
    Broken(
        "2.7",
        late.AsksElsewhereRarely,
        ("requests_stay_serial",),
        "request(1) was called on one thread while a request ran on another",
        limits=THREADED,
    ),
    Broken(
        "2.8",
        broken.RaisesAfterCancel,
        ("takes_elements_after_cancel",),
        "on_next raised RuntimeError('cancelled, and yet an element came') after its cancel()",
    ),
    Broken(
        "2.9",
        broken.CompletionNeedsDemand,
        ("takes_completion_without_demand",),
        "on_complete raised RuntimeError('completed before it was asked anything')",
        claims={"trigger": asking},
    ),
    Broken(
        "2.9",
        broken.CompletionOwesElements,
        ("takes_completion_with_demand",),
        "on_complete raised RuntimeError('elements were still to come')",
    ),
    Broken(
        "2.10",
        broken.ErrorNeedsDemand,
        ("takes_error_without_demand",),
        "on_error raised RuntimeError('failed before it was asked anything')",
        claims={"trigger": asking},
    ),
    Broken(
        "2.10",
        broken.ErrorOwesElements,
        ("takes_error_with_demand",),
        "on_error raised RuntimeError('elements were still to come')",
    ),
    Broken(
        "2.13",
        broken.TakesNoneForASubscription,
        ("none_subscription_refused",),
        "on_subscribe(None) returned normally instead of raising TypeError",
        claims={"trigger": asking},
    ),
    Broken(
        "2.13",
        broken.TakesNoneForAnElement,
        ("none_element_refused",),
        "on_next(None) returned normally instead of raising TypeError",
        claims={"trigger": asking},
    ),
    Broken(
        "2.13",
        broken.TakesNoneForAnError,
        ("none_error_refused",),
        "on_error(None) returned normally instead of raising TypeError",
        claims={"trigger": asking},
    ),
    Broken(
        "2.13",
        broken.RefusesNoneWrongly,
        ("none_subscription_refused", "none_element_refused", "none_error_refused"),
        "on_subscribe(None) raised ValueError('a signal must not carry None') instead of TypeError",
        claims={"trigger": asking},
    ),
    Broken(
        "2.13",
        broken.RaisesWhenReentered,
        ("signals_return_normally",),
        "on_next raised TypeError('an element came inside request')",
    ),
    Broken(
        "2.13",
        broken.RaisesAtAnEndAfterCancel,
        ("signals_return_normally",),
        "on_complete raised RuntimeError('cancelled, and yet the end came') after its cancel()",
        claims={"trigger": asking, "stop": stopping},
    ),
    Broken(
        "3.1",
        broken.AsksForOthers,
        ("uses_only_its_own_subscription",),
        "request(1) was called on the subscription of another subscriber, which had no signal",
    ),
    Broken(
        "3.8", broken.AsksForMoreThanItHolds, ("takes_all_it_asked_for",), "on_next raised OverflowError('no room')"
    ),
    Broken(
        "3.9",
        broken.AsksForNothing,
        ("requests_are_positive",),
        "request(0) was called: a request must be positive (seen in blackbox.asks_before_elements)",
    ),
    Broken(
        "3.9",
        broken.AsksForHalves,
        ("requests_are_positive",),
        "request(0.5) was called: a request must be positive (seen in blackbox.asks_before_elements)",
        claims={"trigger": asking},
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_catches(case: Broken) -> None:
    case.caught("blackbox", verify_subscriber_blackbox)


def test_no_rule_and_no_trial_lacks_a_broken_subscriber() -> None:
    assert trials_of("blackbox", BROKEN) == {(trial.rule, trial.name) for trial in blackbox.members}
