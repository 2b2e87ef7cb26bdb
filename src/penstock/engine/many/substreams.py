"""substreams: split one upstream into several streams, with one bound for all elements that wait.

A `Trunk` is the subscriber of the stream that is split. It sends branches to the subscriber of the stream of streams
(the outer one), and elements to the subscriber of each branch.

The bound. What upstream owes and what the branches hold is together never more than `size`. Upstream is asked while
there is demand: of a branch that was asked for elements (it is `hungry`), or of the outer subscriber for another
branch. A branch that is subscribed and slow holds the others back once `size` elements wait, as any slow subscriber
does.

The stall. A trunk in which nothing can move, since all elements wait for subscribers, fails after `patience` seconds:
until then a subscriber may be on its way from another thread or task.

The end. When upstream has ended, every branch ends after what it holds. A cancelled branch takes no more elements,
or has an heir, where the joint gives it one. Branches that had no subscriber when the outer one cancelled are gone;
when no branch is left then that could take an element, upstream is cancelled.
"""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.seat import FailureWord, Seat
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.many.branch import Branch, Drops, refuse, stalled, untold
from penstock.engine.places.clocks import Clock
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.part import height_of
from penstock.engine.words.queued import take_all
from penstock.spec.interfaces import Subscriber, Subscription


class Trunk(Upstream):
    """The subscriber of the stream that is split; joints say what goes where."""

    _renews = False
    """Whether a branch that was cancelled may be followed by another in its place."""

    def __init__(self, operator: str, downstream: Subscriber[Any], size: int, patience: float, clock: Clock) -> None:
        super().__init__(height_of(downstream) + 1, size)
        self._operator = operator
        self._size = size
        self._asked = self._came = 0
        """Elements asked for, and those that came; the latter are counted by upstream's signals, which are serial."""
        self._low = size - self.half
        self._held = self._hungry = 0
        self._unclaimed = 0
        """How many of the held elements wait in branches without a subscriber."""
        self._orphans: dict[Branch, None] = {}
        self._open: dict[Branch, None] = {}  # in the order of their beginning
        self.done = self._opened = self._failed = self._outer_done = self._stuck_before = False
        self._context = copy_context()
        """Where elements come."""
        self._claimed: set[Branch] = set()
        """The branches that have a subscriber."""
        self._word = FailureWord()
        self.drops: Drops = untold
        self._patience = patience
        self._alarm = Alarm(clock, self._give_up, self.fail)
        self.outer = Seat(downstream)
        self.outer.word = self._word
        self.outer.joins(self._context)
        self.outer.also_held = lambda: self._held
        self.outer.on_request = lambda _: self.ask()
        self.outer.on_cancel = self._outer_cancelled

    # What joints do.

    def on_chunk(self, elements: list[Any], /) -> None:
        """Put elements into the branches they belong to."""
        raise NotImplementedError

    def entered(self, branch: Branch) -> None:
        """Know of a branch that takes elements; under the lock."""

    def left(self, branch: Branch) -> None:
        """Forget a branch that takes no more elements; under the lock."""

    def made(self, branch: Branch) -> object:
        """Return what the outer subscriber gets for a branch."""
        raise NotImplementedError

    def send(self, branch: Branch) -> None:
        """Send a branch to the outer subscriber."""
        self.outer.offer(self.made(branch))

    def most(self) -> int:
        """Return how many elements those who ask could take at the most; under the lock."""
        return UNBOUNDED

    def released(self) -> None:
        """Let go of timers and the like when upstream has ended or was cancelled."""
        self._alarm.close()

    def name_of(self, branch: Branch) -> str:
        """Return what to call a branch in a message."""
        raise NotImplementedError

    def branch(self, key: Any) -> Branch | None:
        """Open a branch, or none if no subscriber would take it."""
        with self.lock:
            return self.fresh(key)

    def fresh(self, key: Any) -> Branch | None:
        """Open a branch, or none if no subscriber would take it; under the lock."""
        return None if self.outer.closed or self.done else self._enter(key)

    def _enter(self, key: Any) -> Branch:
        """Make a branch that takes elements; under the lock."""
        branch = Branch(self.claim, self._word, key)
        branch.on_request = lambda _: self._requested(branch)
        branch.on_taken = lambda count: self._taken(branch, count)
        branch.on_cancel = lambda: self._cancelled(branch)
        branch.on_close = lambda: self._closed(branch)
        self._open[branch] = None
        self._orphans[branch] = None
        self.entered(branch)
        return branch

    def hand_on(self, branch: Branch, element: Any) -> bool:
        """Give an element straight to who waits for it, if nothing stands in the way; tell whether it was."""
        if not branch.give(element):
            return False
        self._came += 1
        if not branch.demand:
            self._fed(branch)
        if self._asked - self._came <= self._low:
            self.ask()
        return True

    def put(self, branch: Branch, elements: list[Any]) -> bool:
        """Give elements to a branch, unless it is done or has an heir; one that is closed lets them go."""
        count = len(elements)
        with self.lock:
            if branch.done or (branch.left and self._renews):
                return False
            self._came += count
            if not branch.left:
                branch.queue.extend(elements)
                branch.held += count
                self._held += count
                if not branch.taken:
                    self._unclaimed += count
            ask = self._asked - self._came <= self._low
        if branch.left:
            self.drops(branch, elements)
        branch.wake()
        if ask:
            self.ask()
        return True

    def let_go(self, elements: list[Any], branch: Branch | None = None) -> None:
        """Count elements as come that no branch takes, or not the one that they are for."""
        with self.lock:
            self._came += len(elements)
        self.drops(branch, elements)
        self.ask()

    def finish(self, branch: Branch) -> None:
        """End a branch after what it holds."""
        with self.lock:
            if branch.done:
                return
            branch.done = True
            self._leave(branch)
        self._complete(branch, None)
        self._cancel_if_left_alone()

    def fail(self, error: Exception, *, now: bool = False) -> None:
        """Cancel upstream and fail everything; `now` goes ahead of branches that are not asked for yet."""
        branches = self._finish(error)
        if branches is None:
            return
        try:
            self.cancel()
        finally:
            if now and not self.outer.closed:
                self._word.heard = True
                self.outer.fail_now(error)
            self._end(branches, error)

    # What upstream does.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, and ask for what is wanted."""
        super().on_subscribe(subscription)
        if not self._opened:  # something else may have ended it before; then it is told of that
            self._opened = True
            self.outer.open()
            self.ask()

    def came(self, element: Any, /) -> None:
        """Take an element."""
        self.on_chunk([element])

    def ended(self, error: Exception | None, /) -> None:
        """Pass the end on to everybody."""
        branches = self._finish(error)
        if branches is None:
            too_late(error)
        else:
            self._end(branches, error)

    def _finish(self, error: Exception | None) -> list[Branch] | None:
        """Mark everything as done; return the branches that were open, or None if it was done before."""
        with self.lock:
            if self.done:
                return None
            self.done = True
            self._failed = error is not None
            branches = list(self._open)
            for branch in branches:
                branch.done = True
                branch.error = error
                self._leave(branch)
            self._orphans.clear()
        return branches

    def _end(self, branches: list[Branch], error: Exception | None) -> None:
        try:
            self.released()
        finally:
            for seat in branches if error is None else (self.outer, *branches):
                self._complete(seat, error)
            self._complete_outer()

    def _complete(self, seat: Seat, error: Exception | None) -> None:
        """End what a subscriber gets, if there is one; one that is to come is told when it comes."""
        if seat.taken and not seat.closed:
            if error is not None:
                self._word.to_one_more()
            seat.complete(error)

    def _complete_outer(self) -> None:
        """Complete the outer stream when no branch can follow any more."""
        with self.lock:
            over = self.done and not self._failed and not self._outer_done and not self._follows()
            self._outer_done = self._outer_done or over
        if over:
            self.outer.complete()

    def _follows(self) -> bool:
        """Tell whether a branch may follow though upstream has ended; under the lock."""
        return False

    # What subscribers do.

    def claim(self, branch: Branch, downstream: Subscriber[Any]) -> None:
        """Let a subscriber have a branch, or tell it why not."""
        with self.lock:
            taken, left = branch.taken, branch.left
            if not taken and not left:
                branch.serve(downstream)
                branch.joins(self._context)
                self._claimed.add(branch)
                self._orphans.pop(branch, None)
                self._unclaimed -= branch.held
            done, error = branch.done, branch.error
        if taken or left:
            refuse(downstream, f"{self._operator}: {self.name_of(branch)}", taken=taken)
            return
        if done:
            self._complete(branch, error)
        branch.open()

    def _requested(self, branch: Branch) -> None:
        with self.lock:
            if not branch.hungry and not branch.done and not branch.left:
                branch.hungry = True
                self._hungry += 1
        self.ask()

    def _taken(self, branch: Branch, count: int) -> None:
        with self.lock:
            branch.held -= count
            self._held -= count
            asks = self._asked - self._came <= self._low
        if not branch.demand:
            self._fed(branch)
        if asks:
            self.ask()

    def _fed(self, branch: Branch) -> None:
        """Take note that nothing more is asked of a branch."""
        with self.lock:
            if branch.hungry and not branch.demand:
                branch.hungry = False
                self._hungry -= 1

    def _cancelled(self, branch: Branch) -> None:
        with self.lock:
            self._retire(branch)
        self._cancel_if_left_alone()

    def _retire(self, branch: Branch) -> None:
        """Let a cancelled branch take no more elements; under the lock."""
        branch.left = True
        self._leave(branch)

    def _heir_of(self, branch: Branch, rest: list[Any]) -> Branch | None:
        """Return the branch in the place of one that was let go of, with what it takes of `rest`; under the lock."""
        return None

    def _closed(self, branch: Branch) -> None:
        with self.lock:
            rest = take_all(branch.queue)
            heir = self._heir_of(branch, rest)
            self._held -= branch.held
            branch.emptied()
            self._leave(branch)
            branch.error = None  # rule 3.13: its frames know a subscriber
        if heir is not None:
            self.send(heir)
        self.drops(branch, rest)
        with self.lock:
            self._claimed.discard(branch)
        self._complete_outer()
        self._cancel_if_left_alone()
        self.ask()

    def _leave(self, branch: Branch) -> None:
        """Let a branch take no more elements; under the lock."""
        if branch in self._open:
            del self._open[branch]
            self.left(branch)
        if branch.hungry:
            branch.hungry = False
            self._hungry -= 1

    def _outer_cancelled(self) -> None:
        rest: list[Any] = []
        with self.lock:
            while self._orphans:
                branch, _ = self._orphans.popitem()
                self._held -= branch.held
                rest += branch.emptied()
                self._leave(branch)
            self._unclaimed = 0
        self.drops(None, rest)
        self._cancel_if_left_alone()
        self.ask()  # there is room now for those who have a branch

    def _cancel_if_left_alone(self) -> None:
        with self.lock:
            alone = self.outer.closed and not self._open and not self.done
            self.done = self.done or alone
        if alone:
            self.released()
            self.cancel()

    # Demand, and the stall.

    def _wanted(self) -> bool:
        return bool(self._hungry) or (self.outer.demand > len(self.outer.queue) and not self.outer.closed)

    def _stuck_by(self) -> Branch | None:
        """Return a branch that waits for a subscriber while nothing can move without one; under the lock."""
        stuck = self._unclaimed >= self._size and self._asked == self._came and self._wanted() and not self.done
        return next((each for each in self._orphans if each.held), None) if stuck else None

    def ask(self) -> None:
        """Ask upstream for what there is room for, if a branch or the outer subscriber wants anything."""
        with self.lock:
            if self.done or not self.here:
                return
            owed = self._asked - self._came
            room = min(self._size - self._held, self.most()) - owed
            asks = (room >= self.half or (room > 0 and not owed)) and self._wanted()
            if asks:
                self._asked += room
            before, self._stuck_before = self._stuck_before, not asks and self._stuck_by() is not None
            stalls = self._stuck_before and not before
        if asks:
            self.request(room)
        elif stalls:
            self._alarm.set(self._patience)

    def _give_up(self, _: object) -> None:
        with self.lock:
            orphan = self._stuck_by()  # if it was stuck anew since, the alarm was set anew
        if orphan is not None:
            self.fail(stalled(self._operator, self._size, self.name_of(orphan)), now=True)
