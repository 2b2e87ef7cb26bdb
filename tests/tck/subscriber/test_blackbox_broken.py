"""test_blackbox_broken: for each rule seen from outside, subscribers that break just that one are caught by name."""

from __future__ import annotations

import pytest

from penstock.tck.subscriber.case import blackbox
from penstock.tck.subscriber.verify import verify_subscriber_blackbox
from tests.tck.subscriber import broken_subscribers as broken
from tests.tck.subscriber import broken_subscribers_late as late
from tests.tck.subscriber.broken_both_ways import BOTH_WAYS
from tests.tck.subscriber.broken_subscribers import THREADED, WAITED_FOR, Broken, trials_of
from tests.tck.subscriber.broken_subscribers_sound import Sound


def asking(subscriber: Sound) -> None:
    subscriber.ask(1)


def stopping(subscriber: Sound) -> None:
    subscriber.stop()


BROKEN = [
    *BOTH_WAYS,
    Broken(
        "2.1",
        broken.AsksOnce,
        ("asks_before_elements",),
        "it asked for 2 elements and then neither asked for more nor cancelled",
        claims={"expects": 5},
        limits=WAITED_FOR,
    ),
    Broken(
        "2.4",
        broken.AsksAfterTheEnd,
        ("no_calls_after_end",),
        "request(1) was called after on_complete, when it was made to ask: "
        "what makes it ask goes the subscriber's own way, which asks no more then",
        claims={"trigger": asking},
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
        "2.9",
        broken.CompletionNeedsDemand,
        ("takes_completion_without_demand",),
        "on_complete raised RuntimeError('completed before it was asked anything')",
        claims={"trigger": asking},
    ),
    Broken(
        "2.10",
        broken.ErrorNeedsDemand,
        ("takes_error_without_demand",),
        "on_error raised RuntimeError('failed before it was asked anything')",
        claims={"trigger": asking},
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
        broken.RaisesAtAnEndAfterCancel,
        ("signals_return_normally",),
        "on_complete raised RuntimeError('cancelled, and yet the end came') after its cancel()",
        claims={"trigger": asking, "stop": stopping},
    ),
    Broken(
        "2.13",
        late.RaisesLate,
        ("none_subscription_refused",),
        "on_next raised OverflowError('no room') (seen in blackbox.takes_all_it_asked_for)",
    ),
    Broken(
        "3.8",
        broken.AsksForMoreThanItHolds,
        ("takes_all_it_asked_for",),
        "on_next raised OverflowError('no room')",
        also=(("2.13", "none_subscription_refused"),),
    ),
    Broken(
        "3.9",
        broken.AsksForNothing,
        ("requests_are_positive",),
        "request(0) was called: a request must be positive (seen in blackbox.asks_before_elements)",
    ),
    Broken(
        "3.9",
        broken.AsksForNothingInBetween,
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
    Broken(
        "3.9",
        broken.AsksForTrue,
        ("requests_are_positive",),
        "request(True) was called: a request must be positive (seen in blackbox.asks_before_elements)",
        claims={"trigger": asking},
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_catches(case: Broken) -> None:
    case.caught("blackbox", verify_subscriber_blackbox)


def test_no_rule_and_no_trial_lacks_a_broken_subscriber() -> None:
    assert trials_of("blackbox", BROKEN) == {(trial.rule, trial.name) for trial in blackbox.members}
