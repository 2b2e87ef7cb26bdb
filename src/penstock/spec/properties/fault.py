"""fault: the third layer of the pull-stream protocol, errors on their way down and up."""

from __future__ import annotations

from typing import Final

from penstock.spec.properties.model import Layer, Property
from penstock.spec.rules.model import Level

FAULT_PROPERTIES: Final = (
    Property(
        id="F1",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="An error ends a stream for ever; later asks and aborts are answered with that same error.",
        hint="Look for an error that turns into a good end when it is asked for again, or is made anew.",
        tests=("pull_source.a_failure_stays", "pull_through.a_failure_stays"),
    ),
    Property(
        id="F2",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="An abort with an error is an abort, passed on with that error and confirmed with it or as done.",
        hint="Look for a request taken for an ask because it is not just True, and for the error sent on as True.",
        tests=("pull_source.an_error_aborts", "pull_through.an_error_aborts"),
    ),
    Property(
        id="F3",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="An error without an answer function aborts just as well.",
        hint="Look for an error that is raised, or forgotten, because no ask waits for an answer.",
        tests=("pull_source.an_error_aborts_unanswered", "pull_through.an_error_aborts_unanswered"),
    ),
    Property(
        id="F4",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="The first reason to end stays; only a plain abort may still become the error of a failed close.",
        hint="Look for an end that is overwritten by a later one, and for a confirmation that is not looked at.",
        tests=("pull_source.the_first_reason_stays", "pull_through.the_first_reason_stays"),
    ),
    Property(
        id="F5",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="A through that fails aborts upstream with its error, waits for that, and ends with its error.",
        hint="Look at what becomes of upstream when a function raises, and at what is answered meanwhile.",
        tests=("pull_through.own_failure_aborts_upstream",),
    ),
    Property(
        id="F6",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="An upstream error is passed on as it is, nothing more is sent there, and other inputs are aborted.",
        hint="Look for errors that are wrapped, and for an abort sent to the input that has failed.",
        tests=("pull_through.failure_is_passed_on", "pull_source.failure_of_one_input_aborts_the_others"),
    ),
    Property(
        id="F7",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="Only a module that says so makes a good end of an error, with at most one last value before it.",
        hint="Look for an error that gets lost on the way down.",
        tests=("pull_through.recovers_only_if_it_says_so",),
    ),
    Property(
        id="F8",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="What is held is delivered before a good end; before an error it is delivered or dropped.",
        hint="Look at what is still in a buffer when upstream is done.",
        tests=("pull_through.a_good_end_comes_after_what_is_held",),
    ),
    Property(
        id="F9",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="A sink tells once how it ended: None for a good end, its own stop included, else the error.",
        hint="Look for ends that are told to no module, and for a stop that is reported as an error.",
        tests=("pull_sink.end_is_told_once", "pull_sink.own_stop_is_a_good_end", "pull_sink.own_failure_is_told"),
    ),
    Property(
        id="F10",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="Failures are answers: no exception crosses an interface, and one from a neighbour does no harm.",
        hint="Look for user code that is called unguarded, and for a queue left half done when it raises.",
        tests=(
            "pull_source.no_exception_crosses",
            "pull_source.what_fails_below_does_not_cross",
            "pull_through.no_exception_crosses",
            "pull_through.own_exception_does_not_cross",
            "pull_sink.no_exception_crosses",
        ),
    ),
    Property(
        id="F11",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="An abort with an error ends the asks that wait, in order and before it, with that error or as done.",
        hint="Look at whether an error takes the same way as a plain abort when asks wait.",
        tests=("pull_source.waiting_asks_end_before_an_error", "pull_through.waiting_asks_end_before_an_error"),
    ),
    Property(
        id="F12",
        layer=Layer.FAULT,
        level=Level.MUST,
        sentence="When an inner source fails the outer one is aborted as such; an abort reaches the inner one first.",
        hint="Look at the order in which inner and outer source are closed, and at what the outer one is told.",
        tests=("pull_through.inner_and_outer_are_closed_in_order",),
    ),
)
