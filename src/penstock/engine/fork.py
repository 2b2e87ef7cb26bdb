"""fork: one run of a chain whose elements go to one of two sides.

A run begins with the first subscriber of either side; the first subscriber of the other side takes part in it, early or
late. Elements of a side that has no room for more go by its policy; one that nobody has subscribed to yet holds `size`
elements like any other. Upstream is asked for what the more eager side asks for, or under Slow.WAIT for no more than
both have room for, come or not. A side whose subscriber is gone takes nothing and holds back nobody.

Whoever comes when a side is taken begins a run of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

from penstock.engine.chain import Chain, connect
from penstock.engine.cold_paths import too_late
from penstock.engine.context import kept_here
from penstock.engine.demand import add
from penstock.engine.hub import Slow
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part, height_of
from penstock.errors import OverflowedError
from penstock.spec.interfaces import Subscriber, Subscription

Choose = Callable[[Any], int]
"""Say to which side an element goes: 0 or 1."""


class _Side:
    """Be one side of a run; its elements are counted as they are asked for and as they come."""

    __slots__ = ("asked", "came", "error", "gone", "outlet", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque()
        self.outlet: Outlet[Any] | None = None
        self.asked = 0
        self.came = 0
        self.gone = False
        """Whether it takes no more: its subscriber has cancelled, or it fell behind."""
        self.error: Exception | None = None
        """What whoever comes is told after what waits."""

    @property
    def queue(self) -> deque[Any]:
        """Return where elements wait."""
        return self.waiting if self.outlet is None else self.outlet.queue


class ForkRun(Part):
    """Be the subscriber of the one run."""

    def __init__(self, operator: str, choose: Choose, size: int, slow: Slow, height: int) -> None:
        self.height = height
        self._operator = operator
        self._choose = choose
        self._size = size
        self._half = (size + 1) // 2
        self._slow = slow
        self._lock = Lock()
        self._sides = (_Side(), _Side())
        self._outstanding = 0
        self._upstream: Subscription | None = None
        self._done = False
        self.over = False
        """Whether nobody can take part any more, since the last one has left."""

    def join(self, place: int, downstream: Subscriber[Any]) -> bool:
        """Take a side; tell whether the run was still good for it."""
        side = self._sides[place]
        with self._lock:
            if self.over:
                return False
            joins = any(other.outlet is not None for other in self._sides)
            # The run has the context of who began it; whoever joins has another.
            outlet = side.outlet = Outlet(downstream, kept_here() if joins else None)
            outlet.on_request = lambda n: self._requested(side, n)
            outlet.on_taken = self._taken
            outlet.on_cancel = lambda: self._leave(side)
            outlet.queue.extend(side.waiting)
            side.waiting.clear()
            done = self._done or side.error is not None
            error, side.error = side.error, None
        if done:
            outlet.complete(error)
        outlet.open()
        return True

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream, closed=self._done):
            return
        self._upstream = subscription
        self._ask()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        try:
            side = self._sides[self._choose(element)]
        except Exception as error:  # noqa: BLE001  rule 1.4: `choose` has said already who raised
            self._end(error, cancel=True)
            return
        behind = False
        with self._lock:
            self._outstanding -= 1
            outlet = side.outlet
            if not side.gone:
                if len(side.queue) < self._size:
                    side.came += 1
                    if outlet is None:
                        side.waiting.append(element)
                else:
                    behind = True
            takes = outlet is not None and not side.gone and not behind
        if takes and outlet is not None:
            outlet.offer(element)
        elif behind and self._slow is Slow.ERROR:
            self._left_behind(side)
        if self._outstanding <= self._half:
            self._ask()

    def _left_behind(self, side: _Side) -> None:
        """Fail a side that has no room for an element; the other one goes on."""
        error = OverflowedError(
            f"{self._operator}: this side is {self._size} elements behind the other one; take both at the same time, "
            "raise size, or let it miss elements with slow=Slow.DROP"
        )
        with self._lock:
            side.gone = True
            if side.outlet is None:
                side.error = error
            outlet = side.outlet
        if outlet is not None:
            outlet.complete(error)

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._end(error)

    def on_complete(self) -> None:
        self._end(None)

    def _end(self, error: Exception | None, *, cancel: bool = False) -> None:
        with self._lock:
            late, self._done = self._done, True
            upstream, self._upstream = self._upstream, None
            for side in self._sides:
                if side.outlet is None and side.error is None:
                    side.error = error
        if cancel and upstream is not None:
            upstream.cancel()
        if late:
            too_late(error)
            return
        for side in self._sides:
            if side.outlet is not None:
                side.outlet.complete(error)

    def _requested(self, side: _Side, n: int) -> None:
        with self._lock:
            side.asked = add(side.asked, n)
        self._ask()

    def _taken(self, _: int) -> None:
        if self._slow is Slow.WAIT:  # what was taken has made room
            self._ask()

    def _ask(self) -> None:
        """Ask for what the more eager side asks for, at most `size` at a time; under WAIT, for what both have room."""
        with self._lock:
            upstream = self._upstream
            if upstream is None or self._done:
                return
            wanted, room = 0, self._size
            for side in self._sides:
                if not side.gone:
                    wanted = max(wanted, side.asked - side.came)
                    if self._slow is Slow.WAIT:
                        room = min(room, self._size - len(side.queue))
            more = min(wanted, room) - self._outstanding
            # Within a window that is not used up, wait until half of it is free: requests are not for free.
            if more <= 0 or (room < wanted and self._outstanding and more < self._half):
                return
            self._outstanding += more
        upstream.request(more)

    def _leave(self, side: _Side) -> None:
        with self._lock:
            side.gone = True
            last = not self._done and all(each.gone or each.outlet is None for each in self._sides)
            if last:
                self._done = self.over = True
                for each in self._sides:
                    each.waiting.clear()
            upstream = self._upstream
        if last and upstream is not None:
            upstream.cancel()
        elif not last:
            self._ask()


class Fork:
    """Hold the run that has a side to take; a fresh one when there is none."""

    __slots__ = ("_lock", "_run", "_taken")

    def __init__(self) -> None:
        self._lock = Lock()
        self._run: ForkRun | None = None
        self._taken: set[int] = set()

    def join(
        self,
        place: int,
        operator: str,
        chain: Chain,
        downstream: Subscriber[Any],
        choose: Choose,
        size: int,
        slow: Slow,
    ) -> None:
        """Take a side of the run at hand, or of a fresh one, which begins with it."""
        while True:
            with self._lock:
                run = self._run
                start = run is None or run.over or place in self._taken
                if run is None or start:
                    run = self._run = ForkRun(operator, choose, size, slow, height_of(downstream) + 1)
                    self._taken = set()
                self._taken.add(place)
                if len(self._taken) == 2:
                    self._run = None  # nobody else can take part
            if run.join(place, downstream):
                if start:
                    connect(chain, run)
                return

    def __reduce__(self) -> tuple[type[Fork], tuple[()]]:
        return (Fork, ())
