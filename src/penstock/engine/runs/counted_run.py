"""counted_run: a pushed run whose stages count, and the choice between the two kinds.

A `CountedRun` counts what was asked for, asked of upstream, has come and was delivered, for stages that take only so
many, need several to make one, end early, or have something to add at the end; that is delivered as it is asked for, by
a separate run. `pushed` chooses between it and the plain `PushRun`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from penstock.engine.grounds.cold_paths import interrupts_told, too_late
from penstock.engine.runs.drain import DrainRun
from penstock.engine.runs.pushed_run import PushRun
from penstock.engine.weaving.segment import Segment
from penstock.engine.words.demand import UNBOUNDED, add, legal
from penstock.engine.words.trampoline import run_all
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import LoopGate

MOST_STAGES = 100


def pushed(segment: Segment, subscriber: Subscriber[Any]) -> PushRun | None:
    """Return the run that pushes elements through a segment, or None if a stage of it needs a loop."""
    habits = segment.habits
    if habits.expands or habits.headed or not 0 < len(segment.stages) <= MOST_STAGES or not segment.one_loop:
        return None
    counts = habits.capped or habits.ends or habits.tailed or habits.calls or habits.gathers
    return CountedRun(segment, subscriber) if counts else PushRun(segment, subscriber)


class CountedRun(PushRun):
    """A PushRun of stages for which demand has to be counted.

    `_requested`, `_asked` and `_tail` are guarded by the lock; `_delivered` and `_arrived` are written by the thread
    that brings elements. An element is counted as delivered before it is counted as arrived, so that a thread that asks
    meanwhile asks for too little; the thread that brings elements asks again when nothing is owed.
    """

    __slots__ = ("_beginning", "_begun", "_delivered", "_requested", "_tail")

    def __init__(self, segment: Segment, subscriber: Subscriber[Any]) -> None:
        super().__init__(segment, subscriber, counts=True)
        self._requested = self._delivered = 0
        self._beginning = self._begun = False
        self._tail: _Tail | None = None
        on_next = subscriber.on_next

        def counted(element: Any) -> None:
            self._delivered += 1
            on_next(element)

        self.deliver = counted

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription; a stage that takes no element needs no request to end."""
        super().on_subscribe(subscription)
        if self._segment.never_asks and self._upstream is subscription:
            self.last()
            self._go_on()

    def _begin(self) -> None:
        if not self._segment.habits.calls:  # a user's function is not called before the first request
            super()._begin()
            self._begun = True

    def _begins(self) -> None:
        """Set the variables of the stages, unless another thread does or did, and go on with what has come since."""
        with self._lock:
            if self._beginning or self._over:
                return
            self._beginning = True
        try:
            with interrupts_told(self._fail):
                super()._begin()
        except Exception as error:  # noqa: BLE001  rule 1.4
            self._refuse(error)
            return
        self._begun = True
        self._go_on()

    def last(self) -> None:
        """Be told by a stage that nothing more is read of upstream."""
        self._last = self._stop = True

    def _leave(self) -> None:
        """Cancel upstream, of which nothing more is read."""
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()

    def _go_on(self) -> None:
        """End behind the last element, or ask for more if nothing is owed."""
        if self._last:
            run_all(deque([self._leave, self._finish]))
        else:
            self._ask()

    def on_error(self, error: Exception, /) -> None:
        """Pass a failure on, unless the stages have had enough."""
        if self._last and error is not None:
            too_late(error)
        else:
            super().on_error(error)

    def on_complete(self) -> None:
        """Pass the end on, after what the stages have made of all elements."""
        if self._last:
            return
        self._upstream = None
        self.last()
        if self._begun:
            self._finish()
        else:
            self._begins()

    def _finish(self) -> None:
        """Deliver what follows the last element, as it is asked for, or complete."""
        if not self._segment.habits.tailed:
            super().on_complete()
            return
        with self._lock:
            if self._over:
                return
            self._over = True
            assert self._subscriber is not None
            tail = self._tail = _Tail(self._tails, self._subscriber, self._open_demand())
        self._let_go()
        tail.begin()

    def request(self, n: int, /) -> None:
        """Ask for `n` more elements."""
        if type(n) is not int or n <= 0:
            n = legal(n, self._refuse)
            if not n:
                return
        with self._lock:
            tail = self._tail
            if tail is None:
                self._requested = add(self._requested, n)
        if tail is not None:
            tail.request(n)
        elif self._begun:
            self._ask()
        else:
            self._begins()

    def _open_demand(self) -> int:
        return UNBOUNDED if self._requested == UNBOUNDED else self._requested - self._delivered

    def _ask(self) -> None:
        """Ask upstream for what the stages need for the demand that is open."""
        with self._lock:
            owed = self._asked - self._arrived  # read first, so that too little is asked for meanwhile
            demand, upstream = self._open_demand(), self._upstream
            if self._over or self._last or upstream is None or demand <= 0:
                return
            want = self._segment.wanted(demand, owed, self._stands(), first=not self._asked)
            if want <= 0 or self._asked == UNBOUNDED:
                return
            self._asked = add(self._asked, want)
        upstream.request(want)

    def cancel(self) -> None:
        """End without a signal."""
        super().cancel()  # which does nothing if there is a tail
        if self._tail is not None:
            self._tail.cancel()

    def _refuse(self, error: Exception) -> None:
        super()._refuse(error)
        if self._tail is not None:
            self._tail.refuse(error)


_ALONE = Segment(())


class _Tail(DrainRun):
    """A run that delivers what follows when nothing more is read; its subscriber has its subscription already."""

    __slots__ = ()

    def __init__(self, tails: Callable[[LoopGate], Iterator[Any]], subscriber: Subscriber[Any], demand: int) -> None:
        super().__init__(_ALONE, lambda _: iter(()), 0, subscriber)  # so that its end is looked for without demand
        self._iterator = self._loop = tails(self._gate)  # a loop itself, so no other is needed around it
        self._demand = demand

    def begin(self) -> None:
        """Serve the demand that is there."""
        self._drain()

    def refuse(self, error: Exception) -> None:
        """End with the error of an illegal request."""
        self._end(error)
