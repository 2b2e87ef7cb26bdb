"""broadcast: one run of a chain for several subscribers, each of which gets all elements.

Upstream is asked for what the most eager subscriber asks for, or, under Slow.WAIT, the least eager one, and never for
more than `size` elements beyond what that one has taken.

A run begins with its first subscriber and is cancelled after its last, unless it is begun by hand (`Hub.begin`): then
it waits for subscribers that are to come.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any

from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.seat import Lease, leased
from penstock.engine.many.shared_run import WAIT, Member, SharedRun, Slow
from penstock.engine.runs.chain import Chain
from penstock.errors import InterruptionError, OverflowedError, RunCancelledError
from penstock.spec.interfaces import Subscriber


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which subscribers share a run."""

    operator: str
    size: int
    slow: Slow = Slow.ERROR
    kept: int = 0
    """How many of the latest elements late subscribers get."""
    whole: bool = False
    """Whether all elements must fit into what is kept, and a run that failed is not kept at all."""
    by_hand: bool = False
    """Whether the run is begun by hand, and does not end with its last subscriber."""
    once: bool = False
    """Whether there is no other run: subscribers that come after the end are told of it."""


class _Broadcast(SharedRun):
    """The run of a hub; what is kept for later subscribers is guarded by the lock."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms.size, terms.slow)
        self._terms = terms
        self._lease: Lease | None = None
        self._kept: deque[Any] = deque(maxlen=min(terms.kept, sys.maxsize))
        self._error: Exception | None = None

    def join(self, downstream: Subscriber[Any]) -> bool:
        """Add a subscriber; tell whether the run is still good for one."""
        member = Member()
        with self.lock:
            if self.cancelled or (self.done and not (self._terms.kept or self._terms.once)):
                return False
            self.seat(member, downstream)
            member.queue.extend(self._kept)
            member.came = member.replayed = len(self._kept)
            done, error = self.done, self._error
            if not done:
                self.members = (*self.members, member)
        if done:
            member.complete(error)
        member.open()
        return True

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        members = self._keep(element) if self._terms.kept else self.members
        lease = self._lease
        if lease is None or lease.seats is not members or not lease.give(element):
            for member in members:
                if member.hand_on(member.pass_on, element):
                    member.came += 1
                else:
                    self.queue(member, element)
            self._lease = leased(members)  # under which it does not matter how many have come: all are asked for
        self.sent += 1  # only now: until all have it, it counts as still to come, and is not asked for again
        if self.asked - self.sent <= self.half:
            self.ask()

    def on_chunk(self, elements: list[Any], /) -> None:
        lease = self._lease
        given = 0
        if lease is not None and not self._terms.kept:
            give = lease.give
            for element in elements:
                if lease.seats is not self.members or not give(element):  # one may join in the middle
                    break
                given += 1
            self.sent += given
            if self.asked - self.sent <= self.half:
                self.ask()
        for element in islice(elements, given, None):
            self.on_next(element)

    def _keep(self, element: Any) -> tuple[Member, ...]:
        """Keep an element for those who come later, and return those who are here."""
        with self.lock:
            overfull = self._terms.whole and len(self._kept) == self._kept.maxlen
            self._kept.append(element)
            members = self.members
        if not overfull:
            return members
        self.end(
            OverflowedError(
                f"{self._terms.operator}: there are more than {self.size} elements; raise size, or say replay(count)"
            ),
            cancel=True,
        )
        return ()

    def allowed(self) -> tuple[int, int]:
        decides = min if self.slow is WAIT else max
        return decides([(min(each.wanted, each.room(self.size)), each.wanted) for each in self.members])

    def left_alone(self) -> bool:
        return not self.members and not self._terms.by_hand

    def forget(self) -> None:
        self._kept.clear()

    def keep(self, error: Exception | None) -> None:
        if self._terms.whole and error is not None:
            self.cancelled = True  # a failure is not kept: the next subscriber starts anew
            self.forget()
        elif self._terms.kept or self._terms.once:
            self._error = error  # rule 3.13: only where a subscriber may join, since its frames refer to one

    def behind(self) -> str:
        return f"{self._terms.operator}: this subscriber is {self.size} elements behind the fastest one"


class Connection:
    """A run that was begun by hand; used as a context manager it ends with the block."""

    __slots__ = ("_broadcast",)

    def __init__(self, broadcast: _Broadcast) -> None:
        self._broadcast = broadcast

    @property
    def over(self) -> bool:
        """Tell whether the run has ended or was cancelled."""
        return self._broadcast.done or self._broadcast.cancelled

    def cancel(self) -> None:
        """End the run; its subscribers fail with RunCancelledError."""
        self._broadcast.end(RunCancelledError("publish: the connection was cancelled"), cancel=True)

    def abandon(self) -> None:
        """End the run of subscribers that have cancelled, though the cancel may be on its way to them still."""
        self._broadcast.end(InterruptionError("publish: the run was cancelled"), cancel=True)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.cancel()


class Hub:
    """The holder of the run that subscribers join; it makes a fresh one when there is none to join."""

    __slots__ = ("_broadcast", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._broadcast: _Broadcast | None = None

    def join(self, terms: Terms, chain: Chain, downstream: Subscriber[Any]) -> None:
        """Join the current run, or a fresh one, which begins with this subscriber unless it is begun by hand."""
        broadcast = self._at_hand(terms)
        while not broadcast.join(downstream):
            broadcast = self._at_hand(terms, broadcast)
        if not terms.by_hand:
            broadcast.start(chain)

    def begin(self, terms: Terms, chain: Chain) -> Connection:
        """Begin the current run, or a fresh one, and return it; a run that has begun already is only returned."""
        broadcast = self._at_hand(terms)
        if broadcast.done or broadcast.cancelled:
            broadcast = self._at_hand(terms, broadcast)
        broadcast.start(chain)
        return Connection(broadcast)

    def _at_hand(self, terms: Terms, spent: _Broadcast | None = None) -> _Broadcast:
        """Return the current run, or a fresh one if there is none, or only one that was seen to be `spent`."""
        with self._lock:
            broadcast = self._broadcast
            if broadcast is None or broadcast is spent:
                broadcast = self._broadcast = _Broadcast(terms)
            return broadcast

    def __reduce__(self) -> tuple[type[Hub], tuple[()]]:
        return (Hub, ())
