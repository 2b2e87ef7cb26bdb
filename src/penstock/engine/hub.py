"""hub: one run of a chain for several subscribers.

Nothing is read before somebody asks. Upstream is asked for what the most eager subscriber asks for, or, under
Slow.WAIT, the least eager one, and never for more than `size` elements beyond what that one has taken. Every subscriber
has an outlet of its own that holds at most `size` live elements. What a subscriber does with an element it does on the
thread that brings it: one that takes its time there, without publish_on, takes everybody's.

A run begins with its first subscriber and is cancelled after its last, unless it is begun by hand (`Hub.begin`): then
it waits for subscribers that are to come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from enum import Enum
from functools import partial
from threading import Lock
from typing import Any

from penstock.engine.chain import Chain, connect
from penstock.engine.cold_paths import too_late
from penstock.engine.context import alike, run_in
from penstock.engine.demand import UNBOUNDED, add
from penstock.engine.dropped import drop
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part, height_of
from penstock.errors import OverflowedError, RunCancelledError
from penstock.spec.interfaces import Subscriber, Subscription


class Slow(Enum):
    """Say what becomes of a subscriber that falls behind the others."""

    ERROR = "error"
    """It fails with OverflowedError; the others go on."""
    DROP = "drop"
    """It misses the elements it has no room for; the others go on."""
    WAIT = "wait"
    """All wait for it."""


class _Member:
    """Be one subscriber's place: how much it has asked for, and how much has come, what was kept for it included.

    One that has asked for everything and has nothing waiting is served `straight`: its outlet is held, so that nobody
    else drains it, and elements go past it. `busy` says that one is being delivered so. Whoever ends it says `over`
    first and then looks whether it is busy; if so the end is left to the one who delivers, who looks at `over` after.
    """

    __slots__ = ("asked", "busy", "came", "context", "direct", "outlet", "over", "pass_on", "replayed", "straight")

    def __init__(self, downstream: Subscriber[Any], replayed: int, begins: bool) -> None:
        # The run has the context of who begins it; whoever joins may have another, and is given its elements there.
        self.context = copy_context()
        self.direct = begins
        self.outlet: Outlet[Any] = Outlet(downstream, None if begins else partial(run_in, self.context))
        self.outlet.on_close = self._let_go
        self.pass_on: Callable[[Any], None] = downstream.on_next
        self.asked = 0
        self.came = self.replayed = replayed
        """How many of the elements in its queue were kept from before it came."""
        self.straight = False
        self.busy = False
        self.over = False

    def joined(self, run: Context) -> None:
        """Be told of the context of the run: if it is no other, an element need not be carried into it."""
        self.direct = self.direct or alike(run, self.context)

    def hold(self) -> None:
        """Serve it straight from now on, if it has asked for everything and nothing waits."""
        outlet = self.outlet
        with outlet.lock:
            if outlet.idle and outlet.demand == UNBOUNDED and not outlet.queue and not outlet.closed and not self.over:
                outlet.idle = False
                self.straight = True

    def deliver(self, element: Any) -> None:
        """Deliver an element straight, then an end that came meanwhile."""
        self.busy = True
        returned = False
        try:
            self.pass_on(element)
            returned = True
        except Exception as error:  # noqa: BLE001  rule 2.13
            returned = True
            self.outlet.cancel()
            drop("rule 2.13: the subscriber raised in on_next", error)
        finally:
            if not returned:  # a KeyboardInterrupt or its like passes
                self.outlet.cancel()
            self.busy = False
            if self.over:
                self.loosen()
                self.outlet.wake()

    def ends(self) -> None:
        """Be about to end: let go of the outlet, unless an element is being delivered past it."""
        self.over = True
        if not self.busy:
            self.loosen()

    def loosen(self) -> None:
        """Let the outlet be drained by whoever wakes it."""
        with self.outlet.lock:
            if self.straight:
                self.straight = False
                self.outlet.idle = True

    def _let_go(self) -> None:
        self.pass_on = _nobody  # rule 3.13


def _nobody(_: Any, /) -> None:
    """Take an element that comes after the end."""


def _uncounted(_: int) -> None:
    """Leave the counting to whoever passes an element on."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Say on what terms subscribers share a run."""

    operator: str
    size: int
    slow: Slow = Slow.ERROR
    kept: int = 0
    """How many of the latest elements late subscribers get."""
    whole: bool = False
    """Whether all elements must fit into what is kept, and a run that failed is not kept at all."""
    by_hand: bool = False
    """Whether the run is begun by hand, and does not end with its last subscriber."""


