"""piecewise: a chain that runs piece by piece in an executor, and the streams that its steps divide it into.

A stream that `window` or `group_by` gives lives no longer than a piece, but what the step behind makes of it is a chain
like others: `window(3).concat_map(lambda window: window.map(fn).sum())` has `map(fn).sum()` for each window. So the two
steps run as one, with a chain in pieces for each stream that is open, whose state is part of theirs.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import blamed, operator_name
from penstock.errors import OverflowedError
from penstock.flow import Flow, Hole
from penstock.run.pieces.stepping import SteppingRun
from penstock.spark.stages.executing import Turns
from penstock.spark.stages.refusals import StageError, check_stream
from penstock.spark.stages.verdicts import in_line
from penstock.stage import Dividing, Joint, MakeWaiting, Source, Step, Tie
from penstock.stream import Stream


class WallClock:
    """A clock that goes on in another process and on another machine, as the system's own does not."""

    def __init__(self) -> None:
        self.run: SteppingRun | None = None
        """The run whose time it tells, where the time comes with the rows."""

    def now(self) -> float:
        """Return the seconds since 1970."""
        return time.time() if self.run is None else self.run.now

    def call_later(self, seconds: float, task: Callable[[], None], /) -> Callable[[], None]:
        """Refuse: what waits for it would be lost between two micro-batches."""
        raise StageError("keyed_by: no step can be called back between two micro-batches")


def _by_clock(step: Step | Source[Any], clock: Clock) -> Step | Source[Any]:
    """Return a step that has another clock in the place of the system's, if it has that."""
    given: Any = step
    if isinstance(getattr(given, "clock", None), type(SYSTEM_CLOCK)):
        given = dataclasses.replace(given, clock=clock)
    return given  # type: ignore[no-any-return]


class ChainInPieces:
    """A chain that runs piece by piece, with a clock for its steps to go by."""

    def __init__(self, chain: Chain, clock: Clock = SYSTEM_CLOCK) -> None:
        first, steps = folded(chain)
        self.run = SteppingRun(_by_clock(step, clock) for step in steps)
        self._inputs = Turns()
        flow: Flow[Any, Any] = Flow(Chain(first, self.run.steps))
        self._outputs = flow(Stream.from_iterable(self._inputs))

    def fed(self, elements: Iterable[Any] = ()) -> Iterator[Any]:
        """Run over a piece, and give what comes of it."""
        self._inputs.turn = iter(elements)
        yield from self._outputs

    def rung(self, until: float) -> Iterator[Any]:
        """Do what is due up to a time, in the order of the times, with the clock standing at each."""
        run = self.run
        while not run.ended and (due := run.due) is not None and due <= until:
            run.now = due
            yield from self.fed()

    def settled(self) -> Iterator[Any]:
        """Let what is held come in its time, and what is due before it."""
        while not self.run.ended and (due := self.run.held_until) is not None:
            yield from self.rung(due)

    def finished(self) -> Iterator[Any]:
        """End; since nothing more can come, what waits for a time is not waited for."""
        run = self.run
        run.ending = True
        yield from self.fed()
        while not run.ended and (due := run.due) is not None:
            run.now = due
            yield from self.fed()


def folded(chain: Chain) -> tuple[Source[Any], list[Step | Source[Any]]]:
    """Return where the rows come from, and the steps that follow; one that divides and the one behind it are one."""
    source, steps = in_line(chain)
    found: list[Step | Source[Any]] = []
    for step in steps:
        before = found[-1] if found else None
        if isinstance(before, Joint) and before.divides is not None and isinstance(step, Joint) and step.reads:
            found[-1] = Parted(before, step)
        else:
            found.append(step)
    return source, found


class _Inner:
    """One stream that is open: what comes of it, in pieces, and whether its end is yet to come."""

    __slots__ = ("_pieces", "run")

    def __init__(self, pieces: ChainInPieces) -> None:
        self._pieces = pieces
        self.run = pieces.run

    def fed(self, now: float, elements: Iterable[Any] = (), *, ending: bool = False) -> list[Any]:
        self.run.now = now
        self.run.ending = ending
        return list(self._pieces.fed(elements))

    def kept(self) -> tuple[str, float | None, list[Any]]:
        """Return its state, with the steps it belongs to and when it is due."""
        return self.run.signature, self.run.due, self.run.taken_out()


