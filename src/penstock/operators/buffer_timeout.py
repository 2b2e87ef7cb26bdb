"""buffer_timeout: collect elements into lists, for so many or so long.

Group: collect
Marble: a.buffer_timeout(3, 2, clock=clock) over (123)-4----5-|
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.timed import Timed
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.words.arguments import count_given
from penstock.engine.words.part import Basket
from penstock.spec.interfaces import Subscriber
from penstock.stage import Holding, Joint, MakeWaiting, Results, Tie

T = TypeVar("T")


class _OneList(Holding):
    """The rule, in pieces: one list is held until it is full or its time has come."""

    __slots__ = ("_count",)

    def __init__(self, step: BufferTimeout[Any]) -> None:
        super().__init__(step.seconds)
        self._count = step.count

    def came(self, element: Any, now: float, /) -> Iterable[Any]:
        self.items.append(element)
        if len(self.items) >= self._count:
            return self.let_go()
        if len(self.items) == 1:
            self.due = now + self.seconds
        return ()

    def let_go(self) -> list[Any]:
        items = super().let_go()
        return [items] if items else []


@dataclass(frozen=True, slots=True)
class BufferTimeout(Joint[T, list[T]]):
    """Emit lists of `count` elements, or of fewer when `seconds` have passed since the first of them.

    Emits when `count` elements have come, when the time of those held is up, or upstream completes while elements are
    held. Backpressures when downstream does: at most `count` elements are held; a list whose time is up while
    downstream asks for nothing goes on to fill. Completes when upstream completes. Cancels when downstream cancels.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.TIME
    waits: ClassVar[MakeWaiting | None] = _OneList
    count: int
    seconds: float
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        count_given("buffer_timeout", "count", self.count, 1)
        seconds_of("buffer_timeout", "seconds", self.seconds, zero=False)
        clock_given("buffer_timeout", self.clock)

    def open(self, downstream: Subscriber[list[T]], /) -> Subscriber[T]:
        """Put a list with a timer in front of what follows."""
        return _BufferTimeoutRun(self, downstream)


class _BufferTimeoutRun(Timed):
    """A run that holds one list; the alarm is set when the list's first element comes.

    The list is one for the whole run. Elements are put behind it by upstream's signals, which are serial, without the
    lock; they are taken from its front under the lock. A thread that has taken some looks afterwards whether others
    have come meanwhile, and sets the alarm for them: upstream sets it only for an element that it sees alone.

    Between the first and the last element of a list there is nothing to look at, so it is also a basket. Elements that
    there was room for count as arrived from the start, so that too few are asked for and not too many.
    """

    def __init__(self, step: BufferTimeout[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, step.clock, step.count)
        self._count = step.count
        self._seconds = step.seconds
        self._items: list[Any] = []
        self._number = 0
        """How many lists were made of them."""
        self._arrived = 0
        """How many elements have come; counted before an element is held, so that too few are asked for meanwhile."""
        self._asked = 0
        self._released = 0
        self._sizes: deque[int] = deque()
        """How many elements the lists in the queue have."""
        self._late = False
        """Whether the time of the list was up while downstream asked for nothing."""
        self._room = self._put_before = 0
        """How many elements there was room for, and how many had been held or taken before."""
        self._emitted = 0
        """How many elements are in the lists that were made."""
        self.stop: list[None] = []
        """Not empty when some were taken since there was room: then the alarm may have to be set."""
        self.outlet.also_held = lambda: len(self._items)

    def on_next(self, element: Any, /) -> None:
        """Hold an element; all in one method, since it is called with each."""
        if element is None:
            element_or_raise(element, "on_next")
        if self.over:
            return
        self._arrived += 1
        items = self._items
        items.append(element)
        count = len(items)
        if count >= self._count:
            self._full()
        elif count == 1:
            self.alarm.set(self._seconds, self._number)
        if self._arrived >= self._asked:
            self.ask()

    def on_chunk(self, elements: Sequence[Any], /) -> None:
        """Hold several elements, list by list."""
        at = 0
        while at < len(elements) and not self.over:
            items = self._items
            some = elements[at : at + max(self._count - len(items), 1)]
            at += len(some)
            self._arrived += len(some)
            items += some
            count = len(items)
            if count >= self._count:
                self._full()
            elif count == len(some):
                self.alarm.set(self._seconds, self._number)
        if self._arrived >= self._asked:
            self.ask()

    def basket(self) -> Basket:
        """Return itself."""
        return self

    @property
    def put(self) -> Callable[[Any], object]:
        """Return what holds one more."""
        return self._items.append

    def room(self, most: int, /) -> int:
        """Return how many elements only have to be held: those between the first and the last of a list."""
        self.stop.clear()  # before it is looked
        with self.lock:
            held = len(self._items)
            self._put_before = self._emitted + held
        room = self._room = min(most, max(self._count - held - 1, 0)) if held and not self.over else 0
        self._arrived += room
        return room

    def filled(self) -> int:
        """Take note of how many were put in."""
        with self.lock:
            count = self._emitted + len(self._items) - self._put_before
        self._arrived -= self._room - count
        if self.stop:
            self._set_again()
        if self._arrived >= self._asked:
            self.ask()
        return count

    def _full(self) -> None:
        with self.lock:
            full = len(self._items) >= self._count  # else its time was up meanwhile
            if full:
                self._emit()
        if full:
            self.alarm.call_off()
            self.outlet.wake()

    def rang(self, number: int) -> None:
        with self.lock:
            of_this = self._number == number  # else another thread has set it for a list that was emitted meanwhile
            self._late = self._late or of_this
            emits = self._emit_if_late()
        if emits or not of_this:
            self._set_again()
        if emits:
            self.outlet.wake()

    def ended(self, error: Exception | None) -> None:
        with self.lock:
            if self._items:
                self._emit()
        self.outlet.complete(error)

    def _emit(self) -> None:
        """Queue the list that is held; under the lock."""
        if not self.stop:
            self.stop.append(None)  # first, so that an element that is put in behind those is seen
        count = len(self._items)
        items = self._items[:count]
        del self._items[:count]
        self._emitted += count
        self._number += 1
        self._late = False
        self._sizes.append(count)
        self.outlet.queue.append(items)

    def _emit_if_late(self) -> bool:
        late = self._late and self.outlet.demand > len(self.outlet.queue)
        if late:
            self._emit()
        return late

    def _set_again(self) -> None:
        """Set the alarm for what came while others were taken."""
        if self._items:
            self.alarm.set(self._seconds, self._number)

    def requested(self, _: int) -> None:
        with self.lock:
            emits = self._emit_if_late()
        if emits:
            self._set_again()
        self.ask()

    def taken(self, lists: int) -> None:
        with self.lock:
            for _ in range(lists):
                self._released += self._sizes.popleft()
            emits = self._emit_if_late()
        if emits:
            self._set_again()
        self.ask()

    def ask(self) -> None:
        """Ask upstream for what lists that are asked for need, and there is room for."""
        with self.lock:
            if not self.here or self.outlet.closed:
                return
            came = self._arrived
            credit = self.credit
            credit.owed, credit.held = max(0, self._asked - came), came - self._released
            count = credit.ask(self.outlet.demand * self._count)
            self._asked = came + credit.owed
        if count:
            self.request(count)

    def closed(self) -> None:
        self.alarm.close()
        self.stop.append(None)
        self._items = []
