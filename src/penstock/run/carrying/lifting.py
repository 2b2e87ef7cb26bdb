"""lifting: a whole chain over carried elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from penstock.engine.runs.chain import Chain, inner_chains
from penstock.engine.weaving.blame import operator_name
from penstock.errors import PenstockError
from penstock.operators.buffer_timeout import BufferTimeout
from penstock.operators.resumable import Resumable
from penstock.operators.retry import Retry
from penstock.run.branches import Branches, Hole
from penstock.run.carrying.attempts import Attempts
from penstock.run.carrying.cutting import Cut
from penstock.run.carrying.entrance import MarkedSource, SourceRun
from penstock.run.carrying.functions import Positions
from penstock.run.carrying.joints import JOINTS
from penstock.run.carrying.marks import Carried, finished
from penstock.run.carrying.parts import PartExit, PartMarks
from penstock.run.carrying.shares import Shares
from penstock.run.carrying.sources import REASONS, SOURCES
from penstock.run.carrying.stages import is_fold, lifted_stages
from penstock.run.carrying.standstill import Ways, ways_of
from penstock.run.carrying.values import CarriedValues, EnteredValues
from penstock.run.pouring import Pour, PourAsync
from penstock.run.walking import Walk, walked
from penstock.stage import Joint, Source, Stage, Step


class NotCarriedError(PenstockError):
    """The error that positions do not travel through a step, so that it is not known what is done behind it."""


def wants_commits(source: Source[Any]) -> bool:
    """Tell whether a source is to be told what is done."""
    return isinstance(source, Resumable) and (source.commit is not None or source.opens)


class _Inside:
    """What is known of the chains inside of one that is lifted; each of them is looked at once."""

    def __init__(self, marked: Callable[[Source[Any]], bool]) -> None:
        self._marked = marked
        self._carry: dict[int, bool] = {}
        self._share: dict[int, bool] = {}
        self._fold: dict[tuple[int, bool], bool] = {}

    def carries(self, chain: Chain) -> bool:
        """Tell whether elements of a marked source come through a chain."""
        return walked(_found(chain, lambda source: _is_shared(source) or self._marked(source), self._carry))

    def shared(self, chain: Chain) -> bool:
        """Tell whether a chain has elements of a stream that others take, too."""
        return walked(_found(chain, _is_shared, self._share))

    def folds(self, chain: Chain) -> bool:
        """Tell whether what comes into a branch meets a step that gives nothing before the end."""
        return walked(self._folds(chain, last=True))

    def _folds(self, chain: Chain, *, last: bool) -> Walk[bool]:
        known = self._fold.get((id(chain), last))
        if known is not None:
            return known
        source = chain.source
        inner = [(end._chain, True) for end in source.ends] if isinstance(source, Branches) else []
        inner += [(each, False) for each in inner_chains(source) if self.carries(each)]
        found = _folds(chain, last=last)
        for each, at_the_end in () if found else inner:
            if (yield self._folds(each, last=at_the_end)):
                found = True
                break
        self._fold[id(chain), last] = found
        return found


def _found(chain: Chain, is_one: Callable[[Source[Any]], bool], known: dict[int, bool]) -> Walk[bool]:
    """Tell whether a source of a chain, or inside of it, is one that is looked for; it is looked no further then."""
    if id(chain) not in known:
        found = is_one(chain.source)
        for inner in () if found else inner_chains(chain.source):
            if (yield _found(inner, is_one, known)):
                found = True
                break
        known[id(chain)] = found
    return known[id(chain)]


def _is_shared(source: Source[Any]) -> bool:
    return isinstance(source, CarriedValues | Hole)


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a chain that is lifted."""

    inside: _Inside
    part: PartMarks | None = None
    """The innermost of the parts that the chain is in."""
    shares: Shares | None = None
    """Those of the innermost branches that it is in."""
    attempts: Attempts | None = None
    """Those of the outermost stream around it that is opened again when it fails."""
    folds: bool = False
    """Whether a step behind it gives nothing before the end; nothing is done before it then."""


