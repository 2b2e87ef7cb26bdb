"""shared_run: one run of a chain that several subscribers take part in.

Nothing is read before a subscriber asks. Every subscriber has a seat that holds at most `size` live elements. A
subscriber handles an element on the thread that brings it: a slow one, without publish_on, slows all the others.

`lock` guards who takes part, what was asked of upstream, and the end. What has come is counted by upstream's signals
alone, which are serial. An element counts as still to come until all have it, also for who joins meanwhile and does not
get it: too little is asked for then, and the rest soon after. No lock is held while a subscriber is signalled; what one
thread has seen under it may be out of date by then, and is made good by the outlets: an element is not delivered after
an end, and an end waits for an element on its way.
"""

from __future__ import annotations

from collections import deque
from contextvars import Context, copy_context
from enum import Enum
from functools import partial
from typing import Any

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.seat import FailureWord, Seat
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.part import height_of
from penstock.engine.words.trampoline import run_all
from penstock.errors import OverflowedError
from penstock.spec.interfaces import Subscriber


class Slow(Enum):
    """What becomes of a subscriber that falls behind the others."""

    ERROR = "error"
    """It fails with OverflowedError; the others go on."""
    DROP = "drop"
    """It misses the elements it has no room for; the others go on."""
    WAIT = "wait"
    """All wait for it."""


ERROR, DROP, WAIT = Slow  # to look a member up in its Enum costs as much as two calls


class Member(Seat):
    """The seat of one subscriber of the run; it knows how much has come for it."""

    __slots__ = ("came", "replayed")

    def __init__(self) -> None:
        super().__init__()
        self.came = 0
        """How many elements have come, what was kept for it included; written by upstream's signals alone."""
        self.replayed = 0
        """How many of the elements in its queue were kept from before it came."""

    @property
    def wanted(self) -> int:
        """Return how much of what it asks for has not come."""
        return self.asked - self.came

    def room(self, size: int) -> int:
        """Return how many live elements it could hold."""
        return size - len(self.queue) + self.replayed


class SharedRun(Upstream):
    """The subscriber of the one run; its two kinds say who gets an element, and how much is asked for."""

    def __init__(self, size: int, slow: Slow) -> None:
        super().__init__(0, size)
        self.done = False
        """Whether upstream has ended."""
        self.cancelled = False
        """Whether no subscriber can take part any more."""
        self.size = size
        self.slow = slow
        self.members: tuple[Member, ...] = ()
        """Those who take elements."""
        self.asked = 0
        """How many elements upstream was asked for."""
        self.sent = 0
        """How many elements have come, and everybody has them; written by upstream's signals alone."""
        self._context: Context | None = None

    # What the kinds say.

    def allowed(self) -> tuple[int, int]:
        """Return how much may be on its way, and how much is asked for; under the lock, with at least one member."""
        raise NotImplementedError

    def left_alone(self) -> bool:
        """Tell whether the run ends because it has no subscribers; under the lock."""
        raise NotImplementedError

    def forget(self) -> None:
        """Let go of what waits for subscribers that will not come any more; under the lock."""
        raise NotImplementedError

    def keep(self, error: Exception | None) -> None:
        """Keep of the end what later subscribers are to be told; under the lock."""

    def behind(self) -> str:
        """Return what to tell a subscriber that has no room for more."""
        raise NotImplementedError

    # What subscribers do.

    def seat(self, member: Member, downstream: Subscriber[Any]) -> None:
        """Prepare the place of a subscriber; under the lock."""
        member.serve(downstream)
        member.most_held = lambda: self.size + member.replayed
        member.on_request = lambda _: self.ask()
        member.on_taken = lambda count: self._taken(member, count)
        member.on_cancel = lambda: self.leave(member)
        self.height = max(self.height, height_of(downstream) + 1)
        if self._context is not None:
            member.joins(self._context)

    def start(self, chain: Chain) -> None:
        """Begin the run once, in the context of here and now, unless everybody has left already."""
        with self.lock:
            if self._context is not None:
                return
            self._context = copy_context()
            for member in self.members:
                member.joins(self._context)
        if not self.cancelled:
            connect(chain, self)

    def _taken(self, member: Member, count: int) -> None:
        if member.replayed:
            with self.lock:
                member.replayed -= min(member.replayed, count)
        self.ask()

    def leave(self, member: Member) -> None:
        """Give up a place; the run ends with the last one."""
        with self.lock:
            if member not in self.members:
                return
            self.members = tuple(each for each in self.members if each is not member)
            last = not self.done and self.left_alone()
            if last:
                self.cancelled = True
                self.forget()
        if last:
            self.cancel()
        else:
            self.ask()

    def ask(self) -> None:
        """Ask upstream for what is allowed, in the context of the run."""
        with self.lock:
            if not self.here or not self.members:
                return
            owed = self.asked - self.sent  # read first, so that too little is asked for meanwhile
            allowed, wanted = self.allowed()
            more = allowed - owed
            # Within a window that is not used up, wait until half of it is free: requests are not for free.
            if more <= 0 or (owed and allowed < wanted and more < self.half):
                return
            self.asked += more
            assert self._context is not None
        self._context.copy().run(self.request, more)

    # What upstream does.

    def subscribed(self) -> None:
        """Ask for what is wanted."""
        self.ask()

    def ended(self, error: Exception | None, /) -> None:
        """End for everybody."""
        self.end(error)

    def queue(self, member: Member, element: Any) -> None:
        """Keep an element for one who did not take it at once, as far as there is room."""
        if self.slow is WAIT or member.room(self.size) > 0:
            member.came += 1
            member.queue.append(element)
            member.wake()
        elif self.slow is ERROR and not member.closed:
            member.complete(OverflowedError(self.behind()))
            self.leave(member)

    def end(self, error: Exception | None, *, cancel: bool = False) -> None:
        """End for everybody, once; `cancel` says that upstream has not ended itself."""
        with self.lock:
            late = self.done or self.cancelled
            self.done = True
            members, self.members = self.members, ()
            if not late:
                self.keep(error)
        if error is not None:
            word = FailureWord(len(members))
            for member in members:
                member.word = word
        if late:
            if not cancel:
                too_late(error)
            return
        try:
            if cancel:
                self.cancel()
        finally:
            run_all(deque(partial(member.complete, error) for member in members))
