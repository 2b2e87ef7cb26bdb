"""lifting: a whole chain over carried elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from penstock.engine.doors.pouring import Pour, PourAsync
from penstock.engine.runs.chain import Chain, inner_chains
from penstock.engine.weaving.blame import operator_name
from penstock.errors import PenstockError
from penstock.operators.buffer_timeout import BufferTimeout
from penstock.operators.resumable import Resumable
from penstock.operators.retry import Retry
from penstock.run.branches import Branches, Hole
from penstock.run.carrying.cutting import Cut
from penstock.run.carrying.entrance import MarkedSource, SourceRun
from penstock.run.carrying.joints import JOINTS
from penstock.run.carrying.marks import Carried, Positions, finished
from penstock.run.carrying.parts import PartExit, PartMarks
from penstock.run.carrying.shares import Shares
from penstock.run.carrying.sources import REASONS, SOURCES
from penstock.run.carrying.stages import is_fold, lifted_stages
from penstock.run.carrying.standstill import fits, is_sure, paths
from penstock.run.carrying.values import CarriedValues, EnteredValues
from penstock.stage import Joint, Source, Stage, Step

Parts = tuple[PartMarks, ...]
"""The parts that a chain is in, the outermost first."""


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
    """Whether a step behind the chain that is lifted gives nothing before the end; nothing is done before it then."""
    _fits: bool = True
    """Whether buffers leave room for another element whatever they keep."""
    cuts: list[Cut] = field(default_factory=list)
    """Those of the sinks that tell the source what is done, together with what they write."""
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
        ways = paths(chain)
        self._fits = all(fits(way, way[0].window) for way in ways if isinstance(way[0], Resumable))
        self._sure = is_sure(ways)
        made = self._end(chain)
        for run in self.runs:
            run.marks.alone = self._sure
        for cut in self.cuts:
            self._refuse_several(ways)
            cut.begin(self.runs[0])
        self.marked = _never  # the streams that functions make in the run have no positions
        self._fits = False
        return made

    def _refuse_several(self, ways: list[list[Any]]) -> None:
        """Refuse a sink that tells the source what is done where it would not know, or not alone."""
        parts = [part for way in ways for part in way]
        if len(self.runs) != 1 or len(ways) != 1:
            reason = "the run has several sources or ends; give it one of each"
        elif any(isinstance(part, Retry) for part in parts):
            reason = "retry opens the source again while elements are under way; run the whole pipeline again instead"
        else:
            return
        raise NotCarriedError(f"run: a sink that tells the source what is done must be alone with it: {reason}")

    def _branched(self, source: Branches, within: Parts) -> Branches:
        """Have each element carried by every branch; the stream before waits for the slowest of them."""
        ends = source.ends
        shares = Shares()
        before = self._folds
        self._folds = before or any(self._folds_inside(end._chain, last=True) for end in ends)
        stream = self._steps(source.stream, within, last=False).then(Positions(shares))
        self._folds = before
        self._shares.append(shares)
        lifted = tuple([replace(end, _chain=self._branch(end._chain)) for end in ends])
        self._shares.pop()
        return replace(source, stream=stream, ends=lifted)

    def _folds_inside(self, chain: Chain, *, last: bool) -> bool:
        """Tell whether what comes into a branch meets a step that gives nothing before the end."""
        source = chain.source
        if _folds(chain, last=last):
            return True
        if isinstance(source, Branches) and any(self._folds_inside(end._chain, last=True) for end in source.ends):
            return True
        inner = [each for each in inner_chains(source) if self.carries(each)]
        return any(self._folds_inside(each, last=False) for each in inner)

    def _branch(self, chain: Chain) -> Chain:
        part = PartMarks()
        return self._end(chain, (part,)).then(Shares.end(part))

    def _end(self, chain: Chain, within: Parts = ()) -> Chain:
        if isinstance(chain.source, Branches):
            return Chain(self._branched(chain.source, within), chain.steps, chain.places)
        return self._steps(chain, within, last=True).then(Positions(finished))

    def lifted(self, chain: Chain, within: Parts = ()) -> Chain:
        """Return a chain over carried elements; those of a chain without a marked source carry nothing.

        It is one of several, or one that a function has made, and may end before the others.
        """
        if not (chain.steps or inner_chains(chain.source)) or not _shared(chain):
            return self._steps(chain, within, last=False)
        part = PartMarks()
        for outer in within[-1:]:
            outer.on_end.append(part.end)
        return self._steps(chain, (*within, part), last=False).then(PartExit(part))

    def _alone(self, chain: Chain, within: Parts) -> Chain:
        return self._steps(chain, within, last=False)

    def _steps(self, chain: Chain, within: Parts, *, last: bool) -> Chain:
        if not self.carries(chain):
            return chain.then(Positions(Carried))
        before = self._folds
        self._folds = folds = before or _folds(chain, last=last)
        source, made = self._source(chain.source, within)
        self._folds = before
        exits = _exits(made)
        steps = chain.steps
        at = 0
        while at < len(steps):
            step = steps[at]
            if isinstance(step, BufferTimeout) and any(map(_tells, steps[at + 1 : at + 2])):
                made.extend((*exits, step))  # the elements of a batch keep their marks apart
                exits = []
                at += 1
                continue
            if isinstance(step, Joint):
                made.extend((*exits, *self._joint(step)))
                exits = _exits(made)
                at += 1
                continue
            stop = next((n for n in range(at, len(steps)) if isinstance(steps[n], Joint)), len(steps))
            stages: Any = steps[at:stop]
            end, fit = last and stop == len(steps), self._fits or folds
            made.extend(lifted_stages(stages, at, len(steps), last=end, fits=fit, sure=self._sure))
            made.extend(exits)
            exits = []
            at = stop
        return Chain(source.source, (*source.steps, *made, *exits))

    def _source(self, source: Source[Any], within: Parts) -> tuple[Chain, list[Step]]:
        if isinstance(source, CarriedValues):
            if not within:
                return source.carried, []
            branch = getattr(source.carried.source, "branch", None)
            if branch is not None:
                branch.reader = within[-1]
            return Chain(EnteredValues(source.carried, within)), []
        if isinstance(source, Hole):
            return Chain(source), [self._shares[-1].begin(within), *map(Positions, within)]
        if self.marked(source):
            if wants_commits(source) and any(source is each or source == each for each in self._seen):
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
        alone = len(inner_chains(source)) == 1  # it ends with what it is in
        made, steps = lift(source, partial(self._alone if alone else self.lifted, within=within))
        return Chain(made), list(steps)

    def _joint(self, step: Joint[Any, Any]) -> tuple[Step, ...]:
        if isinstance(step, PourAsync) and _tells(step):
            cut = Cut()
            self.cuts.append(cut)
            make: Any = step.make
            return (replace(step, make=partial(make.telling, cut)), Positions(Carried))
        lift = JOINTS.get(type(step))
        if lift is None:
            raise _refused(step)
        return lift(step, self.lifted)


def _tells(step: Step) -> bool:
    """Tell whether a step is a sink that tells the source what is done."""
    return isinstance(step, PourAsync) and bool(getattr(step.make, "tells", False))


def _exits(made: list[Step]) -> list[Step]:
    """Take off the exit of a stream of streams, which stands behind the stages that follow: one of them may end it."""
    return [made.pop()] if made and isinstance(made[-1], PartExit) else []


def _shared(chain: Chain) -> bool:
    """Tell whether a chain has elements of a stream that others take, too."""
    source = chain.source
    return isinstance(source, CarriedValues | Hole) or any(map(_shared, inner_chains(source)))


def _never(_: Source[Any]) -> bool:
    return False


def _folds(chain: Chain, *, last: bool) -> bool:
    """Tell whether a step of a chain gives nothing before the end, so that nothing is done before it either."""
    final = len(chain.steps) - 1
    return any(_folds_step(step, last=last and at == final) for at, step in enumerate(chain.steps))


def _folds_step(step: Step, *, last: bool) -> bool:
    if isinstance(step, Pour):
        return bool(getattr(step.make, "holds", False))
    return isinstance(step, Stage) and is_fold(step) and not (step.tallies and last)


def _refused(step: Step | Source[Any]) -> NotCarriedError:
    name = operator_name(step)
    reason = REASONS.get(name, "it does not say which elements it is done with; put it before the source's positions")
    return NotCarriedError(f"{name}: positions do not travel through it, so that the source cannot be told: {reason}")


__all__ = ["Lifting", "NotCarriedError", "wants_commits"]