class _Broadcast(Part):
    """Be the subscriber of the one run.

    `_sent` and each member's `came` are written by the thread that brings an element and by no other, so that thread
    needs no lock for them; what is kept for later is guarded by it. While an element is on its way it counts as still
    to come, also for who joins meanwhile and does not get it: too little is asked for then, and the rest soon after.
    """

    def __init__(self, terms: Terms) -> None:
        self.height = 0
        self.begun = False
        self._context: Context | None = None
        self._terms = terms
        self._operator = terms.operator
        self._size = terms.size
        self._half = (terms.size + 1) // 2
        self._slow = terms.slow
        self._lock = Lock()
        self._members: tuple[_Member, ...] = ()
        self._kept: deque[Any] = deque(maxlen=terms.kept)
        self._sent = 0
        self._asked = 0
        self._upstream: Subscription | None = None
        self.done = False
        self._error: Exception | None = None
        self.cancelled = False

    def join(self, downstream: Subscriber[Any]) -> bool:
        """Add a subscriber; tell whether the run is still good for one."""
        with self._lock:
            if self.cancelled or (self.done and self._kept.maxlen == 0):
                return False
            self.height = max(self.height, height_of(downstream) + 1)
            member = _Member(downstream, len(self._kept), not self._terms.by_hand and not self._members)
            if self._context is not None:
                member.joined(self._context)
            member.outlet.on_request = lambda n: self._requested(member, n)
            member.outlet.on_taken = lambda count: self._taken(member, count)
            member.outlet.on_cancel = lambda: self._leave(member)
            member.outlet.queue.extend(self._kept)
            done, error = self.done, self._error
            if not done:
                self._members = (*self._members, member)
        if done:
            member.outlet.complete(error)
        member.outlet.open()
        return True

    def begin(self, chain: Chain) -> None:
        """Begin the run, in the context of here and now."""
        with self._lock:
            self._context = copy_context()
            for member in self._members:
                member.joined(self._context)
        connect(chain, self)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream, closed=self.cancelled):
            return
        self._upstream = subscription
        self._ask()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        for member in self._keep(element) if self._kept.maxlen else self._members:
            if member.straight:
                member.came += 1
                member.deliver(element)
                continue
            outlet = member.outlet
            if outlet.idle and member.direct and outlet.hand_on(member.pass_on, element, _uncounted):
                member.came += 1
                member.hold()
            elif len(outlet.queue) - member.replayed < self._size or self._slow is Slow.WAIT:
                member.came += 1
                outlet.queue.append(element)
                if outlet.idle:
                    outlet.wake()
            elif self._slow is Slow.ERROR and not outlet.closed:
                message = f"{self._operator}: this subscriber is {self._size} elements behind the fastest one"
                self._finish(member, OverflowedError(message))
                self._leave(member)
        self._sent += 1  # only now: until all have it, it is neither here nor there, and must not be asked for again
        if self._asked - self._sent <= self._half:
            self._ask()

    def _keep(self, element: Any) -> tuple[_Member, ...]:
        """Keep an element for those who come later, and return those who are here."""
        with self._lock:
            overfull = self._terms.whole and len(self._kept) == self._kept.maxlen
            self._kept.append(element)
            members = self._members
        if not overfull:
            return members
        message = f"{self._operator}: there are more than {self._size} elements; raise size, or say replay(count)"
        self.stop(OverflowedError(message))
        return ()

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._end(error)

    def on_complete(self) -> None:
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        with self._lock:
            late = self.done or self.cancelled
            self.done = True
            self._error = error
            if self._terms.whole and error is not None:
                self.cancelled = True  # a failure is not kept: whoever comes next starts anew
                self._kept.clear()
            if not self._kept.maxlen or self.cancelled:
                self._error = None  # rule 3.13: nobody joins any more, and its frames know a subscriber
            members, self._members = self._members, ()
        for member in members:
            self._finish(member, error)
        if late and error is not None:
            too_late(error)

    def stop(self, error: Exception) -> None:
        """Cancel the run and fail all subscribers."""
        with self._lock:
            if self.done or self.cancelled:
                return
            self.cancelled = True
            members, self._members = self._members, ()
            self._kept.clear()
            upstream = self._upstream
        if upstream is not None:
            upstream.cancel()
        for member in members:
            self._finish(member, error)

    def _finish(self, member: _Member, error: Exception | None) -> None:
        member.ends()
        member.outlet.complete(error)

    def _requested(self, member: _Member, n: int) -> None:
        with self._lock:
            member.asked = add(member.asked, n)
        self._ask()

    def _taken(self, member: _Member, count: int) -> None:
        if member.replayed:
            with self._lock:
                member.replayed -= min(member.replayed, count)
        self._ask()

    def _ask(self) -> None:
        """Ask upstream for what the deciding subscriber asks for, as far as that one has room for `size` elements."""
        with self._lock:
            if self._upstream is None or self.done or not self._members:
                return
            decides = min if self._slow is Slow.WAIT else max
            allowed, wanted = decides([self._wanted(member) for member in self._members])
            more = allowed - (self._asked - self._sent)
            # Within a window that is not used up, wait until half of it is free: requests are not for free.
            if more <= 0 or (allowed < wanted and more < self._half):
                return
            self._asked += more
            upstream = self._upstream
        upstream.request(more)

    def _wanted(self, member: _Member) -> tuple[int, int]:
        """Return how much a subscriber may be sent, and how much of what it asks for has not come."""
        wanted = member.asked - member.came
        return min(wanted, self._size - len(member.outlet.queue) + member.replayed), wanted

    def _leave(self, member: _Member) -> None:
        member.ends()
        with self._lock:
            if member not in self._members:
                return
            self._members = tuple(each for each in self._members if each is not member)
            last = not self._members and not self.done and not self._terms.by_hand
            if last:
                self.cancelled = True
                self._kept.clear()
            upstream = self._upstream
        if last and upstream is not None:
            upstream.cancel()
        elif not last:
            self._ask()


