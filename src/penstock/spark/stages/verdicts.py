"""verdicts: how each operator runs inside the executors, or why not; refusals and the table of the docs both ask here.

Nothing here knows an operator by name: the kind of a step, its sight and what ties it to a whole run decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from penstock.engine.runs.chain import Chain, from_the_inside, inner_chains
from penstock.flow import Hole
from penstock.run.pieces.stepping import is_woken
from penstock.stage import Joint, Sight, Source, Stage, Step, Tie


class Extent(Enum):
    """Which elements a Flow is let see together."""

    ALONE = "alone"
    PARTITION = "per partition"
    KEY = "per key"
    KEY_STREAM = "per key, on a stream"


PER_KEY_OR_PART = 'say what it may see with per_partition(flow) or keyed_by(flow, "key")'
_PART = "and an executor has only a part of it"
_EACH = "give each element its own, as in concat_map(lambda one: Stream.just(one).map(fn).{name}(...))"

_ALONE: dict[Tie, tuple[str, str]] = {
    Tie.ORDER: (f"sees the whole stream, {_PART}", PER_KEY_OR_PART),
    Tie.FAILURE: (f"ends the whole stream in place of a failure, {_PART}", f"{_EACH}, or {PER_KEY_OR_PART}"),
    Tie.RUN: ("sees a run begin and end, and there is one for each part", PER_KEY_OR_PART),
    Tie.TIME: (f"sees when the elements of the whole stream come, {_PART}", f"{_EACH}, or {PER_KEY_OR_PART}"),
    Tie.DEMAND: (f"sees the demand for the whole stream, {_PART}", PER_KEY_OR_PART),
    Tie.INPUTS: (f"puts the whole stream together with others, {_PART}", f"join DataFrames, or {PER_KEY_OR_PART}"),
    Tie.STREAMS: (f"divides the whole stream, {_PART}", PER_KEY_OR_PART),
    Tie.PLACE: (
        "says where the whole stream is subscribed, which Spark decides",
        f"leave it out, or {PER_KEY_OR_PART}",
    ),
}
"""Why a Flow that has no scope cannot have such a step, and what can be done."""
_NEVER: dict[Tie, tuple[str, str]] = {
    Tie.AGAIN: ("subscribes again, and the rows of a part can be read only once", _EACH),
    Tie.SHARED: ("keeps one run for all its subscribers, and there is one for each part", "leave it out"),
    Tie.BOOKS: (
        "keeps its books in the process that it runs in, which is an executor's there",
        "put it before or behind Spark, or look at the progress of the run",
    ),
    Tie.START: ("begins a stream, and the rows of a DataFrame come from it", "make a DataFrame of it with spark.frame"),
}
BETWEEN = "cannot go on from one micro-batch to the next"
_WINDOWS = "use a window of Spark's own in a step of the DataFrame"
NO_VALUE: dict[Tie, tuple[str, str]] = {
    Tie.ORDER: ("what it remembers is not a value that Spark could keep", "write it as a Stage, or use stateful_map"),
    Tie.RUN: ("each micro-batch would be a run", "leave it out"),
    Tie.TIME: (
        "what it waits for would be lost between them",
        "put it before or behind Spark",
    ),
    Tie.DEMAND: ("Spark asks for all rows of a micro-batch at once", "leave it out"),
    Tie.INPUTS: (
        "its other inputs would begin anew with each",
        (
            "join DataFrames, or make one of both with both(left, right) and use pair_with_latest, pair_latest or"
            " pair_within"
        ),
    ),
    Tie.STREAMS: (
        "the streams that it gives would be cut off at its end",
        f"divide it by window(count), window(seconds=...), window(gap=...) or group_by, or {_WINDOWS}",
    ),
    Tie.PLACE: ("Spark decides where the rows of a key are", "leave it out"),
}
"""Why what such a step remembers cannot go on from one micro-batch to the next, and what can be done."""


def refusal(step: Step | Source[Any], extent: Extent, name: str = "it") -> tuple[str, str] | None:
    """Return why a step cannot run, and what can be done about it; None if it can.

    Without a scope the answer is the same for batches and for streams; a scope of partitions is, on a stream, one of
    the partitions of a micro-batch.
    """
    tie = step.tie
    if not isinstance(step, Source) and step.sight is Sight.ITEM:
        return None
    if extent is not Extent.ALONE and (isinstance(step, Stage) or tie is Tie.FAILURE or is_woken(step)):
        return None
    if extent is Extent.KEY_STREAM and gives_streams(step):
        return None
    if tie in _NEVER:
        why, cure = _NEVER[tie]
    elif extent is Extent.ALONE:
        why, cure = _ALONE[tie]
    elif extent is Extent.KEY_STREAM:
        why, cure = NO_VALUE[tie]
        why = f"{BETWEEN}: {why}"
    else:
        return None
    return why, cure.format(name=name)


def manner(step: Step | Source[Any], extent: Extent) -> str:
    """Say how a step runs that is not refused."""
    if extent is not Extent.KEY_STREAM:
        return "stage"
    if gives_streams(step):
        return "parted"
    return "timer" if is_woken(step) else "state" if may_keep(step) else "stage"


def gives_streams(step: Step | Source[Any]) -> bool:
    """Tell whether a step divides a stream into others that can go on from one micro-batch to the next."""
    return isinstance(step, Joint) and step.divides is not None


def may_keep(step: Step | Source[Any]) -> bool:
    """Tell whether a step of this class may have something to remember."""
    if not isinstance(step, Stage):
        return step.tie is Tie.FAILURE
    bodies = (*step.loops, step.loop) if hasattr(step, "loop") else step.loops
    return any(body.state or body.head or body.tail or body.ends for body in bodies)


def in_line(chain: Chain) -> tuple[Source[Any], tuple[Step | Source[Any], ...]]:
    """Return where the rows come from, and what follows as steps, also a source that treats its stream as they do."""
    source, steps = chain.source, tuple[Step | Source[Any], ...](chain.steps)
    while is_woken(source):
        inner: Chain = source.stream  # type: ignore[attr-defined]
        source, steps = inner.source, (*inner.steps, source, *steps)
    return source, steps


def line_of(chain: Chain) -> Iterator[tuple[Step | Source[Any], int, int]]:
    """Return the sources and steps that the rows pass, from the first on; a step with its number, and how many."""
    read: dict[int, bool] = {}
    for each in from_the_inside(chain, inner_chains):
        inner = inner_chains(each.source)
        read[id(each)] = isinstance(each.source, Hole) or any(read[id(one)] for one in inner)
    waiting, chains = [chain], list[Chain]()
    while waiting:
        at = waiting.pop()
        chains.append(at)
        waiting.extend(inner for inner in inner_chains(at.source) if read[id(inner)])
    for at in reversed(chains):
        if not isinstance(at.source, Hole):
            yield at.source, 0, len(at.steps)
        for number, step in enumerate(at.steps, 1):
            yield step, number, len(at.steps)


def has_hole(chain: Chain) -> bool:
    """Tell whether a chain reads the stream that it is to be given."""
    waiting = [chain]
    while waiting:
        source = waiting.pop().source
        if isinstance(source, Hole):
            return True
        waiting.extend(inner_chains(source))
    return False


__all__ = [
    "BETWEEN", "NO_VALUE", "PER_KEY_OR_PART", "Extent", "gives_streams", "has_hole", "in_line", "line_of", "manner",
    "refusal",
]  # fmt: skip
