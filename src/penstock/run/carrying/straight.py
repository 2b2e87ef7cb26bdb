"""straight: a run whose elements need no marks, because the source is done with each before the next one begins.

Where one marked source is followed by stages alone that make at most one element of one and keep none, down to a tally
at the end, the stages are one loop. When that loop asks for its next element, it is done with the one before. So the
loop runs over bare elements, by the bodies that run everywhere, and the iterator that it reads knows what is done: all
that came before the element that was read last, and that one too unless it is the one that has failed.

Elements go into the loop in pieces that take a few milliseconds each, behind which the source is told now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import length_hint
from threading import Lock
from time import monotonic
from typing import Any

from penstock.engine.grounds.outlet import accepts
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.fed_run import FedRun
from penstock.engine.runs.wiring import connect
from penstock.engine.weaving.segment import STARVED
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.engine.words.dropped import drop
from penstock.operators.flat_map import FlatMap
from penstock.operators.resumable import MadeWhenRead, Positioned, element_of, positioned
from penstock.run.carrying.entrance import SourceRun
from penstock.run.carrying.marks import OFTEN, SourceMarks
from penstock.run.carrying.stages import keeps_elements
from penstock.run.valves.valve import Valve, Valved
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Source, Stage, Step

MOST_STAGES = 32
"""How many stages fit into one loop for sure."""
LARGEST = 4096
"""How many elements a piece has at most."""
_QUICK, _SLOW = OFTEN / 8, OFTEN / 2
"""Seconds below which the next piece is larger, and above which it is smaller."""
_HUNGRY = (STARVED,)


def is_straight(chain: Chain, marked: Callable[[Source[Any]], bool]) -> bool:
    """Tell whether the elements of a run need no marks; see the module."""
    source = chain.source
    if not isinstance(source, Valved) or source.stream.steps or not marked(source.stream.source):
        return False
    steps = chain.steps
    if not 0 < len(steps) <= MOST_STAGES or not all(map(_passes, steps[:-1])) or not _tallies(steps[-1]):
        return False
    return chain.segment(0, len(steps)).one_loop


def _passes(step: Step) -> bool:
    """Tell whether a step makes at most one element of one, and keeps none."""
    if not isinstance(step, Stage) or isinstance(step, FlatMap) or keeps_elements(step):
        return False
    return step.body.each is None and step.body.head is None


def _tallies(step: Step) -> bool:
    return isinstance(step, Stage) and step.tallies and step.body.each is None and step.body.head is None


@dataclass(frozen=True, eq=False, slots=True)
class StraightSource(Source[Any]):
    """The result of a source and of stages behind it, which tells the source what is done."""

    run: SourceRun
    chain: Chain
    """The source, in its valve, and the stages."""

    @property
    def stands_for(self) -> Source[Any]:
        """Return what it is shown as."""
        return self.run.source

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Open the source and run the stages."""
        source: Any = self.chain.source
        connect(self.run.opened(), _StraightRun(self.run.marks, source.valve, self.chain, downstream))