class Connection:
    """Be a run that was begun by hand; used as a context manager it ends with the block."""

    __slots__ = ("_broadcast",)

    def __init__(self, broadcast: _Broadcast) -> None:
        self._broadcast = broadcast

    @property
    def over(self) -> bool:
        """Tell whether the run has ended or was cancelled."""
        return self._broadcast.done or self._broadcast.cancelled

    def cancel(self) -> None:
        """End the run; its subscribers fail with RunCancelledError."""
        self._broadcast.stop(RunCancelledError("publish: the connection was cancelled"))

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.cancel()


class Hub:
    """Hold the run that subscribers join; a fresh one when there is none to join."""

    __slots__ = ("_broadcast", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._broadcast: _Broadcast | None = None

    def join(self, terms: Terms, chain: Chain, downstream: Subscriber[Any]) -> None:
        """Join the run at hand, or a fresh one, which is begun with this unless it is begun by hand."""
        while True:
            broadcast = self._at_hand(terms)
            if broadcast.join(downstream):
                if not terms.by_hand:
                    self._begin(chain, broadcast)
                return
            self._forget(broadcast)

    def begin(self, terms: Terms, chain: Chain) -> Connection:
        """Begin the run at hand, or a fresh one, and return it; if it has begun already, that is all."""
        broadcast = self._at_hand(terms)
        if broadcast.done or broadcast.cancelled:
            self._forget(broadcast)
            broadcast = self._at_hand(terms)
        self._begin(chain, broadcast)
        return Connection(broadcast)

    def _at_hand(self, terms: Terms) -> _Broadcast:
        with self._lock:
            broadcast = self._broadcast
            if broadcast is None:
                broadcast = self._broadcast = _Broadcast(terms)
            return broadcast

    def _begin(self, chain: Chain, broadcast: _Broadcast) -> None:
        with self._lock:
            begun, broadcast.begun = broadcast.begun, True
        if not begun:
            broadcast.begin(chain)

    def _forget(self, broadcast: _Broadcast) -> None:
        with self._lock:
            if self._broadcast is broadcast:
                self._broadcast = None

    def __reduce__(self) -> tuple[type[Hub], tuple[()]]:
        return (Hub, ())