@dataclass(slots=True)
class Lifting:
    """What the chains of one run are lifted by: which sources are marked, and their runs.

    Chains may be nested a thousand deep, so they are lifted by walks, which take no stack.
    """

    marked: Callable[[Source[Any]], bool]
    begin: Callable[[Source[Any], bool], SourceRun]
    """Makes the run of a source; it is told whether anything is done before the end."""
    runs: list[SourceRun] = field(default_factory=list)
    _seen: list[Source[Any]] = field(default_factory=list)
    _fits: bool = True
    """Whether buffers leave room for another element whatever they keep."""
    cuts: list[Cut] = field(default_factory=list)
    """Those of the sinks that tell the source what is done, together with what they write."""
    _sure: bool = False
    """Whether it is known of the source's elements when no other can come."""

    def whole(self, chain: Chain) -> Chain:
        """Return the chain of a run, whose elements are done when they have come to its end."""
        ways = ways_of(chain)
        self._fits = ways.fits
        self._sure = ways.sure
        made = walked(self._end(chain, _Around(_Inside(self.marked))))
        for run in self.runs:
            run.marks.alone = self._sure
        for cut in self.cuts:
            self._refuse_several(ways)
            cut.begin(self.runs[0])
        self.marked = _never  # the streams that functions make in the run have no positions
        self._fits = False
        return made

    def _refuse_several(self, ways: Ways) -> None:
        """Refuse a sink that tells the source what is done where it would not know, or not alone."""
        if len(self.runs) != 1 or ways.several:
            reason = "the run has several sources or ends; give it one of each"
        elif ways.retried:
            reason = "retry opens the source again while elements are under way; run the whole pipeline again instead"
        else:
            return
        raise NotCarriedError(f"run: a sink that tells the source what is done must be alone with it: {reason}")

    def _end(self, chain: Chain, around: _Around) -> Walk[Chain]:
        if isinstance(chain.source, Branches):
            return Chain((yield self._branched(chain.source, around)), chain.steps, chain.places)
        made: Chain = yield self._steps(chain, around, last=True)
        return made.then(Positions(finished))

    def _branched(self, source: Branches, around: _Around) -> Walk[Branches]:
        """Have each element carried by every branch; the stream before waits for the slowest of them."""
        shares = Shares()
        folds = around.folds or any(around.inside.folds(end._chain) for end in source.ends)
        stream: Chain = yield self._steps(source.stream, replace(around, folds=folds), last=False)
        ends: list[Any] = []
        for end in source.ends:
            part = PartMarks()
            made: Chain = yield self._end(end._chain, replace(around, part=part, shares=shares))
            ends.append(replace(end, _chain=made.then(Shares.end(part))))
        return replace(source, stream=stream.then(Positions(shares)), ends=tuple(ends))

    def lifted(self, chain: Chain) -> Chain:
        """Return a chain that a function has made over carried elements; those of one without any carry nothing."""
        source = chain.source
        if not (_is_shared(source) or self.marked(source) or inner_chains(source)):
            return chain.then(Positions(Carried))  # as most are: a function makes one of each element
        return walked(self._arm(chain, _Around(_Inside(self.marked))))

    def _arm(self, chain: Chain, around: _Around) -> Walk[Chain]:
        """Return a chain over carried elements that is one of several, and may end before the others."""
        if not (chain.steps or inner_chains(chain.source)) or not around.inside.shared(chain):
            made: Chain = yield self._alone(chain, around)
            return made
        part = PartMarks(around.part)
        made = yield self._alone(chain, replace(around, part=part))
        return made.then(PartExit(part))

    def _alone(self, chain: Chain, around: _Around) -> Walk[Chain]:
        return self._steps(chain, around, last=False)

    def _steps(self, chain: Chain, around: _Around, *, last: bool) -> Walk[Chain]:
        if not around.inside.carries(chain):
            return chain.then(Positions(Carried))
        folds = around.folds or _folds(chain, last=last)
        source, made = yield self._source(chain.source, replace(around, folds=folds))
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

    def _source(self, source: Source[Any], around: _Around) -> Walk[tuple[Chain, list[Step]]]:
        part = around.part
        if isinstance(source, CarriedValues):
            if part is None:
                return source.carried, []
            branch = getattr(source.carried.source, "branch", None)
            if branch is not None:
                branch.reader = part
            return Chain(EnteredValues(source.carried, tuple(part.from_the_outside()))), []
        if isinstance(source, Hole):
            assert around.shares is not None
            parts = [] if part is None else part.from_the_outside()
            return Chain(source), [around.shares.begin(part), *map(Positions, parts)]
        if self.marked(source):
            if wants_commits(source) and any(source is each or source == each for each in self._seen):
                raise NotCarriedError(
                    f"{operator_name(source)}: this source is in the run twice, and would be told two things; let "
                    "several sinks take one stream with branch(), or make two sources"
                )
            self._seen.append(source)
            run = self.begin(source, not around.folds)
            self.runs.append(run)
            if around.attempts is not None:
                run.marks.on_restart = around.attempts.begin
            return Chain(MarkedSource(run)), []
        if isinstance(source, Retry) and around.attempts is None:
            attempts = Attempts()
            stream: Chain = yield self._alone(source.stream, replace(around, attempts=attempts))
            return Chain(replace(source, stream=stream.then(Positions(attempts)))), []
        lift = SOURCES.get(type(source))
        if lift is None:
            raise _refused(source)
        alone = len(inner_chains(source)) == 1  # it ends with what it is in
        made, steps = yield lift(source, partial(self._alone if alone else self._arm, around=around))
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
