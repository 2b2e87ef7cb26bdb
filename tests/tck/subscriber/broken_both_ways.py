"""broken_both_ways: subscribers whose breach is seen from inside and from outside alike."""

from __future__ import annotations

from tests.tck.subscriber import broken_subscribers as broken
from tests.tck.subscriber import broken_subscribers_late as late
from tests.tck.subscriber.broken_subscribers import THREADED, WAITED_FOR, Broken

BOTH_WAYS = [
    Broken(
        "2.1",
        broken.NeverAsks,
        ("asks_before_elements",),
        "it was to ask for an element, but request was not called",
        limits=WAITED_FOR,
    ),
    Broken(
        "2.3", broken.CancelsInOnComplete, ("on_complete_calls_nothing",), "cancel() was called from inside on_complete"
    ),
    Broken("2.3", broken.RequestsInOnError, ("on_error_calls_nothing",), "request(1) was called from inside on_error"),
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
        broken.CompletionOwesElements,
        ("takes_completion_with_demand",),
        "on_complete raised RuntimeError('elements were still to come')",
    ),
    Broken(
        "2.10",
        broken.ErrorOwesElements,
        ("takes_error_with_demand",),
        "on_error raised RuntimeError('elements were still to come')",
    ),
    Broken(
        "2.13",
        late.TakesNoneLater,
        ("none_element_refused", "none_error_refused"),
        "on_next(None) returned normally instead of raising TypeError",
    ),
    Broken(
        "2.13",
        late.TakesNoneForASecondSubscription,
        ("none_subscription_refused",),
        "on_subscribe(None) returned normally instead of raising TypeError",
    ),
    Broken(
        "2.13",
        broken.RaisesWhenReentered,
        ("signals_return_normally",),
        "on_next raised TypeError('an element came inside request')",
    ),
    Broken(
        "3.1",
        broken.AsksForOthers,
        ("uses_only_its_own_subscription",),
        "request(1) was called on the subscription of another subscriber, which had no signal",
    ),
]
