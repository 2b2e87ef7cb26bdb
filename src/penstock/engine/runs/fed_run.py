"""fed_run: a run of stages behind a joint, fed by signals instead of by an iterator.

The woven loop iterates over a queue. When the queue is empty the loop says STARVED and rests; the next element wakes
it where it was. Upstream is asked for what is wanted below and no more: `_outstanding` is what it still owes, and the
loop tells at the gate how its stages stand, so that neither `take` nor `buffer` asks for more than it lacks. Elements
of a stage's own that come first (`headed`) are delivered before anything is asked, and before a failure that came
meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import length_hint
from typing import Any

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import accepts, element_or_raise
from penstock.engine.runs.drain import DrainRun
from penstock.engine.weaving.segment import STARVED, Segment
from penstock.engine.words.demand import UNBOUNDED, add
from penstock.engine.words.part import height_of
from penstock.engine.words.queued import look
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import LoopGate

_HUNGRY = (STARVED,)


class FedRun(DrainRun):
    """The subscriber of a joint and the subscription of what follows it."""

    __slots__ = (
        "_asked", "_chunk", "_done", "_error", "_heads", "_left", "_missed", "_outstanding", "_queue", "_upstream",
        "height",
    )  # fmt: skip

    def __init__(self, segment: Segment, subscriber: Subscriber[Any]) -> None:
        super().__init__(segment, self._feed, 0 if segment.never_asks else None, subscriber)
        if not segment.never_asks:
            self._gate.left = self._more
        self._gate.leave = self._leave
        self.height = height_of(subscriber) + 1
        self._queue: deque[list[Any]] = deque()
        self._chunk: Iterator[Any] = iter(())
        self._upstream: Subscription | None = None
        self._outstanding = 0
        self._asked = False
        self._heads = segment.habits.headed
        self._done = self._left = False
        self._missed = False
        self._error: Exception | None = None

    def pending(self) -> int:
        """Return how many elements wait to go into the loop; those who listen read it from any thread."""
        return sum(map(len, look(self._queue))) + length_hint(self._chunk)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, or refuse a second one."""
        if accepts(subscription, self._upstream):
            self._upstream = subscription
            self.start()

    def on_next(self, element: Any, /) -> None:
        """Take one element that was asked for."""
        if element is None:
            element_or_raise(element, "on_next")
        self._queue.append([element])
        self._wake(1)

    def on_chunk(self, elements: list[Any], /) -> None:
        """Take several elements that were asked for, as one."""
        self._queue.append(elements)
        self._wake(len(elements))

    def on_error(self, error: Exception, /) -> None:
        """Take upstream's failure; it follows the elements that came before it."""
        element_or_raise(error, "on_error")
        with self._lock:
            late = self._gate.over or self._left
            if not late:
                self._error = error
        if late:
            too_late(error)
        self.on_complete()

    def on_complete(self) -> None:
        """Take upstream's end."""
        self._done = True
        self._wake(0)

    def _wake(self, arrived: int) -> None:
        with self._lock:
            if self._gate.over:
                if self._subscriber is None:  # else the drain lets go of them
                    self._queue.clear()  # rule 2.8: late elements are expected, and are dropped
                return
            if self._outstanding < UNBOUNDED:
                self._outstanding -= arrived
            if self._draining:
                self._missed = True
                return
            self._draining = True
        self._drain()

    def _feed(self, _: LoopGate | None) -> Iterator[Any]:
        self._heads = False
        return chain.from_iterable(self._chunks())

    def _chunks(self) -> Iterator[Iterable[Any]]:
        queue = self._queue
        while True:
            while queue:
                self._chunk = iter(queue.popleft())
                yield self._chunk
            if self._done and self._error is None:
                return  # a failure is no end: the loop's tails must not follow it
            yield _HUNGRY

    def _leave(self) -> None:
        """Cancel upstream: the loop reads nothing more of it, not even its failure."""
        with self._lock:
            error, self._error = self._error, None
            self._left = True
        too_late(error)
        self._cancel_upstream()

    def _more(self) -> bool:
        """Tell whether upstream may have more."""
        return not (self._done and self._used_up)

    @property
    def _used_up(self) -> bool:
        """Tell whether everything that came from upstream has gone into the loop."""
        return not self._queue and not length_hint(self._chunk)

    def _open(self) -> Iterator[Any]:
        loop: Iterator[Any] = self._segment.open_form("fed", self._feed, self._gate)
        self._iterator = self._loop = loop
        return loop

    def _look_for_end(self) -> bool:
        if self._error is not None and self._used_up and not self._heads and self._iterator is None:
            self._fail()
            return True
        return super()._look_for_end()

    def _fail(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            for stage in self._segment.stages:
                stage.saw(error)
        self._finish(error)

    def _starved(self, todo: int) -> bool:
        if self._done and not self._queue and self._error is not None:
            self._fail()
            return True
        with self._lock:
            if self._demand < UNBOUNDED:
                self._demand = add(self._demand, todo)
            if self._missed or self._gate.over or self._queue or self._done:
                self._missed = False
                return False
            told, owed = self._gate.stands, self._outstanding
            stands = {start + index: count for start, tell in told for index, count in tell().items()} if told else {}
            want = self._segment.wanted(self._demand, owed if owed > 0 else 0, stands, first=not self._asked)
            self._asked = True
            if want > 0:
                self._outstanding = add(owed, want)
            self._draining = False
            upstream = self._upstream
        if want > 0 and upstream is not None:
            upstream.request(want)
        return True

    def _stopped(self) -> None:
        error, self._error = self._error, None
        super()._stopped()
        too_late(error)

    def _let_go(self) -> Subscriber[Any]:
        self._queue.clear()
        self._chunk = iter(())  # it keeps its elements until it is used up
        try:
            self._cancel_upstream()
        finally:
            subscriber = super()._let_go()
        return subscriber

    def _cancel_upstream(self) -> None:
        """Cancel upstream, unless it has ended."""
        done, self._done = self._done, True
        if self._upstream is not None and not done:
            self._upstream.cancel()
