"""hub: one run of a chain for several subscribers.

Nothing is read before somebody asks. Upstream is asked for what the most eager subscriber asks for, or, under
Slow.WAIT, the least eager one, and never for more than `size` elements beyond what that one has taken. Every subscriber
has an outlet of its own that holds at most `size` live elements.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from threading import Lock
from typing import Any

from penstock.engine.chain import Chain, connect
from penstock.engine.demand import add
from penstock.engine.flat import height_of
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.errors import OverflowedError
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
    """Be one subscriber's place, counted in elements of the run: up to where it has taken, and up to where it asks."""

    __slots__ = ("asked", "outlet", "replayed", "taken")

    def __init__(self, downstream: Subscriber[Any], start: int, replayed: int) -> None:
        self.outlet: Outlet[Any] = Outlet(downstream)
        self.asked = self.taken = start
        self.replayed = replayed
        """How many of the elements in its queue were kept from before it came."""


class _Broadcast:
    """Be the subscriber of the one run."""

    def __init__(self, operator: str, size: int, slow: Slow, kept: int, height: int) -> None:
        self.height = height
        self._operator = operator
        self._size = size
        self._slow = slow
        self._lock = Lock()
        self._members: list[_Member] = []
        self._kept: deque[Any] = deque(maxlen=kept)
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
            kept = len(self._kept)
            member = _Member(downstream, self._sent - kept, kept)
            member.outlet.on_request = lambda n: self._requested(member, n)
            member.outlet.on_taken = lambda count: self._taken(member, count)
            member.outlet.on_cancel = lambda: self._leave(member)
            member.outlet.queue.extend(self._kept)
            done, error = self.done, self._error
            if not done:
                self._members.append(member)
        if done:
            member.outlet.complete(error)
        member.outlet.open()
        return True

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self._upstream, closed=self.cancelled):
            return
        self._upstream = subscription
        self._ask()

    def on_next(self, element: Any, /) -> None:
        element_or_raise(element, "on_next")
        behind: list[_Member] = []
        with self._lock:
            self._sent += 1
            self._kept.append(element)
            members = list(self._members)
            for member in members:
                if len(member.outlet.queue) - member.replayed < self._size or self._slow is Slow.WAIT:
                    member.outlet.queue.append(element)
                elif self._slow is Slow.ERROR and not member.outlet.closed:
                    behind.append(member)
                else:
                    member.taken += 1
                    member.asked = add(member.asked, 1)  # what it missed is not what it asked for
        for member in members:
            if member in behind:
                message = f"{self._operator}: this subscriber is {self._size} elements behind the fastest one"
                member.outlet.complete(OverflowedError(message))
                self._leave(member)
            else:
                member.outlet.wake()

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self._end(error)

    def on_complete(self) -> None:
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        with self._lock:
            self.done = True
            self._error = error
            if not self._kept.maxlen:
                self._error = None  # rule 3.13: nobody joins any more, and its frames know a subscriber
            members, self._members = self._members, []
        for member in members:
            member.outlet.complete(error)

    def _requested(self, member: _Member, n: int) -> None:
        with self._lock:
            member.asked = add(member.asked, n)
        self._ask()

    def _taken(self, member: _Member, count: int) -> None:
        with self._lock:
            member.replayed -= min(member.replayed, count)
            member.taken += count
        self._ask()

    def _ask(self) -> None:
        """Ask upstream for what the deciding subscriber asks for, at most `size` ahead of what it has taken."""
        with self._lock:
            if self._upstream is None or self.done or not self._members:
                return
            decides = min if self._slow is Slow.WAIT else max
            asked, allowed = decides((min(each.asked, each.taken + self._size), each.asked) for each in self._members)
            ahead = asked - self._asked
            # Within a window that is not used up, wait until half of it is free: requests are not for free.
            if ahead <= 0 or (asked < allowed and ahead < (self._size + 1) // 2):
                return
            self._asked += ahead
            upstream = self._upstream
        upstream.request(ahead)

    def _leave(self, member: _Member) -> None:
        with self._lock:
            if member not in self._members:
                return
            self._members.remove(member)
            last = not self._members and not self.done
            if last:
                self.cancelled = True
            upstream = self._upstream
        if last and upstream is not None:
            upstream.cancel()
        elif not last:
            self._ask()


class Hub:
    """Hold the run that subscribers join; a fresh one when there is none to join."""

    __slots__ = ("_broadcast", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._broadcast: _Broadcast | None = None

    def join(self, operator: str, chain: Chain, downstream: Subscriber[Any], size: int, slow: Slow, kept: int) -> None:
        """Join the run at hand, or start one."""
        while True:
            with self._lock:
                broadcast = self._broadcast
                start = broadcast is None
                if broadcast is None:
                    broadcast = self._broadcast = _Broadcast(operator, size, slow, kept, height_of(downstream) + 1)
            if broadcast.join(downstream):
                if start:
                    connect(chain, broadcast)
                return
            with self._lock:
                if self._broadcast is broadcast:
                    self._broadcast = None

    def __reduce__(self) -> tuple[type[Hub], tuple[()]]:
        return (Hub, ())
