"""publisher: chapter 1 of the contract, what a publisher owes its subscribers."""

from __future__ import annotations

from typing import Final

from penstock.spec.rules.model import Dialect, Level, Party, Rule, Variant, in_texts

_COLLECTED = "Garbage collection keeps alive what a subscription refers to."

PUBLISHER_RULES: Final = (
    Rule(
        id="1.1",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="A subscriber never gets more elements than it has asked for so far.",
        hint="Look for an on_next that does not first take one from the demand, and for demand counted per publisher.",
        tests=("publisher.demand_never_exceeded", "publisher.no_amount_brings_more", "monitor.demand_never_exceeded"),
        variants=in_texts("1.1", cpp="1.1"),
    ),
    Rule(
        id="1.2",
        party=Party.PUBLISHER,
        level=Level.MAY,
        sentence="A publisher that runs out or fails is free to end the stream before all demand is met.",
        hint="Look at what happens when the source ends while demand is left: the end has to be sent at once.",
        tests=("publisher.may_end_early",),
        variants=in_texts("1.2", cpp="1.2"),
    ),
    Rule(
        id="1.3",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="Signals to one subscriber come one after another and never overlap, whatever threads send them.",
        hint="Look for two threads that can both reach the emitting loop, and for work that a pool runs out of order.",
        tests=(
            "publisher.signals_are_serial",
            "monitor.signals_are_serial",
            "publisher.signals_stay_serial",
            "publisher.refusal_waits_its_turn",
            "processor.one_signal_at_a_time",
            "processor.one_signal_at_a_time_from_the_last",
        ),
        variants=in_texts(
            "1.3",
            cpp="1.3",
            dotnet="Says it outright: in sequence, no two notifications at a time.",
            cpp_differs="As the JVM text, without on_subscribe, which does not exist there.",
        ),
    ),
    Rule(
        id="1.4",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="A publisher that cannot go on tells its subscribers so by on_error.",
        hint="Look for an exception of the source that is swallowed, logged only, or raised out of request.",
        tests=("publisher.failure_is_signalled", "processor.failure_reaches_every_subscriber"),
        variants=in_texts("1.4", cpp="1.4"),
    ),
    Rule(
        id="1.5",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="A stream that comes to its natural end, an empty one included, says so by on_complete.",
        hint="Look at the path taken when the source is exhausted, above all when it was empty from the start.",
        tests=("publisher.completion_is_signalled", "publisher.empty_stream_completes"),
        variants=in_texts("1.5", cpp="1.5"),
    ),
    Rule(
        id="1.6",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="The end of a stream leaves its subscription in the state that cancel would have left it in.",
        hint="Look at whether sending the end also marks the subscription cancelled and lets go of the subscriber.",
        tests=("publisher.end_cancels_subscription", "publisher.ended_subscriber_is_released"),
        variants=in_texts("1.6", cpp="1.6"),
    ),
    Rule(
        id="1.7",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="Nothing follows on_error or on_complete.",
        hint="Look for an end that is sent without setting the flag which every other signal checks.",
        tests=("publisher.silent_after_completion", "publisher.silent_after_failure", "monitor.silent_after_end"),
        variants=in_texts("1.7", cpp="1.7"),
    ),
    Rule(
        id="1.8",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="After cancel the signals to that subscriber run dry.",
        hint="Look at whether the emitting loop checks for cancellation before each element and before the end.",
        tests=(
            "publisher.cancel_in_on_subscribe_brings_silence",
            "publisher.cancel_in_last_on_next_brings_silence",
            "publisher.cancel_brings_no_end",
        ),
        variants=in_texts("1.8", cpp="1.8", cpp_differs="Dropping the subscription is a cancel as well."),
    ),
    Rule(
        id="1.9",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence=(
            "subscribe calls on_subscribe before anything else and does not raise, except TypeError for None; "
            "it turns a subscriber away by on_error, after on_subscribe."
        ),
        hint="Look for source code that runs in subscribe before on_subscribe, and for a missing check for None.",
        tests=(
            "publisher.none_subscriber_refused",
            "publisher.on_subscribe_comes_first",
            "publisher.rejection_by_on_error",
            "publisher.subscribe_never_raises",
            "monitor.on_subscribe_comes_first",
        ),
        variants=in_texts(
            "1.9",
            cpp="1.9",
            jvm="A null subscriber brings NullPointerException.",
            dotnet="A null subscriber brings NullReferenceException.",
            cpp_differs=(
                "subscribe returns the subscription; there is no on_subscribe and no null, so it never raises at all "
                "and a refusal is on_error alone."
            ),
        ),
    ),
    Rule(
        id="1.10",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="subscribe can be called again and again, but with another subscriber each time.",
        hint="Look for a subscriber object that is kept and reused, and for per-run state held by the publisher.",
        tests=("publisher.subscribe_again_keeps_the_rules", "monitor.subscriber_is_fresh"),
        variants=in_texts(
            "1.10",
            cpp=None,
            cpp_differs="A publisher takes its subscriber over, so there is none left to subscribe twice.",
        ),
    ),
    Rule(
        id="1.11",
        party=Party.PUBLISHER,
        level=Level.MAY,
        sentence="A publisher is free to serve one subscriber or many, apart or all with the same elements.",
        hint="Look for a position in the source that subscribers share without meaning to.",
        tests=(
            "publisher.several_subscribers_one_by_one",
            "publisher.several_subscribers_up_front",
            "publisher.demand_is_kept_apart",
            "publisher.cancel_is_kept_apart",
            "publisher.refusal_is_kept_apart",
            "publisher.what_one_left_is_not_the_next_ones",
        ),
        variants=in_texts("1.11", cpp="1.10"),
    ),
    Rule(
        id="C++ 1.11",
        party=Party.PUBLISHER,
        level=Level.MUST,
        sentence="A subscription goes on working when the publisher object that made it is gone.",
        hint="Look for a weak reference to the publisher, or a finalizer of it that closes what its subscriptions use.",
        tests=("publisher.subscription_outlives_publisher",),
        variants=(
            Variant(Dialect.JVM, None, _COLLECTED),
            Variant(Dialect.DOTNET, None, _COLLECTED),
            Variant(Dialect.CPP, "1.11"),
        ),
    ),
)
