"""parallel: publishers and subscribers whose signals, requests and cancels all come from threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Subscriber, Subscription
from tests.engine.stress import all_at_once
from tests.engine.watch import PATIENCE

AHEAD = 8
"""How many elements a taker asks for before it has any."""


class Hose:
    """Be a publisher that signals on a thread of its own, as fast as it is asked."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items
        self.runs: list[_HoseRun] = []

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        run = _HoseRun(self.items, subscriber)
        self.runs.append(run)
        threading.Thread(target=run.flow, daemon=True).start()

    def let_go(self) -> bool:
        """Wait until every run has come to its end or was cancelled; tell whether all have."""
        return all(run.over.wait(PATIENCE) for run in self.runs)


class _HoseRun:
    def __init__(self, items: Iterable[Any], subscriber: Subscriber[Any]) -> None:
        self._items = items
        self._subscriber = subscriber
        self._changed = threading.Condition()
        self._demand = 0
        self._cancelled = False
        self.over = threading.Event()

    def request(self, n: int, /) -> None:
        with self._changed:
            self._demand = min(self._demand + n, UNBOUNDED)
            self._changed.notify()

    def cancel(self) -> None:
        with self._changed:
            self._cancelled = True
            self._changed.notify()

    def flow(self) -> None:
        subscriber, todo = self._subscriber, 0
        try:
            subscriber.on_subscribe(self)
            for item in self._items:
                if not todo:
                    with self._changed:
                        self._changed.wait_for(lambda: self._demand or self._cancelled, PATIENCE)
                        todo, self._demand = self._demand, 0
                if self._cancelled:
                    return
                todo -= 1
                subscriber.on_next(item)
            if not self._cancelled:
                subscriber.on_complete()
        finally:
            self.over.set()


class Taker:
    """Be a subscriber that is asked for on other threads than it is signalled on, and that looks at every rule."""

    def __init__(self, leaves_after: int | None = None) -> None:
        self.elements: list[Any] = []
        self.faults: list[str] = []
        self.error: Exception | None = None
        self.completed = False
        self.over = threading.Event()
        """Whether it was told of the end, or has cancelled."""
        self._here = threading.Event()
        self._subscription: Subscription | None = None
        self._leaves_after = leaves_after
        self._signalled = threading.Lock()
        self._asking = threading.Lock()
        self._asked = 0
        self._wishes: SimpleQueue[bool] = SimpleQueue()

    def _signal(self, what: str, done: Callable[[], object]) -> None:
        if not self._signalled.acquire(blocking=False):
            self.faults.append(f"rule 1.3: {what} came while another signal was under way")
            return
        if self.completed or self.error is not None:
            self.faults.append(f"rule 1.7: {what} came after the end")
        done()
        self._signalled.release()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._subscription = subscription
        self._here.set()

    def on_next(self, element: Any, /) -> None:
        self._signal("on_next", lambda: self._take(element))

    def _take(self, element: Any) -> None:
        self.elements.append(element)
        if len(self.elements) > self._asked:
            self.faults.append(f"rule 1.1: {len(self.elements)} elements came, {self._asked} were asked for")
        self._wishes.put(True)

    def on_error(self, error: Exception, /) -> None:
        self._signal("on_error", lambda: setattr(self, "error", error))
        self._end()

    def on_complete(self) -> None:
        self._signal("on_complete", lambda: setattr(self, "completed", True))
        self._end()

    def _end(self) -> None:
        self.over.set()
        for _ in range(ASKERS):
            self._wishes.put(False)

    def ask(self, count: int) -> None:
        """Ask for more, from any thread."""
        assert self._here.wait(PATIENCE)
        with self._asking:
            self._asked = min(self._asked + count, UNBOUNDED)
        assert self._subscription is not None
        self._subscription.request(count)

    def asks_on(self) -> None:
        """Ask for one more for each element that has come, until the end, or cancel after so many."""
        while self._wishes.get(timeout=PATIENCE):
            if self._leaves_after is not None and len(self.elements) >= self._leaves_after:
                self.cancel()
            else:
                self.ask(1)

    def cancel(self) -> None:
        """Cancel, from any thread."""
        assert self._here.wait(PATIENCE)
        assert self._subscription is not None
        self._subscription.cancel()
        self._end()


ASKERS = 2
"""How many threads ask for one taker."""


def takes(stream: Stream[Any], taker: Taker) -> list[Callable[[], object]]:
    """Return what threads are to do for a taker to have a stream."""

    def begin() -> None:
        stream.subscribe(taker)
        taker.ask(AHEAD)

    return [begin, *[taker.asks_on] * ASKERS]


def taken(stream: Stream[Any]) -> list[Any]:
    """Return what a taker gets of a stream, asked for on two threads; it must complete, and keep every rule."""
    taker = Taker()
    all_at_once(*takes(stream, taker))
    assert (taker.faults, taker.error, taker.completed) == ([], None, True)
    return taker.elements


def left(stream: Stream[Any], after: int) -> Taker:
    """Have a taker cancel from two threads once so many elements have come; return it, or one that saw the end."""
    taker = Taker(after)
    all_at_once(*takes(stream, taker), *([taker.cancel] if not after else []))
    assert (taker.faults, taker.error) == ([], None)
    return taker
