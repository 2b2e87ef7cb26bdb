"""lifting: a whole chain over carried elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.engine.doors.pouring import Pour
from penstock.engine.runs.chain import Chain, inner_chains
from penstock.engine.weaving.blame import operator_name
from penstock.errors import PenstockError
from penstock.operators.resumable import Resumable
from penstock.run.branches import Branches, Hole
from penstock.run.carrying.entrance import MarkedSource, SourceRun
from penstock.run.carrying.joints import JOINTS
from penstock.run.carrying.marks import Carried, Positions, finished
from penstock.run.carrying.shares import Shares
from penstock.run.carrying.sources import REASONS, SOURCES
from penstock.run.carrying.stages import is_fold, lifted_stages
from penstock.run.carrying.standstill import fits, is_sure, paths
from penstock.run.carrying.values import CarriedValues
from penstock.stage import Joint, Source, Stage, Step


class NotCarriedError(PenstockError):
    """The error that positions do not travel through a step, so that it is not known what is done behind it."""


def wants_commits(source: Source[Any]) -> bool:
    """Tell whether a source is to be told what is done."""
    return isinstance(source, Resumable) and (source.commit is not None or source.opens)


@dataclass(slots=True)
class Lifting:
    """What the chains of one run are lifted by: which sources are marked, and their runs."""

    marked: Callable[[Source[Any]], bool]
    begin: Callable[[Source[Any], bool], SourceRun]
    """Makes the run of a source; it is told whether anything is done before the end."""
    runs: list[SourceRun] = field(default_factory=list)
    _seen: list[Source[Any]] = field(default_factory=list)
    _shares: list[Shares] = field(default_factory=list)
    """Those of the branches around a chain, the innermost last."""
    _folds: bool = False
    _fits: bool = True
    """Whether buffers leave room for another element whatever they keep."""
    _sure: bool = False
    """Whether it is known of the source's elements when no other can come."""

    def carries(self, chain: Chain) -> bool:
        """Tell whether elements of a marked source come through a chain."""
        source = chain.source
        if isinstance(source, CarriedValues | Hole) or self.marked(source):
            return True
        return any(self.carries(inner) for inner in inner_chains(source))

    def whole(self, chain: Chain) -> Chain:
        """Return the chain of a run, whose elements are done when they have come to its end."""
        self._folds = _folds(chain)
        ways = paths(chain)
        self._fits = all(fits(way, way[0].window) for way in ways if isinstance(way[0], Resumable))
        self._sure = is_sure(ways)
        made = self._end(chain)
        for run in self.runs:
            run.marks.alone = self._sure
        self.marked = _never  # the streams that functions make in the run have no positions
        self._fits = False
        return made

    def _branched(self, source: Branches) -> Branches:
        """Have each element carried by every branch; the stream before waits for the slowest of them."""
        ends = source.ends
        self._folds = any(_folds(end._chain) for end in ends)
        shares = Shares()
        stream = self.lifted(source.stream).then(Positions(shares))
        self._shares.append(shares)
        lifted = tuple([replace(end, _chain=self._branch(end._chain)) for end in ends])
        self._shares.pop()
        return replace(source, stream=stream, ends=lifted)

    def _branch(self, chain: Chain) -> Chain:
        shares = self._shares[-1]
        first = len(shares)
        return self._end(chain).then(shares.end(first))

    def _end(self, chain: Chain) -> Chain:
        if isinstance(chain.source, Branches):
            return Chain(self._branched(chain.source), chain.steps, chain.places)
        return self._steps(chain, last=True).then(Positions(finished))

    def lifted(self, chain: Chain) -> Chain:
        """Return a chain over carried elements; those of a chain without a marked source carry nothing."""
        return self._steps(chain, last=False)

    def _steps(self, chain: Chain, *, last: bool) -> Chain:
        if not self.carries(chain):
            return chain.then(Positions(Carried))
        source, made = self._source(chain.source)
        steps = chain.steps
        at = 0
        while at < len(steps):
            step = steps[at]
            if isinstance(step, Joint):
                made.extend(self._joint(step))
                at += 1
                continue
            stop = next((n for n in range(at, len(steps)) if isinstance(steps[n], Joint)), len(steps))
            stages: Any = steps[at:stop]
            end, fit = last and stop == len(steps), self._fits or self._folds
            made.extend(lifted_stages(stages, at, len(steps), last=end, fits=fit, sure=self._sure))
            at = stop
        return Chain(source.source, (*source.steps, *made))

    def _source(self, source: Source[Any]) -> tuple[Chain, list[Step]]:
        if isinstance(source, CarriedValues):
            return source.carried, []
        if isinstance(source, Hole):
            return Chain(source), [self._shares[-1].begin()]
        if self.marked(source):
            if any(source is each or source == each for each in self._seen):
                raise NotCarriedError(
                    f"{operator_name(source)}: this source is in the run twice, and would be told two things; let "
                    "several sinks take one stream with branch(), or make two sources"
                )
            self._seen.append(source)
            run = self.begin(source, not self._folds)
            self.runs.append(run)
            return Chain(MarkedSource(run)), []
        lift = SOURCES.get(type(source))
        if lift is None:
            raise _refused(source)
        made, steps = lift(source, self.lifted)
        return Chain(made), list(steps)

    def _joint(self, step: Joint[Any, Any]) -> tuple[Step, ...]:
        lift = JOINTS.get(type(step))
        if lift is None:
            raise _refused(step)
        return lift(step, self.lifted)


def _never(_: Source[Any]) -> bool:
    return False


def _folds(chain: Chain) -> bool:
    """Tell whether a step of a chain gives nothing before the end, so that nothing is done before it either."""
    last = len(chain.steps) - 1
    return any(_folds_step(step, last=at == last) for at, step in enumerate(chain.steps))


def _folds_step(step: Step, *, last: bool) -> bool:
    if isinstance(step, Pour):
        return bool(getattr(step.make, "holds", False))
    return isinstance(step, Stage) and is_fold(step) and not (step.tallies and last)


def _refused(step: Step | Source[Any]) -> NotCarriedError:
    name = operator_name(step)
    reason = REASONS.get(name, "it does not say which elements it is done with; put it before the source's positions")
    return NotCarriedError(f"{name}: positions do not travel through it, so that the source cannot be told: {reason}")


__all__ = ["Lifting", "NotCarriedError", "wants_commits"]
