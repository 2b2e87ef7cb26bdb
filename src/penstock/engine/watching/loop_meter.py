"""loop_meter: count and time one run of a woven loop; `engine/watching/weave_observed.py` says what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress, repeat
from operator import length_hint
from typing import Any

from penstock.engine.grounds.cold_paths import nobody
from penstock.engine.watching.chain_meter import Counts, Listened, Meter, pace_after
from penstock.engine.watching.signal_meter import Gauge
from penstock.engine.weaving.blame import Where, blame, owner_in
from penstock.engine.weaving.segment import Delivers
from penstock.stage import Body, LoopGate

TICKS = 1 << 60
"""More than any tally will ever count."""


class SampledElements:
    """The choice of elements whose time is taken: it costs next to nothing, and slow elements are all seen."""

    __slots__ = ("_at", "_began", "_clock", "_count", "_pace", "_run", "_sampled")

    def __init__(self, run: Listened, count: Callable[[], int], sampled: Callable[[], None]) -> None:
        self._run = run
        self._sampled = sampled
        self._clock = run.clock
        self._count = count
        self._pace = self._at = 0
        self._began: float | None = None

    def pace(self) -> int:
        """Return how many elements to let pass before the next whose time is taken."""
        now = self._clock()
        if self._began is not None:
            if not self._pace:
                self._pace = pace_after(now - self._began, 1)
            self._sampled()
            self._run.tick(now)
        self._began = now
        self._at = self._count()
        return self._pace

    def over(self) -> bool:
        """Tell whether fewer came than were to pass, so that there are no more."""
        pace = self._pace
        if self._count() - self._at < pace:
            return True
        if pace:
            assert self._began is not None
            self._pace = pace_after(self._clock() - self._began, pace)
        return False


def _nothing() -> None:
    pass


def _ticked(tally: repeat[bool]) -> int:
    return TICKS - length_hint(tally)


def _counted(source: Any) -> tuple[Iterator[Any], Callable[[], int]]:
    """Return an iterator and what tells how many of its items were taken; it is asked rarely, so that may be slow."""
    kind = type(source)
    if kind is _RANGE or kind is _TUPLE:
        size = length_hint(source)
        return source, lambda: size - length_hint(source)
    if kind is _LIST:
        items = source.__reduce__()[1][0]
        return source, lambda: _place_in(items, source)
    if kind is zip:
        inputs = source.__reduce__()[1]
        if inputs and lies_ready(inputs[-1]):
            return source, _counted(inputs[-1])[1]  # a row is whole with the item of its last input
    tally = repeat(True, TICKS)
    return compress(source, tally), lambda: _ticked(tally)


def lies_ready(source: Any) -> bool:
    """Tell whether a source knows by itself how many of its items were taken."""
    return type(source) in _SELF_COUNTED


_RANGE: type = type(iter(range(0)))
_TUPLE: type = type(iter(()))
_LIST: type = type(iter([]))
_SELF_COUNTED = frozenset((_RANGE, _TUPLE, _LIST))


def _place_in(items: list[Any], iterator: Any) -> int:
    state = iterator.__reduce__()
    return int(state[2]) if len(state) == 3 else len(items)


class SourceMeter:
    """A meter of what is taken from a source whose elements lie ready, where no loop is needed; it takes no time."""

    __slots__ = ("_count", "_meter")

    def __init__(self, meter: Meter, source: Any) -> None:
        self._meter = meter
        _, self._count = _counted(source)
        meter.run.begin()
        meter.opened(self)

    def end(self) -> None:
        """Keep the numbers."""
        self._meter.closed(self)

    def read(self, counts: list[Counts], /) -> None:
        """Add what was counted."""
        counts[0].delivered += self._count()


class LoopMeter:
    """A meter that counts and times one run of a woven loop."""

    __slots__ = (
        "_at", "_began", "_bodies", "_count", "_drops", "_due", "_error", "_first", "_first_times", "_held",
        "_inside", "_lanes", "_lost", "_meter", "_passed", "_signals", "_sourced", "_tallies", "_top", "_turned",
        "clock", "more", "pulled", "pulls", "spent", "timed", "whole",
    )  # fmt: skip

    def __init__(
        self, meter: Meter, bodies: list[Body], first: int, *, sourced: bool, top: bool, signals: bool = False
    ) -> None:
        self._meter = meter
        self._bodies = bodies
        self._first = first
        self._sourced = sourced
        self._top = top
        self._drops: dict[int, repeat[bool]] = {}
        self._lost: int | None = None
        self._error: BaseException | None = None
        self._tallies: dict[int, repeat[bool]] = {}
        self._lanes: dict[int, SampledElements] = {}
        self._count: Callable[[], int] | None = None
        self._signals = signals
        """Whether a joint follows, so that it matters how long those who follow have an element."""
        self._inside, self._passed = 0.0, 0
        self._held: Callable[[], tuple[tuple[int, int], ...]] = tuple
        self._due = 0, repeat(True, 0)
        """How many elements will have come before the next whose time is taken, and a tick for each that has not."""
        self._at = 0
        self._turned = meter.run.clock()
        self._began: float | None = None
        self._first_times: list[tuple[list[float], list[int]]] | None = None
        self.clock = meter.run.clock
        size = len(bodies) + 1
        self.spent, self.timed = [0.0] * size, [0] * size
        self.pulled, self.pulls = [0.0] * size, [0] * size
        self.more = [0.0] * size
        self.whole = False

    # What the loop calls.

    def begin(self, held: Callable[[], tuple[tuple[int, int], ...]], /) -> None:
        """Take what tells how many elements are kept in the loop's variables, and begin to count."""
        self._held = held
        self._meter.run.begin()
        self._meter.opened(self)

    def tally(self, index: int) -> repeat[bool]:
        """Return what one tick is taken of for each element that a stage adds."""
        tally = self._tallies[index] = repeat(True, TICKS)
        return tally

    def drops(self, index: int) -> repeat[bool]:
        """Return what one tick is taken of for each element that a stage drops."""
        tally = self._drops[index] = repeat(True, TICKS)
        return tally

    def feed(self, source: Any) -> Iterator[Any]:
        """Return the source so that its elements are counted."""
        feed, self._count = _counted(source)
        return feed

    def lane(self, index: int) -> SampledElements:
        """Return the lane of the source, or of what a stage adds."""
        if index < 0:
            assert self._count is not None
            return SampledElements(self._meter.run, self._count, self._sampled)
        found = self._lanes.get(index)
        if found is None:
            tally = self._tallies[index]
            found = self._lanes[index] = SampledElements(self._meter.run, lambda: _ticked(tally), _nothing)
        return found

    def turn(self, waiting: float | None = None) -> repeat[bool]:
        """Return a tick for each element before the next whose time is taken; two in a row show how long one took."""
        now, began = self.clock(), self._began
        base, _ = self._due
        if waiting is not None and (began is not None or not base):
            self.pulled[0] += now - waiting
            self.pulls[0] += 1
        base += 1  # this one
        if began is None:
            pace, self._began = 0, now
        else:
            pace, self._began = pace_after(now - self._turned, base - self._at), None
            self._turned, self._at = now, base
            self._sampled()
            self._meter.run.tick(now)
        ticks = repeat(True, pace)
        self._due = base + pace, ticks
        return ticks

    def came(self) -> int:
        """Return how many elements came by themselves."""
        due, ticks = self._due
        return due - length_hint(ticks)

    def back(self, since: float, gate: LoopGate) -> None:
        """Note how long those who follow had an element, unless they did not ask for another one."""
        if not gate.rested:
            self._inside += self.clock() - since
            self._passed += 1

    def _sampled(self) -> None:
        """Set the first times apart: things begin there that do not happen again."""
        if self._first_times is None:
            self._first_times = [(list(seconds), list(times)) for seconds, times in self._times()]
            for seconds, times in self._times():
                seconds[:] = [0.0] * len(seconds)
                times[:] = [0] * len(times)

    def _times(self) -> list[tuple[list[float], list[int]]]:
        return [(self.spent, self.timed), (self.pulled, self.pulls)]

    def failed(self, error: Exception, raised: Exception, where: Where) -> Exception:
        """Note where the loop failed; return the error."""
        loop = where[1]
        owner = owner_in(loop, raised)
        self._error = error
        self._lost = owner - loop.first if owner >= 0 else None
        if self._meter.run.begins(error):
            self._meter.failed(self._first + (0 if self._lost is None else self._lost + 1))
        return error

    def end(self) -> None:
        """Keep the numbers."""
        self._meter.closed(self)
        self._held = tuple
        self._count = None
        error, self._error = self._error, None
        if self._top:
            self._meter.run.end(error, whole=self.whole)

    # What the listener sees.

    def read(self, counts: list[Counts], /) -> None:
        """Add what was counted."""
        came = self.came() if self._count is None else self._count()
        whole = 0.0
        if self._sourced:
            whole = self._seconds(1, 0, came)
            counts[0].delivered += came
            counts[0].seconds += whole
        for index, body in enumerate(self._bodies):
            added = _ticked(self._tallies[index]) if index in self._tallies else 0
            seconds = self._seconds(0, index + 1, came) + self._seconds(1, index + 1, added) + self.more[index + 1]
            adds_only = body.each is not None or body.drops_all
            dropped = _ticked(self._drops[index]) if index in self._drops else 0
            came = added if adds_only else came - dropped + added
            if index == self._lost:
                came -= 1
            step = counts[self._first + 1 + index]
            step.delivered += came
            step.seconds += seconds
            whole += seconds
        if self._signals:
            last = counts[self._first + len(self._bodies)]
            last.waited += whole
            if self._passed:
                last.inside += max(0.0, self._inside / self._passed - self._meter.run.cost) * came
        for index, size in self._held():
            counts[self._first + 1 + index].buffered += size

    def _seconds(self, kind: int, index: int, count: int) -> float:
        """Estimate how long `count` elements took from those whose time was taken."""
        cost = self._meter.run.cost
        seconds, times = self._times()[kind]
        later, taken = seconds[index], times[index]
        first, firsts = 0.0, 0
        if self._first_times is not None:
            first, firsts = self._first_times[kind][0][index], self._first_times[kind][1][index]
        if not taken:
            later, taken, first, firsts = first, firsts, 0.0, 0
        if not taken:
            return 0.0
        return max(0.0, first - firsts * cost) + max(0.0, later / taken - cost) * max(0, count - firsts)


