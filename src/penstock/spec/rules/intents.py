"""intents: what each rule is for, and what two versions of the JVM text say where they differ."""

from __future__ import annotations

from typing import Final

INTENTS: Final = {
    "1.1": "Demand comes first and elements follow it, so a subscriber can never be flooded.",
    "1.2": "Nobody can promise to have as many elements as were asked for: a source may be empty, done or broken.",
    "1.3": "A subscriber can be written as if it had one thread, because the publisher keeps its signals apart.",
    "1.4": "Subscribers need to hear of a failure to free what they hold and to do something about it.",
    "1.5": "Subscribers need to hear of the end to free what they hold; silence would look like a slow source.",
    "1.6": "A subscription is over in the same way whether it was cancelled, completed or failed.",
    "1.7": "The end is final, so what comes after it cannot undo what a subscriber did about it.",
    "1.8": "A cancel is heeded, but it takes time to arrive where publisher and subscriber run apart.",
    "1.9": "A subscriber can prepare itself in its first signal, and hears of a refusal like of any other failure.",
    "1.10": "Those who subscribe know that publishers and subscribers may be good for one meeting only.",
    "1.11": "A publisher decides how many it serves and how it divides its elements among them.",
    "C++ 1.11": "A publisher may be a short-lived object that is gone while its subscriptions go on.",
    "2.1": "The subscriber alone knows when it can take elements and how many, so it has to say so.",
    "2.2": "Work of the subscriber must not eat the time that its publisher needs to serve others.",
    "2.3": "Calls back from inside an end would run in circles and race with the publisher's own clean-up.",
    "2.4": "After the end the publisher is gone, and can answer no call.",
    "2.5": "Two publishers must not both believe that one subscriber is theirs; the second one is turned away.",
    "2.6": "A publisher can let go of files, threads and buffers only when it knows that no subscriber waits for it.",
    "2.7": "A subscription need not guard itself against two calls of its subscriber at the same time.",
    "2.8": "A cancel takes time to arrive, and elements may be on their way by then.",
    "2.9": "Completion has nothing to do with demand, so a subscriber learns of it without a request.",
    "2.10": "Failure has nothing to do with demand, so a subscriber learns of it without a request.",
    "2.11": "A subscriber that works elsewhere hands each signal over safely before it begins with it.",
    "2.12": "A subscriber can rely on meeting one publisher, and keep the state of one stream.",
    "2.13": "It is settled what a raising subscriber means: a cancel, and an error that the caller makes known.",
    "3.1": "A subscription stands for one pair, and only its subscriber knows when to ask and when to stop.",
    "3.2": "Asking from inside a signal is the natural way to write a subscriber, so it has to be safe.",
    "3.3": "Elements that are delivered inside request must not pile up on the stack until it overflows.",
    "3.4": "The one who asks has other things to do than to wait for the elements.",
    "3.5": "Cancelling is safe and cheap for anybody, at any time and from any thread.",
    "3.6": "A cancel is the last word: what is asked for later brings nothing to life again.",
    "3.7": "Cancelling twice is no mistake, so callers need not remember whether they have done it.",
    "3.8": "Requests add up, so demand can be given in any portions without being lost.",
    "3.9": "A request for nothing or less is a mistake in the subscriber's arithmetic, which should be heard of.",
    "3.10": "Publishers that work on the thread of the one who asks are allowed.",
    "3.11": "Publishers that work on the thread of the one who asks are allowed to end there, too.",
    "3.12": "Whoever cancels can count on it, though perhaps not at this very moment.",
    "3.13": "A subscriber that is done can be freed, since nothing refers to it for ever.",
    "3.14": "A publisher without subscribers may close, and answer new ones with an end.",
    "3.15": "The one who cancels can do so anywhere, without being ready for exceptions.",
    "3.16": "The one who asks can do so anywhere, and hears of trouble where it hears of everything else.",
    "3.17": "A subscriber can ask for everything at once, and no publisher has to count further than it can ever get.",
    "4.1": "A processor has no rules of its own to hide behind: each side is held to the rules of that side.",
    "4.2": "A processor may do more than pass elements on, such as to replace a failed source by another one.",
}
"""What each rule is for, by its id."""

VERSIONS: Final = {
    "1.3": {
        "1.0.1": "Asks for thread safety, and for external synchronization where several threads signal.",
        "1.0.3": "Asks for serial signals: none begins before the one before it has returned, on whatever threads.",
    },
    "2.1": {
        "1.0.3": "Advises to ask at the end of a signal, and for as many elements as can be taken, not one by one.",
    },
    "2.5": {
        "1.0.3": "Adds why: with two subscriptions at once even rule 1.1 can be broken without anybody's fault.",
    },
    "2.7": {
        "1.0.1": "Asks for one thread, or for external synchronization, for all calls on the subscription.",
        "1.0.3": "Asks for serial calls of request and cancel, each after the one before it, on whatever threads.",
    },
}
"""What a version of the JVM text says of a rule that another one says differently, or not at all."""

SUBSTANCE: Final = frozenset({"1.3", "2.7"})
"""The rules that two versions differ about in substance, and not only in words."""
