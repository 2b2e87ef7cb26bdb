"""loop_meter: count and time one run of a woven loop; `engine/watching/weave_observed.py` says what it is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress, repeat
from operator import length_hint
from typing import Any

from penstock.engine.grounds.cold_paths import nobody
from penstock.engine.watching.chain_meter import Counts, Meter, pace_after
from penstock.engine.watching.signal_meter import Gauge
from penstock.engine.weaving.blame import Where, blame, owner_in
from penstock.engine.weaving.segment import Delivers
from penstock.stage import Body

TICKS = 1 << 60
"""More than any tally will ever count."""


class SampledElements:
    """Elements that a loop reads, and which of them have their time taken: slow ones are all seen, fast ones rarely."""

    __slots__ = ("_due", "_meter", "_pace", "_turned", "count", "feed")

    def __init__(self, meter: LoopMeter, feed: Iterator[Any], count: Callable[[], int]) -> None:
        self._meter = meter
        self.feed = feed
        self.count = count
        self._pace = self._due = 0
        self._turned: float | None = None

    def pace(self) -> int:
        """Return how many elements to let pass before the next whose time is taken."""
        self._due = self.count() + self._pace
        return self._pace

    def turn(self) -> float | None:
        """Return when the next one begins whose time is taken, or None if fewer came than were to pass: it was all."""
        if self.count() < self._due:
            return None
        now = self._meter.clock()
        if self._turned is not None:
            self._pace = pace_after(now - self._turned, self._pace + 1)
            self._meter.sampled(now, self)
        self._turned = now
        return now


def _tally() -> repeat[bool]:
    return repeat(True, TICKS)


def _ticked(tally: repeat[bool]) -> int:
    return TICKS - length_hint(tally)


def _counted(source: Any) -> tuple[Iterator[Any], Callable[[], int]]:
    """Return an iterator and what tells how many of its items were taken; it is asked rarely, so that may be slow."""
    kind = type(source)
    if kind is _RANGE:
        size = length_hint(source)
        return source, lambda: size - length_hint(source)
    if kind is _TUPLE:
        row = source.__reduce__()[1][0]  # kept: the loop may let go of it while another thread reads how far it is
        return source, lambda: len(row) - length_hint(source)
    if kind is _LIST:
        items = source.__reduce__()[1][0]
        return source, lambda: _place_in(items, source)
    if kind is zip:
        inputs = source.__reduce__()[1]
        if inputs and lies_ready(inputs[-1]):
            return source, _counted(inputs[-1])[1]  # a row is whole with the item of its last input
    tally = _tally()
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


def count_ready(meter: Meter, source: Any) -> Callable[[], None]:
    """Count what is taken from a source whose elements lie ready, where no loop is needed; return what ends that."""
    _, count = _counted(source)

    def read(counts: list[Counts]) -> None:
        counts[0].delivered += count()

    meter.run.begin()
    meter.opened(read)
    return partial(meter.closed, read)


class LoopMeter:
    """A meter that counts and times one run of a woven loop."""

    __slots__ = (
        "_at", "_bodies", "_due", "_early", "_error", "_first", "_held", "_lane", "_lanes", "_lost", "_meter",
        "_second", "_signals", "_source", "_sourced", "_top", "_turned", "adds", "clock", "drops", "inputs", "more",
        "spent", "timed", "whole",
    )  # fmt: skip

    def __init__(
        self, meter: Meter, bodies: list[Body], first: int, *, sourced: bool, top: bool, signals: bool = False
    ) -> None:
        self._meter = meter
        self._bodies = bodies
        self._first = first
        self._sourced = sourced
        self._top = top
        self._signals = signals
        """Whether a joint follows, so that it matters how long those who follow have an element."""
        self._lost: int | None = None
        self._error: BaseException | None = None
        self.adds: defaultdict[int, repeat[bool]] = defaultdict(_tally)
        """What one tick is taken of for each element that a stage adds, by the number of the stage."""
        self.drops: defaultdict[int, repeat[bool]] = defaultdict(_tally)
        """The same for each that it drops."""
        self._source: Any = None
        self._lane: SampledElements | None = None
        """The lane of the source, where elements do not come by themselves."""
        self._lanes: dict[int, SampledElements] = {}
        self.inputs: Sequence[Iterator[Any]] = ()
        """The iterators whose items the source passes on, once they are open, where that is known."""
        self._held: Callable[[], tuple[tuple[int, int], ...]] = tuple
        self._due = 0, repeat(True, 0)
        """How many elements will have come before the next whose time is taken, and a tick for each that has not."""
        self._second = False
        """Whether that one follows at once on another whose time was taken."""
        self._at = 0
        self.clock = meter.run.clock
        self._turned = self.clock()
        self._early: list[tuple[float, int]] = []
        """The first times, set apart: things begin there that do not happen again."""
        self.spent = [0.0] * (2 * len(bodies) + 3)
        """How long some elements took in each step, then until they came from it, then in what follows all of them."""
        self.timed = [0] * len(self.spent)
        self.more = [0.0] * len(bodies)
        self.whole = False

    # What the loop calls.

    def begin(self, held: Callable[[], tuple[tuple[int, int], ...]], /) -> None:
        """Take what tells how many elements are kept in the loop's variables, and begin to count."""
        self._held = held
        self._meter.run.begin()
        self._meter.opened(self.read)

    def source(self, source: Any) -> SampledElements:
        """Return the lane of the source."""
        lane = self._lane = SampledElements(self, *_counted(source))
        self._source = source
        return lane

    def lane(self, index: int, items: Any) -> SampledElements:
        """Return the lane of what a stage adds."""
        tally = self.adds[index]
        lane = self._lanes.setdefault(index, SampledElements(self, items, lambda: _ticked(tally)))
        lane.feed = compress(items, tally)
        return lane

    def turn(self, waiting: float | None = None) -> repeat[bool]:
        """Return a tick for each element before the next whose time is taken; two in a row show how long one took."""
        now, (before, _) = self.clock(), self._due
        if waiting is not None and (self._second or not before):
            self.spent[len(self._bodies) + 1] += now - waiting
            self.timed[len(self._bodies) + 1] += 1
        came, pace = before + 1, 0
        if self._second:
            pace = pace_after(now - self._turned, came - self._at)
            self._turned, self._at = now, came
            self.sampled(now, None)
        self._second = not self._second
        ticks = repeat(True, pace)
        self._due = came + pace, ticks
        return ticks

    def came(self) -> int:
        """Return how many elements of upstream came."""
        if self._lane is not None:
            return self._lane.count()
        due, ticks = self._due
        return due - length_hint(ticks)

    def sampled(self, now: float, lane: SampledElements | None) -> None:
        """Know that the time of an element was taken, which may be the first."""
        if lane is self._lane and not self._early:
            self._early = list(zip(self.spent, self.timed, strict=True))
            if lane is not None and self.inputs and all(map(lies_ready, self.inputs)):
                self._count_inputs(lane, [_counted(each)[1] for each in self.inputs])
        self._meter.run.tick(now)

    def _count_inputs(self, lane: SampledElements, counts: list[Callable[[], int]]) -> None:
        """Let others tell how many elements came, whose items the source passes on at once."""
        before = lane.count() - sum(count() for count in counts)
        lane.count = lambda: before + sum(count() for count in counts)
        lane.feed = self._source

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
        self._meter.closed(self.read)
        self._held = tuple
        self._source = self._lane = None
        self._lanes.clear()
        error, self._error = self._error, None
        if self._top:
            self._meter.run.end(error, whole=self.whole)

    # What the listener sees.

    def read(self, counts: list[Counts], /) -> None:
        """Add what was counted."""
        came = self.came()
        whole, size = 0.0, len(self._bodies) + 1
        if self._sourced:
            whole = self._seconds(size, came)
            counts[0].delivered += came
            counts[0].seconds += whole
        for index, body in enumerate(self._bodies):
            added, dropped = _ticked(self.adds[index]), _ticked(self.drops[index])
            seconds = self._seconds(index + 1, came) + self._seconds(size + index + 1, added) + self.more[index]
            adds_only = body.each is not None or body.drops_all
            came = added if adds_only else came - dropped + added
            if index == self._lost and not adds_only:
                came = max(0, came - 1)  # none came where it failed at the end
            step = counts[self._first + 1 + index]
            step.delivered += came
            step.seconds += seconds
            whole += seconds
        if self._signals:
            last = counts[self._first + len(self._bodies)]
            last.waited += whole
            last.inside += self._seconds(2 * size, came)
        for index, size in self._held():
            counts[self._first + 1 + index].buffered += size

    def _seconds(self, index: int, count: int) -> float:
        """Estimate how long `count` elements took from those whose time was taken."""
        seconds, taken = self.spent[index], self.timed[index]
        if not taken:
            return 0.0
        cost = self._meter.run.cost
        first, firsts = self._early[index] if self._early else (0.0, 0)
        if firsts == taken:
            first, firsts = 0.0, 0
        later = (seconds - first) / (taken - firsts) - cost
        return max(0.0, first - firsts * cost) + max(0.0, later) * max(0, count - firsts)


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
            before.counted = self.came

    def came(self) -> int:
        """Return how many elements came."""
        alone = super().came()
        return alone if self._before is None else alone + self._before.in_chunks() - length_hint(self._run.chunk)

    def turn(self, waiting: float | None = None) -> repeat[bool]:
        """Return a tick for each element before the next whose time is taken."""
        before = self._before
        if before is not None and not before.chunking:
            self._started = self.clock()
            before.arrives(self._started, self._second or not self._due[0])
        return super().turn(waiting)

    def dropped(self) -> None:
        """Know that nothing comes of the element whose time is taken."""
        before = self._before
        if before is not None and not before.chunking:
            before.went(self._started, self.clock(), self._second)

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
