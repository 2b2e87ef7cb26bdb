"""segment: a run of adjacent stages over one upstream, ready to be opened."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from penstock.engine.weaving import weave
from penstock.engine.weaving.blame import Where, blame
from penstock.engine.weaving.habits import Habits
from penstock.engine.weaving.pieces import pieces
from penstock.engine.weaving.weave_push import PushWeaver
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.dropped import attempt, drop
from penstock.engine.words.several import PLAIN, items_of
from penstock.stage import AsyncOpener, LeftLoop, LoopGate, Opener, Stage

_AT_FIRST: Mapping[int, int] = {}


class _Starved:
    """The word that a fed loop passes on when its queue is empty."""

    def __repr__(self) -> str:
        return "STARVED"


STARVED: Final = _Starved()


def no_element() -> TypeError:
    """Return the error for a None where an element is due."""
    return TypeError(
        "rule 2.13: None is not an element; use a value that says what is missing, or leave the element out: in the"
        " source, or by flat_map() with a function that returns []"
    )


def no_item() -> TypeError:
    """Return the error for a None in a collection, for those who look for it in the place of a loop."""
    error = no_element()
    error.add_note("in the source")
    return error


def close(source: object) -> None:
    """Close an iterator that can be closed."""
    closing = getattr(source, "close", None)
    if callable(closing):  # an iterator over prices may have a `close` of another kind
        closing()


def close_quietly(source: object) -> None:
    """Close an iterator while another error is on its way, or when its run is over; its own error goes to the hook."""
    attempt("the source failed to close", close, source)


def _fail(source: object, where: Where, error: Exception) -> Exception:
    close_quietly(source)
    return blame(error, where)


async def _close_async(source: object) -> None:
    closing: Callable[[], Awaitable[object]] | None = getattr(source, "aclose", None)
    if callable(closing):
        await closing()


async def _leave_async(source: object) -> None:
    try:
        await _close_async(source)
    except Exception as error:  # noqa: BLE001  another error is on its way, or the run is over
        drop("the source failed to close", error)


async def _fail_async(source: object, where: Where, error: Exception) -> Exception:
    await _leave_async(source)
    return blame(error, where)


_SYNC: dict[str, Any] = {
    "close": close, "close_inner": close_quietly, "deque": deque, "fail": _fail, "items_of": items_of,
    "leave": close_quietly, "left_loop": LeftLoop, "no_element": no_element, "plain": PLAIN, "starved": STARVED,
}  # fmt: skip
_ASYNC: dict[str, Any] = {**_SYNC, "close": _close_async, "fail": _fail_async, "leave": _leave_async}


Trace = Callable[[Exception, int], None]
"""What notes where the step of this number was written, when it has failed."""
Prepared = tuple[Callable[..., Any], Where, list[Any]]
"""A loop's function, what is needed to name a step that fails in it, and the values it takes."""


class Delivers(Protocol):
    """A run that calls a function of one element, and then delivers what that has made."""

    deliver: Callable[[Any], None]
    push_many: Callable[[Any], Any]
    fold: Callable[[Iterator[Any]], None] | None
    chunk: Iterator[Any]

    def last(self) -> None:
        """Be told that nothing more is read of upstream."""
        ...


Pushed = tuple[Callable[[Any], Any], Callable[[LoopGate], Iterator[Any]], Callable[[], dict[int, int]]]


