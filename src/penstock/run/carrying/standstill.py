"""standstill: whether a run can come to a point at which every element that may be uncommitted is kept by a step.

A step that keeps elements until others come holds up the source's positions, and those of all elements behind them that
are done already: a sparse filter before `buffer(100)` can fill a window with a single element that is kept. The source
then waits for room, and the step for an element. The marks say when that is so, because steps tell what they keep.

`buffer` runs faster if it does not tell, which it need not where it cannot come to that: where no step before it leaves
anything out, and the lists of lists that are made have no more elements than the window.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
from penstock.operators.resumable import Resumable
from penstock.operators.retry import Retry
from penstock.operators.subscribe_on import SubscribeOn
from penstock.operators.window import Window, WindowSeconds
from penstock.operators.with_context import WithContext
from penstock.run.branches import Branches, Hole
from penstock.run.carrying.stages import keeps_elements
from penstock.run.valves.valve import Valved
from penstock.run.walking import Walk, all_of, walked
from penstock.stage import Gives, Source, Stage, Step

_OF_ONE = (Branches, Checked, DelaySubscription, Hole, Metrics, Observed, Retry, SubscribeOn, Valved, WithContext)
"""The sources that give the elements of one stream, and end with it."""
_OF_SEVERAL = (Concat, Interleave, Merge)
"""Those that give every element of several."""
_BY_OTHERS = (GroupBy, KeepAlive, Window, WindowSeconds)
"""The steps that give something while no element comes, and those whose streams may be ended by anything."""


@dataclass(slots=True)
class Ways:
    """What is known of the ways that elements take, from each of the sources of a run to each of its ends."""

    sources: list[Source[Any]] = field(default_factory=list)
    """Where they begin."""
    branched: bool = False
    """Whether the run has several ends."""
    retried: bool = False
    """Whether a source is opened again when something behind it fails."""
    sure: bool = True
    """Whether steps that keep elements wait for nothing but elements of one source."""
    fits: bool = True
    """Whether steps that keep elements are buffers that always leave room for another one."""

    @property
    def several(self) -> bool:
        """Tell whether there are several ways."""
        return self.branched or len(self.sources) > 1

    def see(self, part: Source[Any] | Step) -> None:
        """Take note of a source or a step that elements come through."""
        self.retried = self.retried or isinstance(part, Retry)
        self.sure = self.sure and _waits_for_elements(part)

    def begin(self, source: Source[Any], behind: _Behind) -> None:
        """Take note of a source that elements come from, and of what they come to."""
        self.sources.append(source)
        self.sure = self.sure and source is self.sources[0]
        if isinstance(source, Resumable):
            self.fits = self.fits and behind.fits and behind.kept <= source.window


def ways_of(chain: Chain) -> Ways:
    """Look at the ways of a chain, from its ends to its sources."""
    ways = Ways()
    walked(_looked_at(chain, _Behind(), ways, branch=False))
    return ways


@dataclass(frozen=True, slots=True)
class _Behind:
    """What stands behind a place on all ways from there."""

    kept: int = 1
    """How many elements of there the lists of lists have at most that buffers make."""
    keeps: bool = False
    """Whether there is a step that keeps elements."""
    fits: bool = True
    """Whether all such steps are buffers, and nothing between here and the last of them leaves elements out."""
    end: bool = True
    """Whether there is nothing."""

    def before(self, part: Source[Any] | Step) -> _Behind:
        """Return what stands behind a place before a source or a step."""
        tallies = self.end and isinstance(part, Stage) and part.tallies
        if not tallies and isinstance(part, Stage) and keeps_elements(part):
            if isinstance(part, Buffer) and not part.gap:
                return _Behind(self.kept * part.count, True, self.fits, False)
            return _Behind(self.kept, True, False, False)
        leaves_out = not tallies and self.keeps and not _leaves_none_out(part)
        return _Behind(self.kept, self.keeps, self.fits and not leaves_out, False)


def _behind_all(several: list[_Behind]) -> _Behind:
    return _Behind(
        max(each.kept for each in several),
        any(each.keeps for each in several),
        all(each.fits for each in several),
        all(each.end for each in several),
    )


def _looked_at(chain: Chain, behind: _Behind, ways: Ways, *, branch: bool) -> Walk[_Behind]:
    """Look at a chain, and return what stands behind its sources; those of a branch are where it begins."""
    for step in reversed(chain.steps):
        ways.see(step)
        behind = behind.before(step)
    source = chain.source
    if isinstance(source, Branches):
        ways.branched = True
        after = behind
        behind = _behind_all((yield all_of(_looked_at(end._chain, after, ways, branch=True) for end in source.ends)))
    inner = inner_chains(source)
    if not inner and not branch:
        ways.begin(source, behind)
        return behind
    ways.see(source)
    behind = behind.before(source)
    several = yield all_of(_looked_at(each, behind, ways, branch=branch) for each in inner)
    return _behind_all(several) if several else behind


def _waits_for_elements(part: Source[Any] | Step) -> bool:
    if isinstance(part, Stage):
        return part.body.ends is None  # one that has enough lets go of all the others
    return isinstance(part, _OF_ONE) if isinstance(part, Source) else not isinstance(part, _BY_OTHERS)


def _leaves_none_out(part: Source[Any] | Step) -> bool:
    if isinstance(part, Source):
        return isinstance(part, _OF_ONE + _OF_SEVERAL)
    return part.gives is Gives.ONE or (isinstance(part, Buffer) and not part.gap)


__all__ = ["Ways", "ways_of"]
