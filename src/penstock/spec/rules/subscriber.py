"""subscriber: chapter 2 of the contract, what a subscriber owes its publisher."""

from __future__ import annotations

from typing import Final

from penstock.spec.rules.model import Level, Party, Rule, in_texts

SUBSCRIBER_RULES: Final = (
    Rule(
        id="2.1",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber that wants elements has to ask for them by request.",
        hint="Look at whether on_subscribe, or whatever starts the work, ever calls request.",
        tests=("subscriber.asks_before_elements", "blackbox.asks_before_elements"),
        variants=in_texts(
            "2.1", cpp="2.1", cpp_differs="The argument is an ElementCount, which can be zero or unbounded."
        ),
    ),
    Rule(
        id="2.2",
        party=Party.SUBSCRIBER,
        level=Level.SHOULD,
        sentence="A subscriber whose work could hold its publisher up does that work elsewhere.",
        hint="Look for waiting, locking or long computing inside on_next; move it to an executor.",
        tests=("subscriber.slow_work_does_not_block",),
        variants=in_texts("2.2", cpp="2.2"),
    ),
    Rule(
        id="2.3",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="on_complete and on_error call neither the subscription nor the publisher.",
        hint="Look for clean-up shared with the cancelling path, which calls cancel inside an end signal.",
        tests=(
            "subscriber.on_complete_calls_nothing",
            "subscriber.on_error_calls_nothing",
            "blackbox.on_complete_calls_nothing",
            "blackbox.on_error_calls_nothing",
            "monitor.end_signals_call_nothing",
        ),
        variants=in_texts("2.3", cpp="2.3"),
    ),
    Rule(
        id="2.4",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber that has received the end treats its subscription as cancelled.",
        hint="Look for a request that is still made for buffered elements after the end has arrived.",
        tests=(
            "subscriber.no_calls_after_end",
            "blackbox.no_calls_after_end",
            "monitor.no_calls_after_end",
            "processor.drains_without_asking",
        ),
        variants=in_texts("2.4", cpp="2.4"),
    ),
    Rule(
        id="2.5",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber that has a live subscription cancels any further one it is given.",
        hint="Look for an on_subscribe that stores its argument without checking whether it has one.",
        tests=("subscriber.second_subscription_is_cancelled", "blackbox.second_subscription_is_cancelled"),
        variants=in_texts("2.5", cpp=None, cpp_differs="There is no on_subscribe that could come twice."),
    ),
    Rule(
        id="2.6",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber that needs no more cancels its subscription instead of forgetting it.",
        hint="Look at every way the work can stop early, a failure in on_next included, for a missing cancel.",
        tests=(
            "subscriber.unneeded_subscription_is_cancelled",
            "blackbox.unneeded_subscription_is_cancelled",
            "processor.last_cancel_reaches_upstream",
            "processor.refusal_reaches_upstream",
            "processor.raising_subscriber_reaches_upstream",
            "processor.late_upstream_is_cancelled",
            "processor.early_upstream_is_cancelled",
        ),
        variants=in_texts(
            "2.6",
            cpp="2.5",
            dotnet="Speaks of a subscriber that is no longer valid though the publisher has not ended the stream.",
            cpp_differs="Dropping the subscription does as well as cancel.",
        ),
    ),
    Rule(
        id="2.7",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="Calls on one subscription come from one thread, or the subscriber keeps them from overlapping.",
        hint="Look for request called both by the thread that receives elements and by a worker.",
        tests=(
            "subscriber.subscription_calls_are_serial",
            "monitor.subscription_calls_are_serial",
            "blackbox.subscription_calls_are_serial",
            "processor.requests_upstream_are_serial",
            "subscriber.requests_stay_serial",
            "blackbox.requests_stay_serial",
        ),
        variants=in_texts("2.7", cpp="2.6"),
    ),
    Rule(
        id="2.8",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber copes with elements it had asked for that arrive after it cancelled.",
        hint="Look for an on_next that uses what cancelling has closed or set to None.",
        tests=("subscriber.takes_elements_after_cancel", "blackbox.takes_elements_after_cancel"),
        variants=in_texts("2.8", cpp="2.7", cpp_differs="Dropping the subscription counts as the cancel."),
    ),
    Rule(
        id="2.9",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber copes with on_complete whether or not it has asked for anything.",
        hint="Look for an on_complete that expects an element, or some state set up by the first request.",
        tests=(
            "subscriber.takes_completion_with_demand",
            "subscriber.takes_completion_without_demand",
            "blackbox.takes_completion_with_demand",
            "blackbox.takes_completion_without_demand",
        ),
        variants=in_texts("2.9", cpp="2.8"),
    ),
    Rule(
        id="2.10",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber copes with on_error whether or not it has asked for anything.",
        hint="Look for an on_error that raises its argument again, or expects state set up by the first request.",
        tests=(
            "subscriber.takes_error_with_demand",
            "subscriber.takes_error_without_demand",
            "blackbox.takes_error_with_demand",
            "blackbox.takes_error_without_demand",
        ),
        variants=in_texts("2.10", cpp="2.9"),
    ),
    Rule(
        id="2.11",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="A subscriber starts work on a signal after it has arrived, in order, and safely across threads.",
        hint="Look for state shared between on_next and a worker without a queue or a lock.",
        tests=(
            "subscriber.signals_are_processed_in_order",
            "subscriber.long_streams_are_processed_in_order",
            "subscriber.elements_inside_request_are_processed",
        ),
        variants=in_texts("2.11", cpp="2.10"),
    ),
    Rule(
        id="2.12",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence="One subscriber object gets on_subscribe once in its life at most.",
        hint="Look for on_subscribe called again by a publisher that retries, and for a subscriber subscribed twice.",
        tests=("publisher.on_subscribe_at_most_once", "monitor.on_subscribe_at_most_once"),
        variants=in_texts("2.12", cpp=None, cpp_differs="There is no on_subscribe."),
    ),
    Rule(
        id="2.13",
        party=Party.SUBSCRIBER,
        level=Level.MUST,
        sentence=(
            "Signal methods do not raise, except TypeError for None; a subscriber fails by cancelling, and one that "
            "raises all the same is cut off by its caller, who reports the error."
        ),
        hint="Look for user code in a signal method that is not guarded, and for a missing check for None.",
        tests=(
            "subscriber.none_subscription_refused",
            "subscriber.none_element_refused",
            "subscriber.none_error_refused",
            "subscriber.signals_return_normally",
            "blackbox.none_subscription_refused",
            "blackbox.none_element_refused",
            "blackbox.none_error_refused",
            "blackbox.signals_return_normally",
            "publisher.raising_subscriber_is_cut_off",
            "monitor.signals_return_normally",
        ),
        variants=in_texts(
            "2.13",
            cpp="2.11",
            jvm="A null argument brings NullPointerException.",
            dotnet="A null argument brings NullReferenceException.",
            cpp_differs="There is no null, so the methods never raise at all.",
        ),
    ),
)
