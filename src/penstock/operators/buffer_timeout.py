"""buffer_timeout: collect elements into lists, for so many or so long.

Group: collect
Marble: a.buffer_timeout(3, 2, clock=clock) over (123)-4----5-|
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.timed import Timed
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.words.arguments import count_given
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
    """A run that holds one list; the alarm is set when the list's first element comes."""

    def __init__(self, step: BufferTimeout[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream, step.clock, step.count)
        self._step = step
        self._items: list[Any] = []
        self._sizes: deque[int] = deque()
        """How many elements the lists in the queue have."""
        self._late = False
        """Whether the time of the list was up while downstream asked for nothing."""
        self.outlet.also_held = lambda: len(self._items)

    def came(self, element: Any) -> None:
        with self.lock:
            self.credit.arrived()
            items = self._items
            items.append(element)
            count = len(items)
            full = count >= self._step.count
            if full:
                self._emit()
        if full:
            self.alarm.call_off()
            self.outlet.wake()
        elif count == 1:
            self.alarm.set(self._step.seconds, items)

    def rang(self, items: list[Any]) -> None:
        with self.lock:
            self._late = self._late or self._items is items
            emits = self._emit_if_late()
        if emits:
            self.outlet.wake()

    def ended(self, error: Exception | None) -> None:
        with self.lock:
            if self._items:
                self._emit()
        self.outlet.complete(error)

    def _emit(self) -> None:
        """Queue the list that is held; under the lock."""
        items, self._items = self._items, []
        self._late = False
        self._sizes.append(len(items))
        self.outlet.queue.append(items)

    def _emit_if_late(self) -> bool:
        late = self._late and self.outlet.demand > len(self.outlet.queue)
        if late:
            self._emit()
        return late

    def requested(self, _: int) -> None:
        with self.lock:
            self._emit_if_late()
        self.ask()

    def taken(self, lists: int) -> None:
        with self.lock:
            for _ in range(lists):
                self.credit.held -= self._sizes.popleft()
            self._emit_if_late()
        self.ask()

    def wanted(self) -> int:
        return self.outlet.demand * self._step.count

    def closed(self) -> None:
        self.alarm.close()
        self._items = []
