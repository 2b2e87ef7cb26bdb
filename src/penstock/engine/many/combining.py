"""combining: the ground of joints that make their elements out of those of several inputs.

Every input has a lane: its own queue and its own credit. It is asked for `window` elements when the subscriber asks for
the first, and again by halves as they are taken out, so at most `window` of each are held. One thread at a time makes
elements (`make`): the one that brings something or asks for something while no other thread makes any. No lock is held
meanwhile, since making may call a user's function. `idle` says that no thread makes elements, `news` that something has
come since. A thread that brings something sets `news` before it looks at `idle`, and a thread that stops making sets
`idle` before it looks at `news`, so between the two nothing is forgotten.

Nothing is made that the subscriber has not asked for, no more than `window` results wait to be delivered, and nothing
is made before every input is subscribed: one that never ends must not keep the others from being heard. An end, a
failure included, stands in its lane behind the elements that came before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from threading import Lock
from typing import Any, Literal

from penstock.engine.grounds.cold_paths import interruption, too_late
from penstock.engine.grounds.input_window import Filled
from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.part import Part, height_of
from penstock.errors import InterruptionError
from penstock.spec.interfaces import Subscriber


class _Reached(Exception):
    """The exception that carries a failure out of `make` without adding to the failure's traceback."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Nothing(Enum):
    """The result of an element that was taken and gave none."""

    NOTHING = "nothing"


NOTHING: Literal[Nothing.NOTHING] = Nothing.NOTHING


class Lane(Filled):
    """The subscriber of one input; `put` queues an element."""

    __slots__ = ("_lanes", "error", "place", "put", "queue")

    def __init__(self, lanes: Lanes, place: int) -> None:
        super().__init__(lanes)
        self._lanes = lanes
        self.place = place
        self.queue: deque[Any] = deque()
        self.put: Callable[[Any], None] = self.queue.append
        self.error: Exception | None = None

    @property
    def over(self) -> bool:
        """Tell whether it has completed and everything was taken out; a failure that is reached so ends the whole."""
        if not self.done or self.queue:
            return False
        self.fail_if_failed()
        return True

    def fail_if_failed(self) -> None:
        """End the whole if this lane ended with a failure; only while making."""
        if self.error is not None:
            raise _Reached(self.error)

    def on_next(self, element: Any, /) -> None:
        """Queue one element."""
        if element is None:
            element_or_raise(element, "on_next")
        self.put(element)
        lanes = self._lanes
        if lanes.side_by_side:
            for lane in lanes.lanes:
                if not lane.queue:
                    return  # nothing can be made of it before that one brings something
        lanes.news = True
        if lanes.idle:
            lanes.wake()

    def on_chunk(self, elements: list[Any], /) -> None:
        """Queue several elements."""
        for element in elements:
            self.put(element)
        self._lanes.tell()

    def on_error(self, error: Exception, /) -> None:
        """Queue the failure."""
        element_or_raise(error, "on_error")
        if self._lanes.over:
            too_late(error)
            return
        self.error = error
        self.on_complete()

    def on_complete(self) -> None:
        """Queue the end."""
        self._lanes.ended(self)

    def take(self) -> Any:
        """Take the next element out of the queue; more is asked for when what is made of it was delivered."""
        self._taken += 1
        if self._taken == self._half:
            self._lanes.due.append(self)
        return self.queue.popleft()

    def cancel(self) -> None:
        """Ask for nothing more; a failure that no subscriber was told of is not swallowed."""
        error, self.error = self.error, None
        too_late(error)
        super().cancel()


