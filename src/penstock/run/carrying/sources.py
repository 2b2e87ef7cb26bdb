"""sources: what each source that is made of streams makes of carried elements, or why it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.engine.runs.chain import Chain, inner_chains, with_other_chains
from penstock.operators.checked import Checked
from penstock.operators.concat import Concat
from penstock.operators.delay_subscription import DelaySubscription
from penstock.operators.interleave import Interleave
from penstock.operators.merge import Merge
from penstock.operators.merge_sorted import MergeSorted
from penstock.operators.metrics import Metrics
from penstock.operators.observed import Observed
from penstock.operators.race import Race
from penstock.operators.retry import Retry
from penstock.operators.sample import Sample
from penstock.operators.subscribe_on import SubscribeOn
from penstock.operators.switch_if_empty import SwitchIfEmpty
from penstock.operators.take_until import TakeUntil
from penstock.operators.window import WindowUntil
from penstock.operators.with_context import WithContext
from penstock.operators.zip import Zip
from penstock.run.carrying.functions import OfValue, Positions
from penstock.run.carrying.joints import in_order
from penstock.run.carrying.marks import Carried, finished, joined_tuple
from penstock.run.carrying.parts import Divided, PartExit, PartMarks
from penstock.run.valves.valve import Valved
from penstock.run.walking import Walk, all_of
from penstock.stage import Source, Step

LiftInner = Callable[[Chain], Walk[Chain]]
"""What makes a chain over carried elements of one inside of a source."""
Made = tuple[Source[Any], tuple[Step, ...]]
"""A source of carried elements, and what has to follow it."""
LiftSource = Callable[[Any, LiftInner], Walk[Made]]
"""What makes a source of carried elements of a source."""


def _with_others(source: Source[Any], lift: LiftInner, **changes: object) -> Walk[Source[Any]]:
    """Return a source with the chains inside of it lifted, and further changes."""
    others = iter((yield all_of(map(lift, inner_chains(source)))))
    return with_other_chains(source, lambda _: next(others), **changes)


def _moved(source: Source[Any], lift: LiftInner) -> Walk[Made]:
    return (yield _with_others(source, lift)), ()


def _beside(chain: Chain, lift: LiftInner) -> Walk[Chain]:
    """Return a chain whose elements are signs for another one: each is done when it is given."""
    lifted: Chain = yield lift(chain)
    return lifted.then(Positions(finished))


def _sampled(source: Sample, lift: LiftInner) -> Walk[Made]:
    enter, _, leave = in_order(Positions(Carried))
    stream: Chain = yield lift(source.stream)
    ticks: Chain = yield _beside(source.ticks, lift)
    return replace(source, stream=stream.then(enter), ticks=ticks), (leave,)


def _taken_until(source: TakeUntil, lift: LiftInner) -> Walk[Made]:
    stream: Chain = yield lift(source.stream)
    other: Chain = yield _beside(source.other, lift)
    return replace(source, stream=stream, other=other), ()


def _value(element: Any) -> Any:
    return element


def _sorted(source: MergeSorted, lift: LiftInner) -> Walk[Made]:
    return (yield _with_others(source, lift, key=OfValue(source.key or _value))), ()


def _until(source: WindowUntil, lift: LiftInner) -> Walk[Made]:
    part = PartMarks()
    until: Chain = yield _beside(source.until, lift)
    stream: Chain = yield lift(source.stream)
    made = replace(source, stream=stream, until=until, make=Divided(source.make, part))
    return made, (Positions(Carried), PartExit(part))


def _zipped(source: Zip, lift: LiftInner) -> Walk[Made]:
    return (yield _with_others(source, lift)), (Positions(joined_tuple),)


SOURCES: dict[type[Source[Any]], LiftSource] = {
    Checked: _moved,
    Concat: _moved,
    DelaySubscription: _moved,
    Interleave: _moved,
    Merge: _moved,
    MergeSorted: _sorted,
    Metrics: _moved,
    Observed: _moved,
    Race: _moved,
    Retry: _moved,
    Sample: _sampled,
    SubscribeOn: _moved,
    SwitchIfEmpty: _moved,
    TakeUntil: _taken_until,
    Valved: _moved,
    WindowUntil: _until,
    WithContext: _moved,
    Zip: _zipped,
}
"""What each source that is made of streams makes of carried elements."""

REASONS: dict[str, str] = {
    "cache": "others may read what it keeps after the run has ended; let several sinks take one stream with branch()",
    "combine_latest": "it gives an element again with each of the others; put it behind the run that commits",
    "expand": "what it makes of an element goes back into it; make a list of it in one flat_map",
    "join": "it keeps elements for others that may never come; join on Spark, by keyed_by(...).both(...)",
    "materialize": "a failure would be an element, and so be done; handle it with on_error_resume",
    "partition": "its two streams may be read in different runs; let two sinks take one stream with branch()",
    "publish": "others may read it outside of the run; let several sinks take one stream with branch()",
    "repeat": "a second run of the source would give what is committed; repeat inside of open_from",
    "replay": "others may read what it keeps outside of the run; let several sinks take one stream with branch()",
    "sequence_equal": "it gives one answer for two streams; compare lists of their elements",
    "share": "others may read it outside of the run; let several sinks take one stream with branch()",
    "skip_until": "it may drop as many elements as may be uncommitted before the other stream says a word; "
    "use skip_while",
    "with_latest_from": "it drops elements for which there is no other yet; read the other side in a map",
}
"""Why an operator does not carry positions, and what to do instead."""


__all__ = ["REASONS", "SOURCES"]