class _StraightRun(FedRun):
    """The loop of the stages, fed with what the source gives; see the module."""

    __slots__ = ("_book", "_finished", "_going", "_intake", "_piece_at", "_reached", "_size", "_valve", "_went")

    def __init__(self, marks: SourceMarks, valve: Valve, chain: Chain, downstream: Subscriber[Any]) -> None:
        super().__init__(chain.segment(0, len(chain.steps)), downstream)
        self._valve = valve
        self._intake = _Intake(marks)
        self._book = marks
        self._going: Positioned[Any, Any] | None = None
        """What has come together, and goes into the loop."""
        self._piece_at = 0
        """How many of it had gone in before the last piece, `_chunk`."""
        self._went = 0
        """How many elements that piece has; 0 if it is known what is done of it."""
        self._reached = 0
        """How many of what has come together are known to be done, by their position."""
        self._size = 1
        """How many elements the next piece has at most."""
        self._finished = 0
        """How many elements are done."""

    # From the source.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, or refuse a second one."""
        if not accepts(subscription, self._upstream):
            return
        self._upstream = self._intake
        self._intake.upstream = subscription
        self._valve.enter(self)
        self.start()
        if self._valve.closed:
            self.close()

    def on_next(self, pair: Any, /) -> None:
        """Take an element with its position."""
        try:
            element = element_of(pair)
        except Exception as error:  # noqa: BLE001  rule 2.13: upstream would not know what to do with it
            self._refuse(error)
        else:
            self._enter(Positioned([element], (pair[0],)))

    def on_chunk(self, pairs: Sequence[Any], /) -> None:
        """Take several elements with their positions."""
        found = positioned(pairs)
        if found is not None:
            self._enter(found)
        else:
            for pair in pairs:  # the elements before the one that is no pair come first
                self.on_next(pair)

    def _enter(self, given: Positioned[Any, Any]) -> None:
        valve, count = self._valve, len(given)
        with valve.lock:
            if valve.closed or self._done:
                return  # rule 2.8, or the publisher had not yet heard of the end
            valve.count(count)
            self._queue.append(given)  # type: ignore[arg-type]
            self._intake.came(count)
        self._wake(count)

    def _refuse(self, error: Exception) -> None:
        if not self._done:
            self._intake.cancel()
            self.on_error(error)

    @property
    def demand(self) -> int:
        """Return how many elements are asked for and have not come."""
        return self._intake.demand

    def close(self) -> None:
        """End behind what has come: the valve was closed."""
        self._intake.cancel()
        self.on_complete()

    # The loop.

    def _chunks(self) -> Iterator[Iterable[Any]]:
        queue = self._queue
        while True:
            while queue:
                self._going = queue.popleft()  # type: ignore[assignment]
                self._reached = 0
                yield from self._pieces()
                self._going = None  # nothing holds it then while the next is fetched
                self._book.tell()
                self._intake.ask()
            if self._done and self._error is None:
                return  # a failure is no end: the loop's tails must not follow it
            yield _HUNGRY

    def _pieces(self) -> Iterator[Iterable[Any]]:
        going = self._going
        assert going is not None
        elements, count = going.elements, len(going)
        made_of: Callable[[Iterable[Any]], Iterable[Any]] = iter
        if type(elements) is not list and type(elements) is not MadeWhenRead:
            elements = MadeWhenRead(elements.__getitem__, range(count))  # which may fail behind those before
        if type(elements) is MadeWhenRead:
            made_of, elements = elements.made_of, elements.items
        if type(elements) is not list:
            elements = list(elements)  # whose iterator knows how many are left
        at = 0
        while at < count:
            piece = elements[at : at + self._size]
            self._piece_at, self._went = at, len(piece)
            self._chunk = iter(piece)
            began = monotonic()
            yield made_of(self._chunk)
            now = monotonic()  # the loop is done with all of it, since it asks for more
            at += self._went
            self._settle(self._went, whole=at == count or now - self._book.told > OFTEN)
            if now - began < _QUICK:
                self._size = min(2 * self._size, LARGEST)
            elif now - began > _SLOW:
                self._size = max(self._size // 4, 1)
            if at < count and now - self._book.told > OFTEN:
                self._book.tell()

    def _settle(self, done: int, *, whole: bool = True) -> None:
        """Know what of the last piece is done; where it is not told, the position is not asked for."""
        self._went = 0
        self._intake.done(done)
        self._finished += done
        reached = self._piece_at + done
        if whole and reached > self._reached and self._going is not None:
            self._reached = reached
            position = self._going.positions[reached - 1]
            if position is None:
                raise TypeError("resumable: None is the beginning and no position")
            self._book.reach(position, self._finished)

    def _leave(self) -> None:
        """Know that the loop reads nothing more, and is done with all that it has read."""
        if self._went:
            self._settle(self._went - length_hint(self._chunk))
        self._book.tell()
        super()._leave()

    def _finish(self, error: Exception | None) -> None:
        if error is not None and self._went:
            try:  # the last one that was read is the one that has failed
                self._settle(self._went - length_hint(self._chunk) - 1)
                self._book.tell()
            except Exception as failure:  # noqa: BLE001  the first error is the one to deliver
                drop("resumable: a position could not be had", failure)
        super()._finish(error)

    def _let_go(self) -> Subscriber[Any]:
        self._valve.leave(self)
        return super()._let_go()


class _Intake(Subscription):
    """The subscription to the source, which is asked for what the loop wants and there is room for.

    That is when half of the window is free, or when all that was asked for has come.
    """

    __slots__ = ("_coming", "_lock", "_marks", "_over", "_under", "_wanted", "upstream")

    def __init__(self, marks: SourceMarks) -> None:
        self.upstream: Subscription | None = None
        self._marks = marks
        self._lock = Lock()
        self._wanted = 0
        """What the loop has asked for and the source was not."""
        self._coming = 0
        """What the source was asked for and has not come."""
        self._under = 0
        """What has come and is not done."""
        self._over = False
        marks.on_room = self.ask

    @property
    def demand(self) -> int:
        """Return how many elements are asked for and have not come."""
        with self._lock:
            return add(self._wanted, self._coming)

    def request(self, n: int, /) -> None:
        """Ask for more, now or when there is room."""
        with self._lock:
            self._wanted = add(self._wanted, n)
        self.ask()

    def cancel(self) -> None:
        """Ask for nothing more."""
        self._over = True
        if self.upstream is not None:
            self.upstream.cancel()

    def came(self, count: int) -> None:
        """Know of elements that have come."""
        with self._lock:
            self._under += count
            if self._coming < UNBOUNDED:
                self._coming -= count

    def done(self, count: int) -> None:
        """Know of elements that are done."""
        with self._lock:
            self._under -= count

    def ask(self) -> None:
        """Ask the source for more, if there is room and it was told what is done."""
        if not self._wanted or (self._marks.window is not None and not self._marks.all_told()):
            return  # what was not told is not done
        with self._lock:
            count = self._granted()
        if count > 0 and not self._over and self.upstream is not None:
            self.upstream.request(count)

    def _granted(self) -> int:
        """Return how many elements to ask for now, and take note of it."""
        count, window = self._wanted, self._marks.window
        if window is not None:
            room = window - self._coming - self._under
            if self._coming and room <= window // 2:
                return 0
            count = min(count, room)
        if count <= 0:
            return 0
        if window is None or self._wanted < UNBOUNDED:
            self._wanted -= count
        self._coming = add(self._coming, count)
        return count


__all__ = ["StraightSource", "is_straight"]
