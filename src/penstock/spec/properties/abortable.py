"""abortable: the second layer of the pull-stream protocol, ending a stream before its end."""

from __future__ import annotations

from typing import Final

from penstock.spec.properties.model import Layer, Property
from penstock.spec.rules.model import Level

ABORTABLE_PROPERTIES: Final = (
    Property(
        id="A1",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="An abort may come at any time: first of all, between asks, while asks wait, and after the end.",
        hint="Look at what an abort finds when nothing was opened yet, and when nothing is open any more.",
        tests=("pull_source.abort_may_come_at_any_time", "pull_through.abort_may_come_at_any_time"),
    ),
    Property(
        id="A2",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="An abort is answered with an end, never with a value.",
        hint="Look for a path on which a request is answered before it is looked at.",
        tests=("pull_source.abort_is_answered_with_an_end", "pull_through.abort_is_answered_with_an_end"),
    ),
    Property(
        id="A3",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="An abort without an answer function ends the stream just as well, and nothing is raised.",
        hint="Look for an answer function that is called without asking whether there is one.",
        tests=("pull_source.abort_needs_no_answer_function", "pull_through.abort_needs_no_answer_function"),
    ),
    Property(
        id="A4",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="Asks that wait when an abort comes are ended, in order and before it, without waiting for a value.",
        hint="Look for an abort that overtakes the queue, and for one that waits until upstream has a value.",
        tests=("pull_source.waiting_asks_end_before_the_abort", "pull_through.waiting_asks_end_before_the_abort"),
    ),
    Property(
        id="A5",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="After an abort, asks and aborts are answered with an end and indications are ignored.",
        hint="Look at whether an abort is remembered, or only answered.",
        tests=("pull_source.an_abort_stays", "pull_through.an_abort_stays"),
    ),
    Property(
        id="A6",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="An abort that comes after the end changes nothing and is answered with the end there was.",
        hint="Look for an abort that is passed on or waited for although there is nothing left to abort.",
        tests=(
            "pull_source.abort_after_the_end_changes_nothing",
            "pull_through.abort_after_the_end_changes_nothing",
        ),
    ),
    Property(
        id="A7",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="A through passes an abort on at once and only once, and answers it when upstream has confirmed it.",
        hint="Look for an abort that waits behind asks, is sent again, or is answered before upstream has answered.",
        tests=("pull_through.abort_goes_up_once", "pull_sink.aborts_once"),
    ),
    Property(
        id="A8",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="A through that stops by itself aborts upstream and ends downstream when that is confirmed.",
        hint="Look at what becomes of upstream when the through has had enough, and at the order of the two.",
        tests=("pull_through.stopping_aborts_upstream",),
    ),
    Property(
        id="A9",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="A consumer asks for nothing once it has aborted or has seen an end.",
        hint="Look for a loop that asks again before it has looked at the end.",
        tests=("pull_through.no_ask_after_the_end", "pull_sink.no_ask_after_the_end"),
    ),
    Property(
        id="A10",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="What is still held when an abort comes is dropped, not delivered.",
        hint="Look for a buffer that is emptied before the end is looked at.",
        tests=("pull_through.abort_drops_what_is_held",),
    ),
    Property(
        id="A11",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="Work of its own does not keep a through from aborting upstream at once; it is cancelled or awaited.",
        hint="Look for an abort that waits for a result before it is passed on.",
        tests=("pull_through.work_does_not_hold_up_an_abort",),
    ),
    Property(
        id="A12",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="Whoever wants to be told of the end is told once: None if it was a good one, else the error.",
        hint="Look for an end, an abort or a failure that does not reach the hook, or reaches it again.",
        tests=("pull_through.hook_is_told_once",),
    ),
    Property(
        id="A13",
        layer=Layer.ABORTABLE,
        level=Level.MUST,
        sentence="A module with several inputs aborts each that has not ended, once, and answers after the last.",
        hint="Look for inputs that are left open, and for an answer given when only some have confirmed.",
        tests=("pull_source.abort_reaches_every_input",),
    ),
)
