"""substreams: split one upstream into several streams, with one bound for all elements that wait.

A `Trunk` is the subscriber of the stream that is split. It sends branches to the subscriber of the stream of streams
(the outer one), and elements to the subscriber of each branch.

The bound. What upstream owes and what the branches hold is together never more than `size`. Upstream is asked while
there is demand: of a branch that was asked for elements (it is `hungry`), or of the outer subscriber for another
branch. A branch that is subscribed and slow holds the others back once `size` elements wait, as any slow subscriber
does.

The stall. If all `size` elements wait in branches without a subscriber while another branch is hungry, nothing can move
any more: no subscriber takes them, and there is no room for others. A subscriber may be on its way from another thread
or task, so the trunk waits for `patience` seconds, and then fails with the cure in the message.

The end. When upstream has ended, every branch ends after what it holds. A cancelled branch takes no more elements; a
joint may name an heir, which takes over what its subscriber had not asked for. So that there can be one, the outer
stream then completes after the branches that have a subscriber. When the outer subscriber has cancelled and no branch
is left that could take an element, upstream is cancelled. Branches that had no subscriber when the outer subscriber
cancelled are gone, so that a run that is over leaves nothing open.
"""

from __future__ import annotations

from collections import deque
from contextvars import copy_context
from threading import Lock
from typing import Any

from penstock.engine.grounds.alarm import Alarm
from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.grounds.seat import Seat
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.places.clocks import Clock
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.part import Part, height_of
from penstock.errors import OverflowedError, PenstockError
from penstock.spec.interfaces import Subscriber, Subscription


class Branch:
    """The elements of one branch, until its one subscriber takes them."""

    __slots__ = ("_trunk", "closed", "done", "ended", "error", "heir", "held", "hungry", "key", "outlet", "queue")

    def __init__(self, trunk: Trunk, key: Any) -> None:
        self._trunk = trunk
        self.key = key
        self.queue: deque[Any] = deque()
        self.held = 0
        """How many elements count as held for it: those in the queue and those being delivered."""
        self.outlet: _Lane | None = None
        self.hungry = False
        self.closed = False
        """Whether it takes no more elements, and gives none."""
        self.done = False
        """Whether it ends after what it holds."""
        self.ended = False
        """Whether its subscriber has been let go of."""
        self.heir: Branch | None = None
        """What takes its place since it was cancelled; it is sent out when this one has been let go of."""
        self.error: Exception | None = None

    def claim(self, downstream: Subscriber[Any]) -> None:
        """Take the one subscriber."""
        self._trunk.claim(self, downstream)


