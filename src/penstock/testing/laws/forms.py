"""forms: the ways in which an upstream gives its elements."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from typing import Any

from penstock.engine.places.executors import inline, thread
from penstock.engine.words.demand import add
from penstock.spec.interfaces import Subscriber
from penstock.stream import Stream, Subject
from penstock.testing.tracked import Tracked

PREFETCH = 2


class UpstreamError(Exception):
    """The failure of an upstream in a law."""


class Form(Enum):
    """How upstream gives its elements."""

    ITERATED = "iterated"
    SIGNALLED = "signalled"
    ASYNCHRONOUS = "asynchronous"
    SIZED = "sized"
    FOREIGN = "foreign"
    SUBJECT = "a subject"
    INLINE = "behind an inline boundary"
    THREAD = "behind a thread"

    def over(self, items: Tracked[Any]) -> Stream[Any]:
        """Return an upstream of this form."""
        return _OVER[self](items)

    @property
    def knows(self) -> bool:
        """Tell whether its end comes with its last element."""
        return self not in {Form.ITERATED, Form.SIGNALLED, Form.ASYNCHRONOUS}

    @property
    def counted(self) -> bool:
        """Tell whether the items can say how much was read of them."""
        return self not in {Form.SIZED, Form.SUBJECT}

    @property
    def ahead(self) -> int:
        """Return how many elements it reads by itself before they are asked for."""
        return PREFETCH if self in {Form.INLINE, Form.THREAD} else 0

    def ended(self, error: Exception | None) -> Stream[Any] | None:
        """Return an upstream that fails or completes without an element and says so at once; None if there is none."""
        if self is Form.ASYNCHRONOUS:
            return None  # it has to be asked
        if self.counted and self not in {Form.ITERATED, Form.SIGNALLED}:
            return self.over(Tracked([], error))
        if self is Form.SUBJECT:
            return _subject(Tracked([], error))
        if self is Form.SIZED and error is None:
            return Stream.from_iterable([])
        ended: Stream[Any] = Stream.empty() if error is None else Stream.error(error)
        return Stream.from_publisher(ended) if self is Form.SIGNALLED else ended


FIRST_FORMS = (Form.ITERATED, Form.SIGNALLED, Form.ASYNCHRONOUS)


class Foreign:
    """A publisher of another library: it sends the items as they are asked for, and the end with the last of them."""

    chain = height = length = "its own affair"

    def __init__(self, items: Tracked[Any]) -> None:
        self.items = items

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        """Take a subscriber."""
        _ForeignRun(self.items, subscriber).start()


class _ForeignRun:
    """A subscription whose signals are serial and do not nest, on the thread that asks."""

    held = gone = on_chunk = "its own affair"

    def __init__(self, items: Tracked[Any], subscriber: Subscriber[Any]) -> None:
        self._items = items
        self._run = iter(items)
        self._sent = 0
        self._demand = 0
        self._lock = threading.Lock()
        self._working = True
        self._subscriber: Subscriber[Any] | None = subscriber

    def start(self) -> None:
        assert self._subscriber is not None
        self._subscriber.on_subscribe(self)
        self._work()

    def request(self, n: int, /) -> None:
        with self._items.changed:
            self._items.requested = add(self._items.requested, n)
        with self._lock:
            self._demand = add(self._demand, n)
            if self._working:
                return
            self._working = True
        self._work()

    def cancel(self) -> None:
        with self._lock:
            self._subscriber = None
        self._run.close()

    def _work(self) -> None:
        while (signal := self._next_signal()) is not None:
            signal()

    def _next_signal(self) -> Callable[[], object] | None:
        with self._lock:
            subscriber, items = self._subscriber, self._items
            if subscriber is None:
                self._working = False
                return None
            if self._sent == len(items.items):
                self._subscriber = None
                self._run.close()
                error = items.error
                return subscriber.on_complete if error is None else lambda: subscriber.on_error(error)
            if not self._demand:
                self._working = False
                return None
            self._demand -= 1
            self._sent += 1
            element = next(self._run)
        return lambda: subscriber.on_next(element)


def _sized(items: Tracked[Any]) -> Stream[Any]:
    """Return a list; one that fails does so in the function of a step, which is all that can fail there."""
    error = items.error
    if error is None:
        return Stream.from_iterable(list(items.items))
    end = object()

    def fail_at_end(item: Any) -> Any:
        if item is end:
            assert error is not None
            raise error
        return item

    return Stream.from_iterable([*items.items, end]).map(fail_at_end)


def filled(items: Tracked[Any]) -> Subject[Any]:
    """Return a subject that keeps the items for everybody, and has not ended."""
    subject: Subject[Any] = Stream.subject(size=1000, kept=1000)
    for item in items.items:
        subject.emit(item)
    return subject


def _subject(items: Tracked[Any]) -> Stream[Any]:
    subject = filled(items)
    if items.error is None:
        subject.complete()
    else:
        subject.fail(items.error)
    return subject


_OVER: dict[Form, Callable[[Tracked[Any]], Stream[Any]]] = {
    Form.ITERATED: Stream.from_iterable,
    Form.SIGNALLED: lambda items: Stream.from_publisher(Stream.from_iterable(items)),
    Form.ASYNCHRONOUS: Stream.from_async_iterable,
    Form.SIZED: _sized,
    Form.FOREIGN: lambda items: Stream.from_publisher(Foreign(items)),
    Form.SUBJECT: _subject,
    Form.INLINE: lambda items: Stream.from_publisher(Foreign(items)).publish_on(inline(), prefetch=PREFETCH),
    Form.THREAD: lambda items: Stream.from_publisher(Foreign(items)).publish_on(thread(), prefetch=PREFETCH),
}
