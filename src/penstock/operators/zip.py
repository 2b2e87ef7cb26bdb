"""zip: pair the elements of several streams."""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar

from penstock.engine.arguments import count_given
from penstock.engine.chain import Chain, connect, pull_all, unseen
from penstock.engine.opened import opened
from penstock.engine.outlet import Outlet, accepts, element_or_raise
from penstock.engine.part import Part, height_of
from penstock.engine.segment import close_quietly, no_item
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Gate, Opener, Source


@dataclass(frozen=True, slots=True)
class Zip(Source[tuple[Any, ...]]):
    """Emit tuples of the first elements, the second elements, and so on.

    Emits when every stream has one more element. Backpressures when downstream does: at most `prefetch` elements of
    each stream are held. Completes as soon as one stream has completed and its elements are used up; fails with the
    first failure. Cancels all streams, also when it completes.
    """

    streams: tuple[Chain, ...]
    prefetch: int = 32
    clean: ClassVar[bool] = True

    def __post_init__(self) -> None:
        count_given("zip", "prefetch", self.prefetch, 1)

    def opener(self) -> Opener[tuple[Any, ...]] | None:
        """Iterate side by side, if each can be iterated."""
        openers = pull_all(self.streams, looks=True)
        if openers is None:
            return None
        open_rows = _looked_through if any(map(unseen, self.streams)) else _side_by_side
        return lambda gate: open_rows(openers, gate)

    def connect(self, downstream: Subscriber[tuple[Any, ...]], /) -> None:
        """Subscribe to all."""
        run = _ZipRun(downstream, len(self.streams), self.prefetch)
        run.start()
        for chain, lane in builtins.zip(self.streams, run.lanes, strict=True):
            if run.over:
                return
            connect(chain, lane)


def _side_by_side(openers: list[Opener[Any]], gate: Gate | None) -> Iterator[tuple[Any, ...]]:
    iterators = [opener(gate) for opener in openers]
    rows = builtins.zip(*iterators, strict=False)
    # Where nothing has to be closed, the built-in alone is the fastest there is.
    return _closing(rows, iterators) if any(hasattr(each, "close") for each in iterators) else rows


def _closing(rows: Iterator[tuple[Any, ...]], iterators: list[Iterator[Any]]) -> Iterator[tuple[Any, ...]]:
    try:
        yield from rows
    finally:
        for iterator in iterators:
            close_quietly(iterator)


def _looked_through(openers: list[Opener[Any]], gate: Gate | None) -> Iterator[tuple[Any, ...]]:
    """Do what `_side_by_side` does, and look for None."""
    with opened(openers, gate) as iterators:
        rows = builtins.zip(*iterators, strict=False)
        if len(iterators) == 2:
            for row in rows:
                one, other = row
                if one is None or other is None:
                    raise no_item()
                yield row
        else:
            for row in rows:
                for element in row:
                    if element is None:
                        raise no_item()
                yield row


class _Lane(Part):
    """Be the subscriber of one of the streams."""

    __slots__ = ("_run", "done", "height", "queue", "subscription")

    def __init__(self, run: _ZipRun) -> None:
        self._run = run
        self.height = run.height
        self.queue: deque[Any] = deque()
        self.done = False
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if not accepts(subscription, self.subscription):
            return
        self.subscription = subscription
        if self._run.over:
            subscription.cancel()
        else:
            subscription.request(self._run.window)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        self.queue.append(element)
        self._run.advance()

    def on_error(self, error: Exception, /) -> None:
        element_or_raise(error, "on_error")
        self.done = True
        self._run.outlet.complete(error)
        self._run.cancel()

    def on_complete(self) -> None:
        self.done = True
        self._run.advance()


class _ZipRun(Part):
    """Build a tuple whenever every lane has an element."""

    def __init__(self, downstream: Subscriber[Any], lanes: int, window: int) -> None:
        self.height = height_of(downstream) + 1
        self.window = window
        self.over = False
        self.lanes = [_Lane(self) for _ in builtins.range(lanes)]
        self.outlet: Outlet[tuple[Any, ...]] = Outlet(downstream)
        self.outlet.on_taken = self._taken
        self.outlet.on_cancel = self.cancel
        self.outlet.also_held = lambda: sum(len(lane.queue) for lane in self.lanes)
        self._half = (window + 1) // 2
        self._owed = 0
        self._lock = Lock()

    def start(self) -> None:
        self.outlet.open()

    def advance(self) -> None:
        lanes = self.lanes
        with self._lock:
            if self.over:
                return
            while all(lane.queue for lane in lanes):
                self.outlet.queue.append(tuple([lane.queue.popleft() for lane in lanes]))
            over = any(lane.done and not lane.queue for lane in lanes)
        if over:
            self.outlet.complete()
            self.cancel()
        else:
            self.outlet.wake()

    def _taken(self, count: int) -> None:
        self._owed += count
        if self._owed >= self._half:
            owed, self._owed = self._owed, 0
            for lane in self.lanes:
                if lane.subscription is not None and not lane.done:
                    lane.subscription.request(owed)

    def cancel(self) -> None:
        with self._lock:
            self.over = True
            for lane in self.lanes:
                lane.queue.clear()
        for lane in self.lanes:
            if lane.subscription is not None and not lane.done:
                lane.subscription.cancel()
