"""standstill: whether a run can come to a point at which every element that may be uncommitted is kept by a step.

A step that keeps elements until others come holds up the source's positions, and those of all elements behind them that
are done already: a sparse filter before `buffer(100)` can fill a window with a single element that is kept. The source
then waits for room, and the step for an element. The marks say when that is so, because steps tell what they keep.

`buffer` runs faster if it does not tell, which it need not where it cannot come to that: where no step before it leaves
anything out, and the lists of lists that are made have no more elements than the window.
"""

from __future__ import annotations

from math import prod
from typing import Any

from penstock.engine.runs.chain import Chain, inner_chains
from penstock.operators.buffer import Buffer
from penstock.operators.checked import Checked
from penstock.operators.concat import Concat
from penstock.operators.delay_subscription import DelaySubscription
from penstock.operators.group_by import GroupBy
from penstock.operators.interleave import Interleave
from penstock.operators.keep_alive import KeepAlive
from penstock.operators.merge import Merge
from penstock.operators.metrics import Metrics
from penstock.operators.observed import Observed
from penstock.operators.retry import Retry
from penstock.operators.subscribe_on import SubscribeOn
from penstock.operators.window import Window, WindowSeconds
from penstock.operators.with_context import WithContext
from penstock.run.branches import Branches, Hole
from penstock.run.carrying.stages import keeps_elements
from penstock.run.valve import Valved
from penstock.stage import Gives, Source, Stage, Step

_OF_ONE = (Branches, Checked, DelaySubscription, Hole, Metrics, Observed, Retry, SubscribeOn, Valved, WithContext)
"""The sources that give the elements of one stream, and end with it."""
_OF_SEVERAL = (Concat, Interleave, Merge)
"""Those that give every element of several."""
_BY_OTHERS = (GroupBy, KeepAlive, Window, WindowSeconds)
"""The steps that give something while no element comes, and those whose streams may be ended by anything."""

Path = list[Source[Any] | Step]
"""What elements come through, from their source to an end."""


def paths(chain: Chain) -> list[Path]:
    """Return the ways of a chain from each of its sources to each of its ends."""
    source = chain.source
    before: list[Path] = [[*path, source] for inner in inner_chains(source) for path in paths(inner)] or [[source]]
    if isinstance(source, Branches):
        before = [[*path, *way] for path in before for end in source.ends for way in paths(end._chain)]
    return [[*path, *chain.steps] for path in before]


def is_sure(ways: list[Path]) -> bool:
    """Tell whether steps that keep elements wait for nothing but elements of one source."""
    first = ways[0][0]
    return all(way[0] is first and all(map(_waits_for_elements, way[1:])) for way in ways)


def _waits_for_elements(part: Source[Any] | Step) -> bool:
    if isinstance(part, Stage):
        return part.body.ends is None  # one that has enough lets go of all the others
    return isinstance(part, _OF_ONE) if isinstance(part, Source) else not isinstance(part, _BY_OTHERS)


def fits(way: Path, window: int) -> bool:
    """Tell whether the steps of a way, if all that keep elements are buffers, always leave room for another element."""
    if isinstance(way[-1], Stage) and way[-1].tallies:
        way = way[:-1]
    keepers = [at for at, part in enumerate(way) if isinstance(part, Stage) and keeps_elements(part)]
    counts = [part.count for part in way if isinstance(part, Buffer) and not part.gap]
    if len(counts) < len(keepers) or prod(counts) > window:
        return False
    return all(_leaves_none_out(part) for part in way[1 : keepers[-1]]) if keepers else True


def _leaves_none_out(part: Source[Any] | Step) -> bool:
    if isinstance(part, Source):
        return isinstance(part, _OF_ONE + _OF_SEVERAL)
    return part.gives is Gives.ONE or (isinstance(part, Buffer) and not part.gap)


__all__ = ["fits", "is_sure", "paths"]