class _Lane(Seat):
    """A seat that tells the trunk of its failure too: a failure that its subscriber is not told of is not lost."""

    __slots__ = ("_trunk", "rest")

    def __init__(self, trunk: Trunk, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._trunk = trunk
        self.rest: list[Any] = []
        """What was in the queue when it was let go of."""

    def _end(self) -> None:
        error = self._error
        if self._cancelled:
            self._error = None
        super()._end()
        if error is not None:
            self._trunk.told(error, heard=not self._cancelled)

    def _let_go(self) -> Subscriber[Any] | None:
        with self.lock:
            self.rest.extend(self.queue)
            self.queue.clear()
        return super()._let_go()


def _refuse(downstream: Subscriber[Any], error: Exception) -> None:
    """Tell a subscriber that there is nothing to subscribe to, unless it has cancelled meanwhile."""
    outlet: Outlet[Any] = Outlet(downstream)
    outlet.open()
    outlet.fail_now(error)


class Trunk(Part):
    """The subscriber of the stream that is split; joints say what goes where."""

    _renews = False
    """Whether a branch that was cancelled may be followed by another in its place."""

    def __init__(self, operator: str, downstream: Subscriber[Any], size: int, patience: float, clock: Clock) -> None:
        self.height = height_of(downstream) + 1
        self._operator = operator
        self._size = size
        self._half = (size + 1) // 2
        self._patience = patience
        self.lock = Lock()
        self._asked = 0
        self._came = 0
        """How many elements have come; written by upstream's signals alone, which are serial."""
        self._low = size - self._half
        self._held = 0
        self._unclaimed = 0
        """How many of the held elements wait in branches without a subscriber."""
        self._orphans: dict[Branch, None] = {}
        self._open: dict[Branch, None] = {}  # in the order of their beginning
        self._hungry = 0
        self._upstream = Upstream()
        self._opened = False
        self._context = copy_context()
        """Where elements come."""
        self.done = False
        self._failed = False
        self._claimed = 0
        """How many branches have a subscriber."""
        self._sending = 0
        """How many branches are on their way to the outer subscriber."""
        self._outer_done = False
        self._telling = 0
        self._heard = False
        self._stuck_since: float | None = None
        self._watched = False
        self._alarm = Alarm(clock, self._look, self.fail)
        self.outer = _Lane(self, downstream)
        self.outer.joins(self._context)
        self.outer.also_held = lambda: self._held
        self.outer.on_request = lambda _: self.ask()
        self.outer.on_taken = self._sent
        self.outer.on_cancel = self._outer_cancelled

    # What joints do.

    def came(self, element: Any) -> None:
        """Put an element into the branch it belongs to."""
        raise NotImplementedError

    def entered(self, branch: Branch) -> None:
        """Know of a branch that takes elements; under the lock."""

    def left(self, branch: Branch) -> None:
        """Forget a branch that takes no more elements; under the lock."""

    def heir(self, branch: Branch) -> Branch | None:
        """Return a branch that takes the place of one that was cancelled; under the lock."""
        return None

    def made(self, branch: Branch) -> object:
        """Return what the outer subscriber gets for a branch."""
        raise NotImplementedError

    def send(self, branch: Branch) -> None:
        """Send a branch to the outer subscriber."""
        with self.lock:
            self._sending += 1
        self.outer.offer(self.made(branch))

    def most(self) -> int:
        """Return how many elements those who ask could take at the most; under the lock."""
        return UNBOUNDED

    def released(self) -> None:
        """Let go of timers and the like when upstream has ended or was cancelled."""

    def name_of(self, branch: Branch) -> str:
        """Return what to call a branch in a message."""
        raise NotImplementedError

    def branch(self, key: Any) -> Branch | None:
        """Open a branch, or none if no subscriber would take it."""
        branch = Branch(self, key)
        with self.lock:
            if self.outer.closed or self.done:
                return None
            self._enter(branch)
        return branch

    def _enter(self, branch: Branch) -> None:
        self._open[branch] = None
        self._orphans[branch] = None
        self.entered(branch)

    def hand_on(self, branch: Branch, element: Any) -> bool:
        """Give an element straight to who waits for it, if nothing stands in the way; tell whether it was."""
        outlet = branch.outlet
        if outlet is None or not outlet.give(element):
            return False
        self._came += 1
        if not outlet.demand:
            self._fed(branch)
        if self._asked - self._came <= self._low:
            self.ask()
        return True

    def put(self, branch: Branch, elements: list[Any]) -> bool:
        """Give elements to a branch, unless it is done or has an heir; one that is closed lets them go."""
        count = len(elements)
        with self.lock:
            if branch.done or (branch.closed and self._renews):
                return False
            self._came += count
            if not branch.closed:
                branch.queue.extend(elements)
                branch.held += count
                self._held += count
                if branch.outlet is None:
                    self._unclaimed += count
            ask = self._asked - self._came <= self._low
        outlet = branch.outlet
        if outlet is not None:
            outlet.wake()
        if ask:
            self.ask()
        return True

    def let_go(self, count: int = 1) -> None:
        """Count elements as come that belong to no branch."""
        with self.lock:
            self._came += count
        self.ask()

    def finish(self, branch: Branch) -> None:
        """End a branch after what it holds."""
        with self.lock:
            if branch.done:
                return
            branch.done = True
            self._leave(branch)
            outlet = branch.outlet
        if outlet is not None and not outlet.closed:
            outlet.complete()
        self._cancel_if_left_alone()

    def fail(self, error: Exception, *, now: bool = False) -> None:
        """Cancel upstream and fail everything; `now` goes ahead of branches that are not asked for yet."""
        branches = self._finish(error)
        if branches is None:
            return
        try:
            self._upstream.cancel()
        finally:
            if now and not self.outer.closed:
                self._heard = True
                self.outer.fail_now(error)
            self._end(branches, error)

    # What upstream does.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Take the subscription, and ask for what is wanted."""
        self._upstream.take(subscription)
        if not self._opened:  # something else may have ended it before; then it is told of that
            self._opened = True
            self.outer.open()
            self.ask()

    def on_next(self, element: Any, /) -> None:
        """Take an element."""
        if element is None:
            element_or_raise(element, "on_next")
        if not self.done:
            self.came(element)

    def on_error(self, error: Exception, /) -> None:
        """Pass the failure on to everybody."""
        element_or_raise(error, "on_error")
        branches = self._finish(error)
        if branches is None:
            too_late(error)
            return
        self._end(branches, error)

    def on_complete(self) -> None:
        """Pass the end on to everybody."""
        branches = self._finish(None)
        if branches is not None:
            self._end(branches, None)

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
        self._release()
        return branches

    def _end(self, branches: list[Branch], error: Exception | None) -> None:
        outer = self.outer if error is not None else None
        for outlet in (outer, *(branch.outlet for branch in branches)):
            if outlet is not None and not outlet.closed:
                if error is not None:
                    self._tell_later()
                outlet.complete(error)
        self._complete_outer()

    def _sent(self, count: int) -> None:
        with self.lock:
            self._sending -= count
        self._complete_outer()

    def _complete_outer(self) -> None:
        """Complete the outer stream when no branch can follow any more."""
        with self.lock:
            follows = self._renews and (self._claimed or self._sending)
            over = self.done and not self._failed and not self._outer_done and not follows
            if over:
                self._outer_done = True
        if over:
            self.outer.complete()

    def _release(self) -> None:
        self._alarm.close()
        self.released()

    def _tell_later(self) -> None:
        with self.lock:
            self._telling += 1

    def told(self, error: Exception, *, heard: bool) -> None:
        """Count one who was to be told of the failure; if none of them was, it goes to the hook."""
        with self.lock:
            self._telling -= 1
            self._heard = self._heard or heard
            lost = not self._telling and not self._heard
        if lost:
            too_late(error)

    # What subscribers do.

    def claim(self, branch: Branch, downstream: Subscriber[Any]) -> None:
        """Let a subscriber have a branch, or tell it why not."""
        outlet = _Lane(self, downstream)
        outlet.joins(self._context)
        outlet.queue = branch.queue
        outlet.on_request = lambda _: self._requested(branch)
        outlet.on_taken = lambda count: self._taken(branch, count)
        outlet.on_cancel = lambda: self._cancelled(branch)
        outlet.on_close = lambda: self._closed(branch)
        with self.lock:
            taken, closed = branch.outlet is not None, branch.closed
            if not taken and not closed:
                branch.outlet = outlet
                self._claimed += 1
                self._orphans.pop(branch, None)
                self._unclaimed -= branch.held
            done, error = branch.done, branch.error
        if taken or closed:
            _refuse(downstream, self._taken_before(branch) if taken else self._gone(branch))
            return
        if done:
            if error is not None:
                self._tell_later()
            outlet.complete(error)
        outlet.open()

    def _requested(self, branch: Branch) -> None:
        with self.lock:
            if not branch.hungry and not branch.done and not branch.closed:
                branch.hungry = True
                self._hungry += 1
        self.ask()

    def _taken(self, branch: Branch, count: int) -> None:
        with self.lock:
            branch.held -= count
            self._held -= count
            asks = self._asked - self._came <= self._low
        if branch.outlet is not None and not branch.outlet.demand:
            self._fed(branch)
        if asks:
            self.ask()

    def _fed(self, branch: Branch) -> None:
        """Take note that nothing more is asked of a branch."""
        with self.lock:
            if branch.hungry and branch.outlet is not None and not branch.outlet.demand:
                branch.hungry = False
                self._hungry -= 1

    def _cancelled(self, branch: Branch) -> None:
        with self.lock:
            self._retire(branch)
        self._cancel_if_left_alone()

    def _retire(self, branch: Branch) -> None:
        """Let a cancelled branch take no more elements, and another one if the joint says so; under the lock."""
        if branch.closed:
            return
        branch.closed = True
        self._leave(branch)
        if not (self._failed or self._outer_done or self.outer.closed):
            heir = branch.heir = self.heir(branch)
            if heir is not None:
                heir.done = self.done
                self._enter(heir)

    def _closed(self, branch: Branch) -> None:
        outlet = branch.outlet
        assert outlet is not None
        with self.lock:
            if outlet.rest:
                self._retire(branch)
            branch.closed = True
            self._leave(branch)
            rest, outlet.rest = outlet.rest, []
            heir, branch.heir = branch.heir, None
            sends = heir is not None and not heir.closed and self._inherits(heir, branch, rest)
            self._held -= branch.held
            branch.held = 0
            ended, branch.ended = branch.ended, True
            branch.error = None  # rule 3.13: its frames know a subscriber
        if sends and heir is not None:
            self.send(heir)
        with self.lock:
            if not ended:
                self._claimed -= 1
        self._complete_outer()
        self._cancel_if_left_alone()
        self.ask()

    def _inherits(self, heir: Branch, branch: Branch, rest: list[Any]) -> bool:
        """Give what a branch still holds to its heir, in front of what has come since; tell whether it has anything."""
        heir.queue.extendleft(reversed(rest))
        heir.held += len(rest)
        branch.held -= len(rest)
        self._unclaimed += len(rest)
        if not heir.queue:
            heir.closed = True
            self._leave(heir)
            self._orphans.pop(heir, None)
        elif heir.done:
            self._open.pop(heir, None)
        return bool(heir.queue)

    def _leave(self, branch: Branch) -> None:
        """Let a branch take no more elements; under the lock."""
        if branch in self._open:
            del self._open[branch]
            self.left(branch)
        if branch.hungry:
            branch.hungry = False
            self._hungry -= 1

    def _outer_cancelled(self) -> None:
        with self.lock:
            orphans = list(self._orphans)
            self._orphans.clear()
            for branch in orphans:
                branch.closed = True
                self._leave(branch)
                self._held -= branch.held
                branch.held = 0
                branch.queue.clear()
            self._unclaimed = 0
        self._cancel_if_left_alone()
        self.ask()  # there is room now for those who have a branch

    def _cancel_if_left_alone(self) -> None:
        with self.lock:
            alone = self.outer.closed and not self._open and not self.done
            if alone:
                self.done = True
        if alone:
            self._release()
            self._upstream.cancel()

    # Demand, and the stall.

    def _wanted(self) -> bool:
        return bool(self._hungry) or (self.outer.demand > len(self.outer.queue) and not self.outer.closed)

    def _stuck(self) -> bool:
        return self._unclaimed >= self._size and self._asked == self._came and self._wanted()

    def ask(self) -> None:
        """Ask upstream for what there is room for, if a branch or the outer subscriber wants anything."""
        with self.lock:
            if self.done or not self._upstream.here:
                return
            owed = self._asked - self._came
            room = min(self._size - self._held, self.most()) - owed
            asks = (room >= self._half or (room > 0 and not owed)) and self._wanted()
            if asks:
                self._asked += room
            stuck = not asks and self._stuck()
            if not stuck:
                self._stuck_since = None
        if asks:
            self._upstream.request(room)
        elif stuck:
            self._watch()

    def _watch(self) -> None:
        """Begin to wait for a subscriber that may be on its way."""
        now = self._alarm.now()
        with self.lock:
            if self._stuck_since is None:
                self._stuck_since = now
            watched, self._watched = self._watched, True
        if not watched:
            self._alarm.set(self._patience)

    def _look(self, _: object) -> None:
        """Fail if nothing has moved all the time."""
        now = self._alarm.now()
        with self.lock:
            since = self._stuck_since
            self._watched = since is not None and not self.done and self._stuck()
            stuck = self._watched
            orphan = next((each for each in self._orphans if each.held), None)
        if not stuck or since is None:
            return
        left = since + self._patience - now
        if left > 0:
            self._alarm.set(left)
        elif orphan is not None:
            self.fail(self._stalled(orphan), now=True)

    def _taken_before(self, branch: Branch) -> Exception:
        return PenstockError(
            f"{self._operator}: {self.name_of(branch)} was taken by an earlier subscriber; put share() behind it for "
            "more"
        )

    def _gone(self, branch: Branch) -> Exception:
        return PenstockError(
            f"{self._operator}: {self.name_of(branch)} had no subscriber when all were cancelled; subscribe to "
            "each as it comes, as flat_map does"
        )

    def _stalled(self, orphan: Branch) -> Exception:
        """Return the error that says what is wrong and how to cure it."""
        return OverflowedError(
            f"{self._operator}: {self._size} elements wait in streams without a subscriber, "
            f"{self.name_of(orphan)} among them, and others wait for elements; subscribe to each as it comes: "
            f"flat_map(fn, concurrency=n) with n >= the number open at a time, or say {self._operator}(..., size=n) "
            f"with n > {self._size}"
        )