class _Parts:
    """The rule of two steps: an element goes to its stream, and what comes of the stream goes on."""

    kept: ClassVar[tuple[str, ...]] = ("divided", "streams")
    lingers: ClassVar[bool] = False
    silent: ClassVar[bool] = False
    endless: ClassVar[bool] = False

    def __init__(self, step: Parted) -> None:
        divides = type(step.stands_for).divides
        assert divides is not None
        self._step = step
        self._divider: Dividing = divides(step.stands_for)
        self._open: dict[Any, _Inner | tuple[str, float | None, list[Any]] | None] = {}
        """The streams that are open, in the order of their beginnings: the state of one that is yet to be taken up, and
        None for one that was left before its end."""
        self._idle: _Inner | None = None
        """What the next window can use, where one follows another and none is told apart."""
        self.seconds = self._divider.seconds
        if not self._divider.named:
            self._idle = self._made(0)
            shortest = self._idle.run.shortest
            self.seconds = min(self.seconds, inf if shortest is None else shortest)

    # Its variables as values.

    @property
    def divided(self) -> list[Any]:
        """Return the variables of what divides."""
        return [getattr(self._divider, name) for name in self._divider.kept]

    @divided.setter
    def divided(self, values: list[Any]) -> None:
        for name, value in zip(self._divider.kept, values, strict=True):
            setattr(self._divider, name, value)

    @property
    def streams(self) -> list[Any]:
        """Return the states of the streams that are open, each with its name, its steps and when it is due."""
        return [(name, one.kept() if isinstance(one, _Inner) else one) for name, one in self._open.items()]

    @streams.setter
    def streams(self, values: list[Any]) -> None:
        self._let_go()
        self._open = dict(values)

    @property
    def due(self) -> float | None:
        """Return when what divides, or one of the streams, is to be woken."""
        dues = [self._divider.due, *map(self._due_of, self._open)]
        return min((due for due in dues if due is not None), default=None)

    # What happens.

    def begin(self, now: float, /) -> None:
        self._divider.begin(now)
        self._let_go()

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        divider = self._divider
        name, last = divider.into(element, now)
        if name not in self._open:
            self._begin(name, now)
        inner = self._taken_up(name)
        found: list[Any] = []
        if inner is not None:
            found = inner.fed(now, (element,), ending=last)
            if inner.run.ended and not last:
                self._leave(name, inner)
        if last:
            divider.ended()
            self._let_go()
        return found

    def rang(self, now: float, /) -> Iterable[Any]:
        found: list[Any] = []
        for name in list(self._open):
            due = self._due_of(name)
            if due is not None and due <= now:
                inner = self._taken_up(name)
                assert inner is not None
                found += inner.fed(now)
                if inner.run.ended:
                    self._leave(name, inner)
        if self._divider.due is not None and self._divider.due <= now:
            found += self.ended(now)
        return found

    def ended(self, now: float, /) -> Iterable[Any]:
        found: list[Any] = []
        for name in list(self._open):
            inner = self._taken_up(name)
            if inner is not None:
                found += inner.fed(now, ending=True)
        self._divider.ended()
        self._let_go()
        return found

    # The streams.

    def _due_of(self, name: Any) -> float | None:
        one = self._open[name]
        return one.run.due if isinstance(one, _Inner) else None if one is None else one[1]

    def _begin(self, name: Any, now: float) -> None:
        opened = len(self._open)
        if opened >= self._divider.most:
            raise OverflowedError(
                f"{operator_name(self._step.stands_for)}: {opened} groups are open and an element came for another,"
                f" {name!r}; end groups when they are done, with take or timeout say, or say group_by(..., groups=n)"
                " with a greater n"
            )
        inner = self._open[name] = self._fresh(name)
        inner.run.now = now
        inner.run.begin()

    def _taken_up(self, name: Any) -> _Inner | None:
        """Return the stream of a name, as it was when its state was taken."""
        kept = self._open[name]
        if kept is None or isinstance(kept, _Inner):
            return kept
        inner = self._fresh(name)
        if kept[0] != inner.run.signature:
            raise StageError(
                f"keyed_by: the checkpoint has the states of {kept[0]} in {operator_name(self._step.stands_for)},"
                f" and the flow has {inner.run.signature}; give it another checkpoint"
            )
        inner.run.put_back(kept[2])
        self._open[name] = inner
        return inner

    def _fresh(self, name: Any) -> _Inner:
        inner, self._idle = self._idle, None
        return inner if inner is not None else self._made(name)

    def _made(self, name: Any) -> _Inner:
        mapper: Any = self._step.mapper
        given = self._divider.made(name, Chain(Hole()))
        try:
            stream = mapper.fn(given)
        except Exception as error:  # noqa: BLE001  it is raised again, with its step named
            raise blamed(error, mapper, mapper.fn)  # noqa: B904  it is the same one
        return _Inner(ChainInPieces(check_stream(stream, self._step.stands_for, mapper), self._step.clock))

    def _leave(self, name: Any, inner: _Inner) -> None:
        """Let go of a stream that has had enough: another may take the name, or nothing until its end."""
        if self._divider.named:
            del self._open[name]
        else:
            self._idle = inner
            self._open[name] = None

    def _let_go(self) -> None:
        if not self._divider.named:
            self._idle = next((one for one in self._open.values() if isinstance(one, _Inner)), self._idle)
        self._open = {}


@dataclass(frozen=True, slots=True)
class Parted(Joint[Any, Any]):
    """A step that divides and the one that makes elements of its streams, as one that runs in pieces."""

    tie: ClassVar[Tie] = Tie.STREAMS
    waits: ClassVar[MakeWaiting | None] = _Parts
    stands_for: Joint[Any, Any]
    mapper: Joint[Any, Any]
    clock: Clock = SYSTEM_CLOCK


__all__ = ["ChainInPieces", "Parted", "WallClock", "folded"]
