"""parts: sources and subscribers that tests of the engine are made of."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from penstock import Stream, Subscription
from penstock.testing import Probe
from tests.engine.watch import PATIENCE


def noop(*_: object) -> None:
    """Do nothing."""


def never(_: object) -> bool:
    """Reject everything."""
    return False


class Items:
    """Be an iterable, and an asynchronous one, that counts what is done to it and can fail anywhere."""

    def __init__(self, count: int | None = None, **fails: Exception) -> None:
        self.count = count
        self.fails = fails
        self.opened = 0
        self.taken = 0
        self.closed = 0
        self.reached = threading.Event()
        """Set once a hundred items were taken."""
        self.was_closed = threading.Event()

    def _fail(self, where: str) -> None:
        if where in self.fails:
            raise self.fails[where]

    def __iter__(self) -> ItemsRun:
        self._fail("iter")
        self.opened += 1
        return ItemsRun(self)

    def __aiter__(self) -> AsyncItemsRun:
        self._fail("iter")
        self.opened += 1
        return AsyncItemsRun(self)

    def take(self, place: int) -> int | None:
        """Return the next item, or None at the end."""
        if place == self.count:
            self._fail("next")
            return None
        self.taken += 1
        if self.taken == 100:
            self.reached.set()
        return place

    def close(self) -> None:
        """Count a close."""
        self.closed += 1
        self.was_closed.set()
        self._fail("close")


class ItemsRun(Iterator[int]):
    """Be one run over Items."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self._place = 0

    def __next__(self) -> int:
        item = self._items.take(self._place)
        if item is None:
            raise StopIteration
        self._place += 1
        return item

    def close(self) -> None:
        self._items.close()


class AsyncItemsRun(AsyncIterator[int]):
    """Be one asynchronous run over Items, which never really waits."""

    def __init__(self, items: Items) -> None:
        self._items = items
        self._place = 0

    async def __anext__(self) -> int:
        item = self._items.take(self._place)
        if item is None:
            raise StopAsyncIteration
        self._place += 1
        return item

    async def aclose(self) -> None:
        self._items.close()


FORMS: dict[str, Callable[[Items], Stream[int]]] = {
    "sync": Stream.from_iterable,
    "fed": lambda items: Stream.from_iterable(items).do_finally(noop),
    "chunked": lambda items: Stream.from_iterable(items).publish_on(INLINE, prefetch=8),
    "async": lambda items: Stream.from_async_iterable(items),
    "fed async": lambda items: Stream.from_async_iterable(items).do_finally(noop),
    "nested": lambda items: Stream.empty().concat(Stream.from_iterable(items)),
}
"""The ways in which elements may come to a run of stages."""


class Plain:
    """Be a subscriber that only does what it is told, and never checks anything."""

    def __init__(self, request: int = 0, on_next: Callable[[Any], object] = noop) -> None:
        self.request = request
        self.take = on_next
        self.subscription: Subscription | None = None
        self.signals: list[object] = []

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = subscription
        if self.request:
            subscription.request(self.request)

    def on_next(self, element: Any, /) -> None:
        self.signals.append(element)
        self.take(element)

    def on_error(self, error: Exception, /) -> None:
        self.signals.append(error)

    def on_complete(self) -> None:
        self.signals.append("complete")


def in_thread(call: Callable[[], object], stack: int = 0) -> None:
    """Run a call on a thread, which may have a small stack; wait for it and raise what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(stack)
    try:
        thread = threading.Thread(target=run, name="test", daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def started(call: Callable[[], object]) -> threading.Thread:
    """Start a call on a thread and return the thread."""
    thread = threading.Thread(target=call, name="test", daemon=True)
    thread.start()
    return thread


def ended(stream: Stream[Any], request: int = 2**63 - 1) -> Probe[Any]:
    """Subscribe, ask for everything, wait for the end, and return the probe, which saw no rule broken."""
    probe: Probe[Any] = Probe(request)
    stream.subscribe(probe)
    probe.wait_for_end()
    assert probe.breaches == []
    return probe


class Inline:
    """Be an executor of another make that runs everything at once."""

    def worker(self) -> Inline:
        return self

    def submit(self, task: Callable[[], None], /) -> None:
        task()

    def close(self) -> None:
        pass


INLINE = Inline()