class Lanes(Part):
    """A joint that makes elements out of the lanes' elements, as far as the subscriber asks for them."""

    hasty = False
    """Whether the end may come before all inputs are subscribed."""
    side_by_side = False
    """Whether nothing can be made while one of the lanes is empty."""

    def __init__(self, downstream: Subscriber[Any], count: int, window: int) -> None:
        self.height = height_of(downstream) + 1
        self.window = window
        self.over = False
        self.asked = False
        """Whether the subscriber has asked for anything."""
        self._begun = False
        self._full = True
        """Whether nothing was made for want of room or of demand."""
        self.idle = False
        self.news = False
        self.due: list[Lane] = []
        """The lanes that half a window was taken of; the thread that makes elements asks for more."""
        self.outlet: Outlet[Any] = Outlet(downstream)
        self.outlet.on_request = self._requested
        self.outlet.on_taken = self._taken
        self.outlet.on_cancel = self.cancel
        self.outlet.also_held = self.held
        self.outlet.most_held = lambda: window * (count + 1)  # of each lane, and of results
        self.lanes = [Lane(self, place) for place in range(count)]
        self.lock = Lock()

    # What joints say.

    def make(self) -> Any:
        """Return an element; NOTHING if something was taken and gave none; None if what it takes is not there."""
        raise NotImplementedError

    def settled(self) -> bool:
        """Tell whether the end has come, asked for or not."""
        return all(lane.over for lane in self.lanes)

    def held(self) -> int:
        """Return how many elements wait before they are made into others."""
        return sum(len(lane.queue) for lane in self.lanes)

    def forget(self) -> None:
        """Let go of what was kept besides the lanes' queues."""

    # The rest.

    def start(self, chains: Sequence[Chain]) -> None:
        """Signal `on_subscribe`, subscribe to all inputs, then begin."""
        self.outlet.open()
        returned = False
        try:
            for chain, lane in zip(chains, self.lanes, strict=True):
                if not self.over:
                    connect(chain, lane)
                    if self.hasty:
                        self._make_some()
            returned = True
        finally:
            if not returned:
                self._interrupted()
        self._make_all()

    def ended(self, lane: Lane) -> None:
        """Note the end of a lane."""
        lane.done = True
        self.tell()

    def _requested(self, _: int) -> None:
        self.asked = True
        self.tell()

    def _taken(self, _: int) -> None:
        if self._full:
            self.tell()

    def tell(self) -> None:
        """Say that something has come, and make elements unless another thread does."""
        self.news = True
        if self.idle:
            self.wake()

    def wake(self) -> None:
        """Make elements, unless another thread does already."""
        with self.lock:
            if not self.idle:
                return
            self.idle = False
        self._make_all()

    def _make_all(self) -> None:
        returned = False
        try:
            while True:
                self.news = False
                if self.over:
                    self._forget()
                else:
                    if self.asked and not self._begun:
                        self._begun = True
                        for lane in self.lanes:
                            lane.begin()  # all of them before anything is made
                    self._make_some()
                if self.news:
                    continue
                with self.lock:
                    self.idle = True
                if not self.news:
                    break
                with self.lock:
                    if not self.idle:
                        break  # another thread makes by now
                    self.idle = False
            returned = True
        finally:
            if not returned:
                self._interrupted()

    def _interrupted(self) -> None:
        """Tell who is below of a KeyboardInterrupt or its like, which passes."""
        self.idle = True
        for lane in self.lanes:
            if isinstance(lane.error, InterruptionError):
                lane.error = None  # it is this one
        self.outlet.fail_now(interruption())

    def _make_some(self) -> None:
        """Make what is asked for, up to a window of it, and have it delivered."""
        outlet, make = self.outlet, self.make
        self._full = True  # until it is known otherwise: room may be made this moment
        with outlet.lock:
            room = min(outlet.demand, self.window) - len(outlet.queue)
        made: list[Any] = []
        try:
            while room > 0 and not self.over:
                element = make()
                if element is None:
                    break
                if element is not NOTHING:
                    made.append(element)
                    room -= 1
                elif not made:
                    self._fill()
            self._full = room <= 0
            settled = not self.over and self.settled()
        except _Reached as reached:
            self._end(made, reached.error)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self._end(made, error)
        else:
            if settled:
                self._end(made, None)
            elif len(made) == 1:
                outlet.offer(made[0])
            elif made:
                outlet.queue.extend(made)
                outlet.wake()
            if self.due:
                self._fill()

    def _fill(self) -> None:
        """Ask for more of the lanes that half a window was taken of."""
        due, self.due = self.due, []
        for lane in due:
            lane.credit(0)

    def _end(self, made: list[Any], error: Exception | None) -> None:
        """End after what was made, and cancel the inputs."""
        for lane in self.lanes:
            if lane.error is error:
                lane.error = None  # it is told
        self.outlet.queue.extend(made)
        self.outlet.complete(error)
        self.cancel()

    def cancel(self) -> None:
        """Cancel the inputs that have not ended, and let the thread that makes elements forget what they brought."""
        with self.lock:
            if self.over:
                return
            self.over = True
        for lane in self.lanes:
            lane.cancel()
        self.tell()

    def _forget(self) -> None:
        for lane in self.lanes:
            lane.queue.clear()
        self.forget()