class PushMeter(LoopMeter):
    """A meter that counts and times a function that elements are pushed through, for the gauge before it as well."""

    __slots__ = ("_before", "_run", "_started", "push_many")

    def __init__(self, meter: Meter, bodies: list[Body], first: int, run: Delivers, before: Gauge | None) -> None:
        super().__init__(meter, bodies, first, sourced=False, top=False)
        self._run = run
        self._before = before
        self._started = 0.0
        self.push_many: Callable[[Any], Any] = nobody
        if before is not None:
            before.counted_by(self.came)

    def came(self) -> int:
        """Return how many elements came."""
        alone = super().came()
        return alone if self._before is None else alone + self._before.in_chunks() - length_hint(self._run.chunk)

    def turn(self, waiting: float | None = None) -> repeat[bool]:
        """Return a tick for each element before the next whose time is taken."""
        before = self._before
        if before is not None and not before.chunking:
            self._started = self.clock()
            before.arrives(self._started, self._began is not None or not self._due[0])
        return super().turn(waiting)

    def dropped(self) -> None:
        """Know that nothing comes of the element whose time is taken."""
        before = self._before
        if before is not None and not before.chunking:
            before.went(self._started, self.clock(), self._began is not None)

    def failing(self, where: Where) -> Callable[[Exception], Exception]:
        """Return what makes of an error the one to raise."""
        return lambda error: self.failed(blame(error, where), error, where)

    def passing(self) -> None:
        """Know that the element whose time is taken is about to be delivered."""
        if self._before is None or self._before.chunking:
            return
        run, deliver = self._run, self._run.deliver

        def timed(element: Any) -> None:
            run.deliver = deliver
            try:
                deliver(element)
            finally:
                self.dropped()

        run.deliver = timed
