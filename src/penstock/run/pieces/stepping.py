"""stepping: run a chain piece by piece, its state a value in between.

The variables of a body are locals of the woven loop, and gone when the loop is left. Here the same text is woven with
the variables in a cell: `{left} -= 1` becomes `{cell}.left -= 1`. Whatever form the loop has, what is in the cells when
a piece of the input is used up can be taken out, kept anywhere, and put back before the next piece. For `take(2)`:

    if not (c0_cell.left == 0):          # a chain that has ended takes nothing more
        for v in source:
            c0_cell.left -= 1
            ...

What a body adds before the first element comes with the first piece alone, and what it adds behind the last when there
is nothing more to come: because a step before it has ended, or because `ending` says so. A joint that ends the stream
in place of a failure is watched through its `when`: where it has caught an error, the stream has ended.

A joint that time wakes has a rule (`stage/waiting.py`) whose variables are values as well. It runs as a stage: what is
due comes before the first element of a piece, and what it holds behind the last, when nothing more is to come. `due`
says when the run is to be woken, with a piece that has no elements, and `now` what time it is then. Where a rule
lingers, as that of `delay` does, the end waits in it: what stands behind has not ended before, and which steps have
had their end is kept with the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from math import inf
from types import SimpleNamespace
from typing import Any, ClassVar

from penstock.engine.weaving.blame import blamed, callable_of, describe, function_name, operator_name
from penstock.engine.weaving.handled_errors import When
from penstock.engine.words.arguments import code_of
from penstock.run.pieces.stepping_body import SteppingBody, stepping_body
from penstock.stage import Body, Source, Stage, Step, Tie, Waiting


class _Watch:
    """What a joint asks which errors it is to catch, and that remembers whether it has caught one."""

    def __init__(self, when: When | None, cell: SimpleNamespace) -> None:
        self._when = when
        self._cell = cell
        self.__qualname__ = function_name(when)  # for errors to say, should the function raise
        code = code_of(when)
        if code is not None:
            self.__code__ = code

    def __call__(self, error: Exception) -> bool:
        """Tell whether an error is meant."""
        when = self._when
        if when is None:
            meant = True
        elif isinstance(when, type | tuple):
            meant = isinstance(error, when)
        else:
            meant = bool(when(error))
        self._cell.caught = meant
        return meant


def _uncaught(_: Any, cell: Any) -> None:
    cell.caught = False


_WATCHED = SteppingBody(None, (), _uncaught, lambda _, cell: bool(cell.caught), quiet=True)


class _View:
    """What one stage is told of the run: whether it has just begun, and whether nothing more comes from before it."""

    __slots__ = ("_place", "_run", "first", "told")

    def __init__(self, run: SteppingRun, place: int) -> None:
        self._run = run
        self._place = place
        self.first = True
        self.told = False

    def begins(self) -> bool:
        """Tell whether the run has just begun; once."""
        first, self.first = self.first, False
        return first

    def over(self) -> bool:
        """Tell whether all elements from before the stage have come; once, and not if its own have no use any more."""
        run, place = self._run, self._place
        if self.told or (run.lingers and run.ended_behind(place)):
            return False
        self.told = run.ended_before(place, run.ending)
        return self.told

    @property
    def needless(self) -> bool:
        """Tell whether what the stage would say has no use: a step behind it has ended."""
        return self._run.lingers and self._run.ended_behind(self._place)


@dataclass(frozen=True, slots=True)
class _Woken(Stage[Any, Any]):
    """A rule as a stage; the clock is that of the run."""

    rule: Waiting
    run: SteppingRun
    view: _View
    loop: ClassVar[Body] = Body(head="{due}()", each="{came}(v)", tail="{last}()")

    def due(self) -> Iterable[Any]:
        """Return what the rule gives when it is woken, if its time has come."""
        rule, now = self.rule, self.run.now
        return rule.rang(now) if rule.due is not None and rule.due <= now and not self.view.needless else ()

    def came(self, element: Any) -> Iterable[Any]:
        """Return what the rule makes of an element."""
        return self.rule.came(element, self.run.now)

    def last(self) -> Iterable[Any]:
        """Return what the rule holds, if nothing more is to come."""
        return self.rule.ended(self.run.now) if self.view.over() else ()


def _woken(step: Step | Source[Any], run: SteppingRun, view: _View) -> tuple[_Woken, SteppingBody]:
    """Return a step that time wakes as a stage of the same name, for errors to say, and what is known about it."""
    rule = type(step).waits(step)  # type: ignore[union-attr, misc]
    assert rule is not None
    given = type(_shown(step))
    made = _classes.get(given)
    if made is None:
        names = {"__slots__": (), "__module__": given.__module__, "__qualname__": given.__qualname__}
        made = _classes[given] = type(given.__name__, (_Woken,), names)
    known = SteppingBody(_Woken.loop, rule.kept, lambda _, rule: rule.begin(run.now), None, quiet=True)
    return made(rule, run, view), known


_classes: dict[type, type] = {}


def _shown(step: Any) -> Any:
    """Return the step that is named in messages and states, where one is made of several."""
    return getattr(step, "stands_for", step)


def _class_of(given: type) -> type:
    """Return a class like a stage's whose objects have a body and a cell; it has the same name, for errors to say."""
    found = _classes.get(given)
    if found is None:
        names = {
            "__slots__": ("stepping_body", "stepping_cell", "stepping_run"),
            "__module__": given.__module__,
            "__qualname__": given.__qualname__,
            "body": property(lambda self: self.stepping_body),
        }
        found = _classes[given] = type(given.__name__, (given,), names)
    return found