class Segment:
    """The stages between two places where signals matter, which are opened as one iterator."""

    __slots__ = ("_habits", "_plans", "_trace", "first", "never_asks", "stages", "total")

    def __init__(
        self,
        stages: Sequence[Stage[Any, Any]],
        first: int = 0,
        total: int | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.stages = tuple(stages)
        self._trace = trace
        self.first = first
        self.total = len(self.stages) if total is None else total
        self.never_asks = 0 in [stage.cap for stage in self.stages]
        """Whether a stage takes none at all, so that the end needs no request."""
        self._habits: Habits | None = None
        self._plans: dict[tuple[weave.Form, bool], list[Prepared]] = {}

    @property
    def habits(self) -> Habits:
        """Return what its stages do to demand; a segment that is iterated over is not asked."""
        found = self._habits
        if found is None:
            found = self._habits = Habits(self.stages, self.demand(1))
        return found

    def demand(self, n: int, stands: Mapping[int, int] = _AT_FIRST) -> int:
        """Return how many elements to ask of upstream when `n` are wanted below.

        `stands` says how the stages stand: how many elements one still takes, or lacks for its next one.
        """
        for index in range(len(self.stages) - 1, -1, -1):
            stage = self.stages[index]
            n = stage.demand(n)
            if index in stands:
                if stage.body.room is not None:
                    n = min(n, stands[index])
                elif n < UNBOUNDED:
                    n += stands[index] - stage.demand(1)
        return n

    def wanted(self, n: int, owed: int, stands: Mapping[int, int], *, first: bool) -> int:
        """Return how many more elements to ask of upstream, which owes some, when `n` are wanted below."""
        habits = self._habits or self.habits  # at every request: looking costs less than calling
        if habits.uncounted and not first:
            return 1 - owed
        if habits.gathers and owed > 0:
            return 0  # how many it lacks is known when all have come
        return self.demand(n, stands) - owed

    @property
    def one_loop(self) -> bool:
        """Whether the stages fit into one loop."""
        return len(self.stages) == 1 or len(pieces([stage.body for stage in self.stages])) == 1

    def open(self, source: Opener[Any], gate: LoopGate | None, *, clean: bool = False) -> Iterator[Any]:
        """Open one run over a synchronous source, one without None if it is `clean`.

        Without a gate, the code that iterates ends the run by closing it.
        """
        return self.open_form("free" if gate is None else "sync", source, gate, clean=clean)  # type: ignore[no-any-return]

    def open_async(self, source: AsyncOpener[Any], gate: LoopGate) -> AsyncIterator[Any]:
        """Open one run over an asynchronous source."""
        return self.open_form("async", source, gate)  # type: ignore[no-any-return]

    def ready(self, source: Iterator[Any]) -> None:
        """Know of a source that is delivered as it is, past the loop."""

    def open_pushed(self, run: Delivers) -> Pushed:
        """Open one run as a function of one element, a generator of what follows, and what tells the room there is.

        Where nothing comes of elements before the end, the run gets a function of several besides.
        """
        ((function, where, fields),) = self._plans.get(("push", False)) or self._plan("push", PushWeaver)
        run.fold, push, tails, stands = function(where, run.last, *fields)
        return push, tails, stands

    def open_form(
        self, form: weave.Form, source: Callable[[LoopGate | None], Any], gate: LoopGate | None, *, clean: bool = False
    ) -> Any:
        """Open one run in a form; `fed` is that of a queue that says STARVED when it is empty."""
        iterator: Any = None
        weaver = weave.CleanWeaver if clean else weave.Weaver
        for function, where, fields in self._plans.get((form, clean)) or self._plan(form, weaver):
            iterator = function(source, gate, where, *fields)
            source = lambda _, iterator=iterator: iterator  # type: ignore[misc]  # noqa: E731
        return iterator

    def _plan(self, form: weave.Form, weaver: type[weave.Weaver]) -> list[Prepared]:
        plan = self._plans[form, weaver is weave.CleanWeaver] = self.prepared(form, None, weaver)
        return plan

    def prepared(
        self, form: weave.Form, more: dict[str, Any] | None = None, weaver: type[weave.Weaver] = weave.Weaver
    ) -> list[Prepared]:
        """Prepare what is the same for every run: the loops, which may name `more`, and the values they take."""
        stages = self.stages
        names = _ASYNC if form == "async" else _SYNC
        if more:
            names = {**names, **more}
        loops = weave.loops_for(tuple([stage.body for stage in stages]), form, names, weaver)
        return [
            (
                loop.function,
                (stages, loop, self.first, self.total, self._trace),
                [getattr(stages[index], name) for index, name in loop.fields],
            )
            for loop in loops
        ]
