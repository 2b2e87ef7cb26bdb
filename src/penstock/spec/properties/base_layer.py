"""base_layer: the first layer of the pull-stream protocol, values under demand and their end."""

from __future__ import annotations

from typing import Final

from penstock.spec.properties.model import Layer, Property
from penstock.spec.rules.model import Level

BASE_PROPERTIES: Final = (
    Property(
        id="B1",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="Nothing is answered that was not requested before at the same interface.",
        hint="Look for an answer function that is kept and called again when there is something new.",
        tests=("pull_source.answers_only_what_was_asked", "pull_through.answers_only_what_was_asked"),
    ),
    Property(
        id="B2",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="Every request that brings an answer function gets one answer, and not a second one.",
        hint="Look for a path that forgets the answer function, and for one that calls it and then goes on.",
        tests=("pull_source.every_request_is_answered_once", "pull_through.every_request_is_answered_once"),
    ),
    Property(
        id="B3",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="Answers come in the order of their requests; requests without an answer function do not count.",
        hint="Look at how waiting answer functions are kept: first in, first out, and one queue for all kinds.",
        tests=("pull_source.answers_come_in_order", "pull_through.answers_come_in_order"),
    ),
    Property(
        id="B4",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="A producer takes further requests while earlier ones wait, also from inside an answer function.",
        hint="Look for a single slot where a queue is needed, and for a flag that turns away asks that come meanwhile.",
        tests=("pull_source.asks_may_overlap", "pull_through.asks_may_overlap"),
    ),
    Property(
        id="B5",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="Nothing is produced and nothing asked for upstream unless downstream has asked.",
        hint="Look for reading ahead that is not documented, and for work done when a module is made.",
        tests=("pull_source.nothing_is_produced_unasked", "pull_through.nothing_is_asked_unasked"),
    ),
    Property(
        id="B6",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="One ask brings one value or one end, so that N values and their end take N+1 asks.",
        hint="Look at the last value: the end waits for the next ask, and no ask is left out.",
        tests=("pull_source.each_ask_brings_one_value_or_the_end", "pull_through.each_ask_brings_one_value_or_the_end"),
    ),
    Property(
        id="B7",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="After its first end an interface has nothing but ends.",
        hint="Look for state that starts anew when it has run out, and for answers that overtake the end.",
        tests=("pull_source.no_value_after_the_end", "pull_through.no_value_after_the_end"),
    ),
    Property(
        id="B8",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="An ask that comes after the end is answered at once, and with that same end.",
        hint="Look at whether the end is remembered, and at whether an ask can still get stuck behind it.",
        tests=("pull_source.the_end_stays", "pull_through.the_end_stays"),
    ),
    Property(
        id="B9",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="However they are asked for, the values are the same ones in the same order, without gaps.",
        hint="Look for values that are lost, doubled or exchanged when several asks wait at once.",
        tests=("pull_source.values_do_not_depend_on_asking", "pull_through.values_do_not_depend_on_asking"),
    ),
    Property(
        id="B10",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="An end carries no value, and one that is passed along with it is ignored.",
        hint="Look for a value that is read before it is known whether the answer is an end.",
        tests=(
            "pull_source.an_end_carries_no_value",
            "pull_through.an_end_carries_no_value",
            "pull_through.an_end_of_upstream_carries_no_value",
            "pull_sink.an_end_carries_no_value",
        ),
    ),
    Property(
        id="B11",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="Cleaning up happens once, when the stream first ends, for whatever reason.",
        hint="Look for ends that bypass the clean-up, and for a second end that runs it again.",
        tests=("pull_source.cleans_up_once",),
    ),
    Property(
        id="B12",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="Either side may take as long as it likes, and may answer at once now and late the next time.",
        hint="Look for code that expects an answer before its read returns, or only after it.",
        tests=("pull_source.asks_may_be_late", "pull_through.answers_may_be_late", "pull_sink.answers_may_be_late"),
    ),
    Property(
        id="B13",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="However many values are answered at once, dropped or passed, the stack stays bounded.",
        hint="Look for an ask made from inside an answer function where a loop is needed.",
        tests=("pull_source.stack_is_bounded", "pull_through.stack_is_bounded", "pull_sink.stack_is_bounded"),
    ),
    Property(
        id="B14",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="Putting modules together makes modules of the expected kind and requests nothing.",
        hint="Look for a request that is made when a module is given its upstream.",
        tests=("pull_through.wiring_requests_nothing",),
    ),
    Property(
        id="B15",
        layer=Layer.BASE,
        level=Level.MUST,
        sentence="A module that carries state is wired once, and no two modules share any.",
        hint="Look for counters and queues kept outside of what is made for each wiring.",
        tests=(
            "pull_source.two_share_nothing",
            "pull_through.two_wirings_share_nothing",
            "pull_sink.two_wirings_share_nothing",
        ),
    ),
)
