"""seat: the outlet of one among several subscribers, and the lease by which elements go past its queue.

A seat's subscriber may come later than its elements (`serve`), and brings its own context: whatever is signalled to it
is signalled there, whichever thread brings it. A copy of a context costs as much as a call, two copies are never in
each other's way, and nothing is paid where the contexts are alike.

The lease. Where everything was asked for and nothing waits, those who give elements to a seat, or the same elements to
several, keep the turns between two elements, and deliver without looking at anything. One token says who may give.
Another thread that needs a turn says `_wanted` first and then tries to take the token. If it gets it, it puts all
turns back; if not, the one who gives does so, who puts the token back first and then looks whether a turn is wanted. So
a wish is not forgotten, and no two threads have a turn at a time. The token of a lease that is over is never put back.
What changes meanwhile waits for the subscriber that an element is being given to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from functools import partial
from threading import Lock
from typing import Any

from penstock.engine.grounds.cold_paths import nobody, rejected, too_late
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.places.context import alike, run_in
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.trampoline import run_all
from penstock.spec.interfaces import Subscriber

Taker = tuple["Seat", Callable[[Any], None]]


class Lease:
    """The turns of some seats whose subscribers have asked for everything; made by `leased`."""

    __slots__ = ("_context", "_takers", "_token", "_wanted", "seats")

    def __init__(self, seats: Sequence[Seat]) -> None:
        self.seats: Sequence[Seat] = seats
        """Whose turns are kept; none when it is over."""
        self._context: Context | None = None
        """Where all subscribers are at home; elements are carried there once for all of them."""
        self._takers: tuple[Taker, ...] = ()
        self._token: list[None] = []
        self._wanted = False

    def begin(self) -> None:
        """Take the turns, or put them back if there is something to do with any of them."""
        seats = self.seats
        lent = [seat.lend(self) for seat in seats]
        context = seats[0].context
        together = context is not None and all(alike(context, seat.context) for seat in seats)
        self._context = context if together else None
        self._takers = tuple([(seat, seat.on_next if together else seat.pass_on) for seat in seats])
        self._token.append(None)
        if not all(lent) or self._wanted:
            self.let_go()

    def let_go(self) -> bool:
        """Put the turns back, or leave that to the thread that is giving an element; tell which."""
        self._wanted = True
        try:
            self._token.pop()
        except IndexError:
            return False
        seats, self.seats, self._takers = self.seats, (), ()
        run_all(deque(partial(seat.take_back, self) for seat in seats))
        return True

    def give(self, element: Any, at_home: bool = False) -> bool:
        """Give an element to all, unless another thread does or a turn is wanted; tell whether it was given."""
        if self._context is not None and not at_home:
            return self._context.copy().run(self.give, element, True)
        token = self._token
        try:
            token.pop()
        except IndexError:
            return False
        seat, wanted, returned = None, self._wanted, False
        try:
            if not wanted:
                for seat, take in self._takers:
                    if not seat.closed:
                        take(element)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 2.13
            rejected("on_next", error)
        finally:
            try:
                if not returned and seat is not None:
                    self._leave_behind(seat, element)
            finally:
                token.append(None)
                if self._wanted:
                    self.let_go()
        return not wanted

    def _leave_behind(self, raised: Seat, element: Any) -> None:
        """Leave nothing open behind a subscriber that raised, or was interrupted; those after it get the element."""
        self._wanted = True
        for seat in self.seats[self.seats.index(raised) + 1 :]:
            seat.queue.appendleft(element)  # it is delivered when the turn is put back
        raised._abandon()


def leased(seats: Sequence[Seat]) -> Lease | None:
    """Keep the turns of seats from now on, where everything is asked for and nothing waits; return what keeps them."""
    for seat in seats:
        if seat.asked < UNBOUNDED or not seat.turn:
            return None
    if not seats:
        return None
    lease = Lease(seats)
    lease.begin()
    return lease if lease.seats else None


class FailureWord:
    """The word of a failure that goes to several subscribers; if none of them hears it, it goes to the hook."""

    __slots__ = ("_lock", "_waiting", "heard")

    def __init__(self, waiting: int = 0) -> None:
        self._lock = Lock()
        self._waiting = waiting
        """How many are still to be told."""
        self.heard = False

    def to_one_more(self) -> None:
        """Count one who is to be told."""
        with self._lock:
            self._waiting += 1

    def told(self, error: Exception, *, heard: bool) -> None:
        """Know that one of them was told, or has cancelled before."""
        with self._lock:
            self._waiting -= 1
            self.heard = self.heard or heard
            lost = not self._waiting and not self.heard
        if lost:
            too_late(error)


class Seat(Outlet[Any]):
    """The outlet of a subscriber that has its own context."""

    __slots__ = ("_lease", "context", "on_next", "pass_on", "taken", "word")

    def __init__(self, downstream: Subscriber[Any] | None = None) -> None:
        super().__init__(None)
        self.context: Context | None = None
        """Where its subscriber is at home; None if elements come there."""
        self.taken = False
        """Whether its subscriber has come."""
        self.on_next: Callable[[Any], None] = nobody
        self.pass_on: Callable[[Any], None] = nobody
        """What takes an element that is handed on, in the subscriber's context."""
        self._lease: Lease | None = None
        """What keeps the turn."""
        self.word: FailureWord | None = None
        """What counts those who are told of a failure; None if no others are."""
        if downstream is not None:
            self.serve(downstream)

    def serve(self, downstream: Subscriber[Any]) -> None:
        """Take the subscriber and its context."""
        super().serve(downstream)
        self.taken = True
        context, on_next = copy_context(), downstream.on_next
        self.context, self.on_next = context, on_next
        self.pass_on = lambda element: context.copy().run(on_next, element)

    def joins(self, run: Context) -> None:
        """Be told in which context elements come: if it is no other, they need not be carried."""
        if self.context is not None and alike(run, self.context):
            self.context = None
            self.pass_on = self.on_next

    def give(self, element: Any) -> bool:
        """Deliver an element past the queue, if it was asked for and no other thread delivers; tell whether it was."""
        lease = self._lease
        if lease is not None and lease.give(element):
            return True
        if not self.turn:  # looked at first: who sees a turn sees the subscriber, too, that has opened the seat
            return False
        given = self.hand_on(self.pass_on, element)
        if given and self._clear:
            leased((self,))
        return given

    def lend(self, lease: Lease) -> bool:
        """Let a lease have the turn, if everything was asked for and there is nothing to do with it; tell whether."""
        if not self._takes_turn():
            return False
        self._lease = lease  # before the look: who changes anything from now on tells the lease
        return self.asked >= UNBOUNDED and not (self.queue or self._done or self.closed)

    def take_back(self, lease: Lease) -> None:
        """Have the turn again, if it was lent, and do what others have left to do."""
        if self._lease is lease:
            self._lease = None
            self._stirred = True
            self.turn.append(None)
            self._look()

    def wake(self) -> None:
        """Drain, unless another thread does already."""
        lease = self._lease
        if lease is None or lease.let_go():  # else who gives looks when the turn is back
            super().wake()

    def _schedule(self) -> None:
        context = self.context
        if context is None:
            self._drain()
        else:
            run_in(context, self._drain)

    def unheard(self, error: Exception) -> None:
        """Leave the failure to those who hear it."""
        if self.word is None:
            super().unheard(error)
        else:
            self.word.told(error, heard=False)

    def _end(self) -> None:
        error = None if self._cancelled else self._error
        super()._end()
        if error is not None and self.word is not None:
            self.word.told(error, heard=True)

    def _let_go(self) -> None:
        self.pass_on = self.on_next = nobody  # rule 3.13
        super()._let_go()
