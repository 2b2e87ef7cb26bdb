"""combining: the ground of joints that make their elements out of those of several inputs.

Every input has a lane: its own queue and its own credit. It is asked for `window` elements when the subscriber asks for
the first, and again by halves as they are taken out, so at most `window` of each are held. Elements are made (`make`)
by the thread that has the turn of the outlet, and delivered by it before more are made: a thread that brings something,
or asks for something, sets `news` and then tries to take the turn. No lock is held meanwhile, since making may call a
user's function.

Nothing is made that the subscriber has not asked for, no more than `window` at a time, and nothing before every input
is subscribed: one that never ends must not keep the others from being heard. An end, a failure included, stands in its
lane behind the elements that came before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Literal

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import Outlet, element_or_raise
from penstock.engine.grounds.upstream import Filled
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.part import Part, height_of
from penstock.engine.words.trampoline import run_all
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


class Lane(Filled["Lanes"]):
    """The subscriber of one input; `put` queues an element."""

    __slots__ = ("error", "place", "put", "queue")

    def __init__(self, lanes: Lanes, place: int) -> None:
        super().__init__(lanes)
        self.place = place
        self.queue: deque[Any] = deque()
        self.put: Callable[[Any], None] = self.queue.append
        self.error: Exception | None = None

    @property
    def used_up(self) -> bool:
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
        lanes = self.whole
        if lanes.side_by_side:
            for lane in lanes.lanes:
                if not lane.queue:
                    return  # nothing can be made of it before that one brings something
        lanes.tell()

    def on_chunk(self, elements: list[Any], /) -> None:
        """Queue several elements."""
        for element in elements:
            self.put(element)
        self.whole.tell()

    def ended(self, error: Exception | None, /) -> None:
        """Queue the end, a failure included."""
        if self.whole.over:
            too_late(error)
        else:
            self.error = error
            self.whole.ended(self)

    def take(self) -> Any:
        """Take the next element out of the queue; more is asked for when what is made of it was delivered."""
        self._taken_since += 1
        if self._taken_since == self.half:
            self.whole.due.append(self)
        return self.queue.popleft()

    def cancel(self) -> None:
        """Ask for nothing more; a failure that no subscriber was told of is not swallowed."""
        with self.lock:
            error, self.error = self.error, None
        too_late(error)
        super().cancel()


class _Made(Outlet[Any]):
    """The outlet of elements that the thread that has the turn makes as they are asked for."""

    __slots__ = ("_make", "news")

    def __init__(self, downstream: Subscriber[Any], make: Callable[[int], list[Any]]) -> None:
        super().__init__(downstream)
        self._make = make
        self.news = True
        """Whether something has come, or was asked for, since elements were made."""

    def _step(self) -> bool:
        if self.news and not (self._done or self._cancelled):
            self.news = False
            made = self._made()
            self._taken += len(made)
            return bool(made) and not self._cancelled and self._deliver(made)
        return super()._step()

    def _has_work(self) -> bool:
        return self.news or super()._has_work()

    def _made(self) -> list[Any]:
        returned = False
        try:
            made = self._make(self.demand)
            returned = True
        finally:
            if not returned:  # a KeyboardInterrupt or its like passes, and those below are told of it
                self._interrupted()
        return made


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
        """Whether nothing more is made."""
        self.asked = False
        """Whether the lanes are asked: the subscriber has asked for something, and all of them are subscribed."""
        self._demanded = False
        self._chains: Sequence[Chain] = ()
        self.due: list[Lane] = []
        """The lanes that half a window was taken of; more is asked for when what was made is delivered."""
        self.outlet = _Made(downstream, self._make)
        self.outlet.on_request = self._requested
        self.outlet.on_taken = self._taken
        self.outlet.on_cancel = self.cancel
        self.outlet.on_close = self._close
        self.outlet.also_held = self.held
        self.outlet.most_held = lambda: window * count
        self.lanes = [Lane(self, place) for place in range(count)]

    # What joints say.

    def make(self) -> Any:
        """Return an element; NOTHING if something was taken and gave none; None if what it takes is not there."""
        raise NotImplementedError

    def settled(self) -> bool:
        """Tell whether the end has come, asked for or not."""
        return all(lane.used_up for lane in self.lanes)

    def held(self) -> int:
        """Return how many elements wait before they are made into others."""
        return sum(len(lane.queue) for lane in self.lanes)

    def forget(self) -> None:
        """Let go of what was kept besides the lanes' queues."""

    # The rest.

    def start(self, chains: Sequence[Chain]) -> None:
        """Signal `on_subscribe`, subscribe to all inputs, then begin."""
        self._chains = chains
        self.outlet.open()

    def ended(self, lane: Lane) -> None:
        """Note the end of a lane."""
        lane.done = True
        self.tell()

    def _requested(self, _: int) -> None:
        self._demanded = self.outlet.news = True

    def _taken(self, _: int) -> None:
        if self.due:
            self._fill()

    def tell(self) -> None:
        """Say that something has come, and make elements unless another thread does."""
        outlet = self.outlet
        outlet.news = True
        if outlet.turn:
            outlet.wake()

    def _make(self, demand: int) -> list[Any]:
        """Make what is asked for, up to a window of it, or end."""
        made: list[Any] = []
        room = min(demand, self.window)
        try:
            if self._chains:
                self._connect_all()
            if self._demanded and not self.asked:
                self.asked = True
                for lane in self.lanes:
                    lane.begin()  # all of them before anything is made
            while len(made) < room and not self.over:
                element = self.make()
                if element is None:
                    break
                if element is not NOTHING:
                    made.append(element)
                elif not made:
                    self._fill()
            else:
                if made:
                    self.outlet.news = True  # there may be more to be made
            if not self.over and self.settled():
                self._end(None)
        except _Reached as reached:
            self._end(reached.error)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self._end(error)
        if not made:
            self._fill()
        return made

    def _connect_all(self) -> None:
        chains, self._chains = self._chains, ()
        for chain, lane in zip(chains, self.lanes, strict=True):
            if not self.over:
                connect(chain, lane)
                if self.hasty and self.settled():
                    self._end(None)

    def _fill(self) -> None:
        """Ask for more of the lanes that half a window was taken of."""
        due, self.due = self.due, []
        for lane in due:
            lane.taken(0)

    def _end(self, error: Exception | None) -> None:
        """End after what was made."""
        for lane in self.lanes:
            if lane.error is error:
                lane.error = None  # it is told
        self.over = True
        self.outlet.complete(error)

    def cancel(self) -> None:
        """Cancel the inputs that have not ended."""
        self.over = True
        run_all(deque([lane.cancel for lane in self.lanes]))

    def _close(self) -> None:
        """Cancel the inputs, and forget what they brought."""
        self.cancel()
        for lane in self.lanes:
            lane.queue.clear()
        self.forget()