def _stepped(stage: Stage[Any, Any], body: Body, cell: object, view: _View) -> Stage[Any, Any]:
    made: Any = object.__new__(_class_of(type(stage)))
    named = [field.name for field in fields(stage)] if is_dataclass(stage) else vars(stage)
    given = {name: getattr(stage, name) for name in named}
    given.update(stepping_body=body, stepping_cell=cell, stepping_run=view)
    for name, value in given.items():
        object.__setattr__(made, name, value)  # a frozen dataclass has no other way
    return made  # type: ignore[no-any-return]


def is_woken(step: Step | Source[Any]) -> bool:
    """Tell whether a step is one that time wakes, by a rule."""
    return not isinstance(step, Stage) and type(step).waits is not None


def keeps_state(step: Step | Source[Any]) -> bool:
    """Tell whether a step has something to remember between two pieces of its input."""
    if isinstance(step, Source):
        return is_woken(step)
    if not isinstance(step, Stage):
        return step.tie is Tie.FAILURE or is_woken(step)
    body = step.body
    return bool(body.state or body.head or body.tail or body.ends)


class SteppingRun:
    """One chain that runs piece by piece; its steps take the places of those that they are made of."""

    def __init__(self, steps: Iterable[Step | Source[Any]]) -> None:
        self.ending = False
        """Whether no further piece comes."""
        self.now = 0.0
        """What time it is for those that time wakes."""
        made: list[Step] = []
        self._rules: list[tuple[Waiting, _View]] = []
        self.lingers = False
        """Whether the end may have to wait for a time in one of the steps."""
        self._parts: list[tuple[Any, SteppingBody, Any, _View]] = []
        for step in steps:
            if not keeps_state(step):
                assert not isinstance(step, Source)
                made.append(step)
                continue
            cell: Any = SimpleNamespace()
            view = _View(self, len(self._parts))
            if is_woken(step):
                woken, known = _woken(step, self, view)
                cell = woken.rule
                self._rules.append((cell, view))
                self.lingers = self.lingers or cell.lingers
                made.append(woken)
            elif isinstance(step, Stage):
                known = stepping_body(step.body)
                assert known.body is not None
                made.append(_stepped(step, known.body, cell, view))
            else:
                known = _WATCHED
                watched: Any = step
                made.append(replace(watched, when=_Watch(watched.when, cell)))
            self._parts.append((step, known, cell, view))
        self.steps = tuple(made)
        self.stages = tuple(stage for stage, _, _, _ in self._parts)
        """The steps that have a state, in order, as they were given."""
        self.signature = " ".join(
            f"{operator_name(_shown(stage))}({','.join(known.kept)})" for stage, known, _, _ in self._parts
        )
        """What the state is made of, as text: each stage that has one, with the names of its variables."""
        self.names = [describe(_shown(stage)) for stage, _, _, _ in self._parts]
        """Whose the parts of the state are, for messages."""
        if self.lingers:
            self.signature += " ends"
            self.names.append("the ends")
        self.quiet = all(known.quiet for _, known, _, _ in self._parts)
        """Whether a run in the state it began with may be forgotten: it would say the same if it began again."""
        self.tailed = any(known.body is not None and known.body.tail is not None for _, known, _, _ in self._parts)
        """Whether anything may come when the input has ended."""

    @property
    def shortest(self) -> float | None:
        """Return the shortest time that a step waits; None if time wakes none of them."""
        return min((rule.seconds for rule, _ in self._rules if rule.seconds < inf), default=None)

    @property
    def due(self) -> float | None:
        """Return when the run is to be woken; None if it need not be."""
        dues = [rule.due for rule, view in self._rules if rule.due is not None and not view.needless]
        return min(dues, default=None)

    @property
    def held_until(self) -> float | None:
        """Return when the run is to be woken for something that a step holds; None if none holds anything."""
        dues = [(rule.due, view) for rule, view in self._rules if not rule.silent]
        return min((due for due, view in dues if due is not None and not view.needless), default=None)

    def begin(self) -> None:
        """Be as a run is before its first piece."""
        self.ending = False
        for stage, known, cell, view in self._parts:
            view.first = True
            view.told = False
            try:
                known.fresh(stage, cell)
            except Exception as error:  # noqa: BLE001  it is raised again, with its step named
                raise blamed(error, stage, callable_of(stage))  # noqa: B904  it is the same one

    def put_back(self, values: Sequence[Sequence[Any]]) -> None:
        """Be as the run was when these values were taken out."""
        self.begin()
        ends: Sequence[Any] = [(False, False)] * len(self._parts)
        if self.lingers:
            *values, ends = values
        for (_, known, cell, view), kept, (told, caught) in zip(self._parts, values, ends, strict=True):
            view.first = False
            view.told = told
            if known is _WATCHED:
                cell.caught = caught
            for name, value in zip(known.kept, kept, strict=True):
                setattr(cell, name, value)

    def taken_out(self) -> list[list[Any]]:
        """Return the state, of each stage that has one the values of its variables."""
        values = [[getattr(cell, name) for name in known.kept] for _, known, cell, _ in self._parts]
        if self.lingers:
            values.append([(view.told, known is _WATCHED and cell.caught) for _, known, cell, view in self._parts])
        return values

    @property
    def held(self) -> int:
        """Return how many elements the stages keep in their variables `items`."""
        return sum(len(cell.items) for _, known, cell, _ in self._parts if "items" in known.kept)

    @property
    def ended(self) -> bool:
        """Tell whether a stage has ended, and with it the whole chain."""
        return self.ended_before(len(self._parts), over=False)

    @property
    def closed(self) -> bool:
        """Tell whether no further element is taken, since a stage has ended; one behind it may wait for a time."""
        return self.ended_behind(-1)

    def ended_before(self, place: int, over: bool) -> bool:
        """Tell whether all has come to a place; `over` says whether it has to the first."""
        for stage, known, cell, view in self._parts[:place]:
            if known.ended is not None and known.ended(stage, cell):
                over = True
            elif over and self.lingers and getattr(cell, "lingers", False):
                over = view.told and cell.due is None
        return over

    def ended_behind(self, place: int) -> bool:
        """Tell whether one of the stages behind a place has ended."""
        return any(
            known.ended is not None and known.ended(stage, cell) for stage, known, cell, _ in self._parts[place + 1 :]
        )


__all__ = ["SteppingRun", "is_woken", "keeps_state"]
