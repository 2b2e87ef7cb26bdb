"""stages: a stage, whatever its body, over carried elements.

The bodies that run everywhere run here, over the values. What an element becomes has its marks. A stage that keeps
elements does so in its variable `items`, oldest first, and says by `keeps` how many it needs besides: with each thing
it gives go the marks of all that it had by then, and those that it no longer has are done with. A stage that gives
nothing before the end has all of them until then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import Any, ClassVar

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import Items
from penstock.engine.runs.one_result import said_by_steps
from penstock.engine.runs.wiring import pull
from penstock.engine.weaving.blame import describe, place_of
from penstock.engine.weaving.pieces import pieces
from penstock.engine.weaving.segment import STARVED, Segment
from penstock.engine.weaving.weave_push import PushWeaver
from penstock.operators.buffer import Buffer
from penstock.operators.flat_map import FlatMap
from penstock.run.carrying.functions import Flattened, Positions
from penstock.run.carrying.marks import Carried, SourceMark, each_once, joined_list
from penstock.run.pieces.stepping import SteppingRun
from penstock.stage import Body, LoopGate, Results, Sight, Stage

Stages = tuple[Stage[Any, Any], ...]


def is_fold(stage: Stage[Any, Any]) -> bool:
    """Tell whether a stage gives one thing of all elements, at the end or, as `all` does, once it is known."""
    return stage.body.tail is not None and (stage.body.drops_all or stage.results is Results.ONE)


def keeps_elements(stage: Stage[Any, Any]) -> bool:
    """Tell whether a stage keeps elements until others come, or the end."""
    return bool(stage.keeps) or is_fold(stage) or any(name == "items" for name, _ in stage.body.state)


def lifted_stages(
    stages: Stages, first: int, total: int, *, last: bool = False, fits: bool = True, sure: bool = False
) -> list[Stage[Any, Any]]:
    """Return adjacent stages over carried elements.

    Args:
        stages: The stages.
        first: How many steps of the chain come before them.
        total: How many steps there are.
        last: Whether nothing follows in the chain.
        fits: Whether buffers leave room for another element whatever they keep, so that they need not tell.
        sure: Whether the marks know when buffers leave none, so that those need not look for themselves.
    """
    made: list[Stage[Any, Any]] = []
    passing: list[Stage[Any, Any]] = []

    def flush(stop: int) -> None:
        before = first + stop - len(passing)
        for start, end in pieces([stage.body for stage in passing]) if passing else ():  # which fit into one loop each
            made.append(PassingStages(tuple(passing[start:end]), before + start, total))
        passing.clear()

    for at, stage in enumerate(stages):
        body = stage.body
        if isinstance(stage, Buffer) and not stage.gap and fits:
            flush(at)
            made += [stage, Positions(joined_list)]  # faster than what follows, and the same
        elif isinstance(stage, Buffer) and not stage.gap and sure:
            flush(at)
            made.append(HoldingBuffer((stage,), first + at, total))  # faster, too
        elif isinstance(stage, FlatMap):
            flush(at)
            note = f"in {describe(stage)}, step {first + at + 1} of {total}{place_of(stage.fn)}"
            made.append(replace(stage, fn=Flattened(stage.fn, note)))  # the same
        elif last and stage.tallies and at == len(stages) - 1:
            passing.append(stage)  # an element that it drops is one that it has dealt with
        elif body.each is not None or body.head is not None:
            flush(at)
            made.append(ManyStage((stage,), first + at, total))
        elif keeps_elements(stage):
            flush(at)
            made.append(HoldingStage((stage,), first + at, total))
        else:
            passing.append(stage)
    flush(len(stages))
    return made


@dataclass(frozen=True, slots=True)
class CarriedStage(Stage[Any, Any]):
    """Stages over carried elements; see the module."""

    stages: Stages
    first: int
    total: int
    sight: ClassVar[Sight] = Sight.ITEM

    @property
    def results(self) -> Results:  # type: ignore[override]
        """Return whether they come down to one result, as they say."""
        return said_by_steps(self.stages)

    @property
    def cap(self) -> int | None:
        """Return the most elements that they will ever take."""
        caps = [stage.cap for stage in self.stages if stage.cap is not None]
        return min(caps, default=None)

    def demand(self, n: int) -> int:
        """Return how many elements may be asked for when `n` are wanted."""
        for stage in reversed(self.stages):
            n = stage.demand(n)
        return n

    def saw(self, error: Exception) -> None:
        """Let them look at a failure of upstream."""
        for stage in self.stages:
            stage.saw(error)

    @property
    def stands_for(self) -> Stages:
        """Return what it is shown as."""
        return self.stages

    @property
    def segment(self) -> Segment:
        """Return the stages as one segment of their chain."""
        return Segment(self.stages, self.first, self.total)


_ONE_OR_NONE = "v = {push}(v)\nif v is None:\n    if {run}.over: stop\n    skip"
_STATE = (("run", "{begin}()"), ("push", "{run}.push"))


@dataclass(frozen=True, slots=True)
class PassingStages(CarriedStage):
    """Stages that make at most one element of one, and keep none."""

    loop: ClassVar[Body] = Body(_ONE_OR_NONE, state=_STATE, ends="{run}.over", tail="{run}.tails()")

    def begin(self) -> _Passing:
        """Begin a run."""
        return _Passing(self)


class _Passing:
    """One run of such stages."""

    def __init__(self, step: PassingStages) -> None:
        self.over = step.cap == 0
        self._push, self._tails, _ = step.segment.open_pushed(self)  # type: ignore[arg-type]

    def last(self) -> None:
        """Be told by a stage that it takes no more."""
        self.over = True

    def push(self, element: Carried) -> Carried | None:
        """Return what an element becomes, None if it is dropped."""
        made = self._push(element.value)
        if made is STARVED:
            element.done()
            return None
        element.value = made  # no other step has this element, so no other one is made of it
        return element

    def tails(self) -> Iterator[Carried]:
        """Return what follows at the end, which comes of no element."""
        return map(Carried, self._tails(LoopGate()))


class _HeldWeaver(PushWeaver):
    """The writer of a stage as a function of one element, which also tells how many elements the stage keeps."""

    def stands(self) -> str:
        """Return what tells how many elements are kept."""
        return f"lambda: {'len(s0_items)' if any(name == 'items' for name, _ in self.bodies[0].state) else '0'}"


@dataclass(frozen=True, slots=True)
class HoldingStage(CarriedStage):
    """A stage that keeps elements, and makes at most one of each that comes."""

    loop: ClassVar[Body] = Body(_ONE_OR_NONE, state=_STATE, ends="{run}.over", tail="{run}.tails()")

    def begin(self) -> _Holding:
        """Begin a run."""
        return _Holding(self)


@dataclass(frozen=True, slots=True)
class HoldingBuffer(CarriedStage):
    """A stage that makes lists, and tells the marks what waits for the rest of its list."""

    loop: ClassVar[Body] = Body(
        "{items}.append(v)\nif len({items}) < {count}:\n    {keep}(v)\n    skip\nv = {give}({items})\n{items} = []",
        state=(("items", "[]"),),
        lacks="{count} - len({items})",
        tail="({give_rest}({items}),) if {items} else ()",
    )

    @property
    def count(self) -> int:
        """Return how many elements a list has."""
        return self.stages[0].count  # type: ignore[attr-defined, no-any-return]

    def keep(self, element: Carried) -> None:
        """Say that an element waits."""
        for mark in element.marks:
            mark.book.hold(mark, "buffer")

    def give(self, items: list[Carried], waited: int | None = -1) -> Carried:
        """Return a list; its last element, which made it full, has not waited."""
        for element in items[:waited]:
            for mark in element.marks:
                mark.book.unhold(mark)
        return joined_list(items)

    def give_rest(self, items: list[Carried]) -> Carried:
        """Return the list at the end, of which all have waited."""
        return self.give(items, None)


class _Holder:
    """The marks of the elements that a stage has had and is not done with, oldest first."""

    def __init__(self, step: CarriedStage) -> None:
        self._stage = step.stages[0]
        self._had: deque[tuple[SourceMark, ...]] = deque()
        self._all = is_fold(self._stage)
        self._name = describe(self._stage)
        self._coming = False
        """Whether the last of the elements is one that the stage may still make something of."""

    def came(self, element: Carried) -> None:
        """Take an element."""
        self._had.append(element.marks)
        self._coming = True

    def given(self, value: Any) -> Carried:
        """Return something that the stage gives while it has these elements."""
        marks = tuple(dict.fromkeys(chain.from_iterable(self._had)))
        for mark in marks:
            mark.book.keep(mark)
        return Carried(value, marks)

    def given_last(self, value: Any) -> Carried:
        """Return the last thing that the stage gives, which takes all the marks."""
        had, self._had = self._had, deque()
        marks = list(chain.from_iterable(had))
        for mark in marks:
            mark.book.unhold(mark)
        return Carried(value, each_once(marks))

    def let_go(self, kept: float) -> None:
        """Be done with all but the last `kept`."""
        had = self._had
        most = inf if self._all else kept + self._stage.keeps
        while len(had) > most:
            marks = had.popleft()
            if had or not self._coming:
                for mark in marks:
                    mark.book.unhold(mark)
            Carried(None, marks).done()
        if had and self._coming:
            for mark in had[-1]:
                mark.book.hold(mark, self._name)
        self._coming = False

    def let_go_of_all(self) -> None:
        """Be done with everything."""
        self.given_last(None).done()


class _Holding:
    """One run of a stage that keeps elements."""

    def __init__(self, step: HoldingStage) -> None:
        self.over = False
        ((function, where, fields),) = step.segment.prepared("push", None, _HeldWeaver)
        _, self._push, self._tails, self._kept = function(where, self.last, *fields)
        self._holder = _Holder(step)

    def last(self) -> None:
        """Be told by the stage that it takes no more."""
        self.over = True

    def push(self, element: Carried) -> Carried | None:
        """Return what the stage gives when an element has come, None if nothing."""
        holder = self._holder
        holder.came(element)
        made = self._push(element.value)
        given = None if made is STARVED else holder.given(made)
        holder.let_go(self._kept())
        return given

    def tails(self) -> Iterator[Carried]:
        """Return what the stage gives at the end, and be done with what it has."""
        return _at_the_end(self._holder, self._tails(LoopGate()))


def _at_the_end(holder: _Holder, values: Iterable[Any]) -> Iterator[Carried]:
    last: Any = STARVED
    for value in values:
        if last is not STARVED:
            yield holder.given(last)
        last = value
    if last is STARVED:
        holder.let_go_of_all()
    else:  # what is asked for no more is not left with marks
        yield holder.given_last(last)


@dataclass(frozen=True, slots=True)
class ManyStage(CarriedStage):
    """A stage that may make several elements of one, or adds some before the first."""

    loop: ClassVar[Body] = Body(
        head="{run}.head()",
        each="{run}.came(v)",
        state=(("run", "{begin}()"),),
        ends="{run}.over",
        tail="{run}.tails()",
    )

    def begin(self) -> _Many:
        """Begin a run."""
        return _Many(self)


class _Many:
    """One run of such a stage, which runs piece by piece, an element at a time."""

    def __init__(self, step: ManyStage) -> None:
        stage = step.stages[0]
        self._run = SteppingRun((stage,))
        self._run.begin()
        steps = self._run.steps
        self._open: Callable[[tuple[Any, ...]], Iterator[Any]] = lambda piece: _opened(steps, piece)
        self._holder = _Holder(step)

    @property
    def over(self) -> bool:
        """Tell whether the stage takes no more."""
        return self._run.ended

    def head(self) -> Iterator[Carried]:
        """Return what comes before the first element."""
        return map(Carried, self._open(()))

    def came(self, element: Carried) -> Iterator[Carried]:
        """Return what the stage gives when an element has come."""
        holder = self._holder
        holder.came(element)
        for value in self._open((element.value,)):
            yield holder.given(value)
        holder.let_go(self._run.held)

    def tails(self) -> Iterator[Carried]:
        """Return what the stage gives at the end, and be done with what it has."""
        self._run.ending = True
        return _at_the_end(self._holder, self._open(()))


def _opened(steps: tuple[Any, ...], piece: tuple[Any, ...]) -> Iterator[Any]:
    opener = pull(Chain(Items(piece), steps))
    assert opener is not None
    return opener(None)


__all__ = ["CarriedStage", "is_fold", "keeps_elements", "lifted_stages"]
