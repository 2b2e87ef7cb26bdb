"""sources: the ways in which a source gives its items, each of which counts what was read and what is open."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from penstock import Emitter, Publisher, Stream, Subscriber, inline, pool
from tests.fuzz.functions import error
from tests.fuzz.grammar import Src

POOL = pool(2)
PREFETCH = 2
"""How far publish_on reads ahead where it is part of a source."""
_threads = ThreadPoolExecutor(1, "fuzz-publisher")


class Tracker:
    """Count what all runs of one source did."""

    def __init__(self, source: Src) -> None:
        self.source = source
        self.reads = 0
        self.opened = 0
        self.closed = 0
        self.changed = threading.Condition()

    def open(self) -> bool:
        """Count a run and tell whether it is to fail."""
        with self.changed:
            self.opened += 1
            return self.source.fails(self.opened)

    def close(self) -> None:
        """Count the end of a run."""
        with self.changed:
            self.closed += 1
            self.changed.notify_all()


class Run(Iterator[Any]):
    """Be one run over the items."""

    __slots__ = ("_closed", "_fails", "_place", "_tracker")

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._place = 0
        self._closed = False
        self._fails = tracker.open()

    def __next__(self) -> Any:
        tracker = self._tracker
        if self._closed:
            raise StopIteration
        if self._place == len(tracker.source.items):
            if self._fails:
                raise error(tracker.source.error)
            raise StopIteration
        self._place += 1
        tracker.reads += 1
        return tracker.source.items[self._place - 1]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._tracker.close()


class AsyncRun(AsyncIterator[Any]):
    """Be one asynchronous run over the items."""

    def __init__(self, tracker: Tracker) -> None:
        self._run = Run(tracker)

    async def __anext__(self) -> Any:
        try:
            return next(self._run)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self._run.close()


@dataclass(frozen=True)
class Unsized:
    """Be an iterable that does not know how many items it has."""

    tracker: Tracker

    def __iter__(self) -> Iterator[Any]:
        return Run(self.tracker)


@dataclass(frozen=True)
class Sized(Unsized):
    """Be an iterable that knows how many items it has."""

    def __len__(self) -> int:
        return len(self.tracker.source.items)


@dataclass(frozen=True)
class Generated:
    """Be an iterable whose runs are generators."""

    tracker: Tracker

    def __iter__(self) -> Iterator[Any]:
        return self._run(Run(self.tracker))

    @staticmethod
    def _run(run: Run) -> Iterator[Any]:
        try:
            yield from run
        finally:
            run.close()


@dataclass(frozen=True)
class Asynchronous:
    """Be an asynchronous iterable."""

    tracker: Tracker

    def __aiter__(self) -> AsyncIterator[Any]:
        return AsyncRun(self.tracker)


@dataclass(frozen=True)
class Foreign:
    """Be a publisher of another make; if it is `late`, it tells its end when somebody asks for more."""

    tracker: Tracker
    late: bool = False
    threaded: bool = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        run = ForeignRun(self, subscriber)
        subscriber.on_subscribe(run)
        run.begin()


class ForeignRun:
    """Be the subscription of a foreign publisher."""

    def __init__(self, publisher: Foreign, subscriber: Subscriber[Any]) -> None:
        self._publisher = publisher
        self._tracker = publisher.tracker
        self._subscriber = subscriber
        self._items = self._tracker.source.items
        self._fails = self._tracker.open()
        self._lock = threading.Lock()
        self._demand = 0
        self._place = 0
        self._busy = publisher.threaded  # signals are serial, on_subscribe included
        self._over = False

    def begin(self) -> None:
        with self._lock:
            if self._busy and not self._publisher.threaded:
                return
            self._busy = False
        self.request(0)

    def request(self, n: int, /) -> None:
        with self._lock:
            self._demand += n
            if self._busy or self._over:
                return
            self._busy = True
        if self._publisher.threaded:
            _threads.submit(self._emit)
        else:
            self._emit()

    def cancel(self) -> None:
        self._end()

    def _end(self) -> bool:
        with self._lock:
            was, self._over = self._over, True
        if not was:
            self._tracker.close()
        return not was

    def _emit(self) -> None:
        while True:
            with self._lock:
                at_end = self._place == len(self._items)
                if self._over or (not self._demand and (not at_end or self._publisher.late)):
                    self._busy = False
                    return
                self._demand -= not at_end
            if at_end:
                if self._end():
                    if self._fails:
                        self._subscriber.on_error(error(self._tracker.source.error))
                    else:
                        self._subscriber.on_complete()
                return
            self._place += 1
            self._tracker.reads += 1
            self._subscriber.on_next(self._items[self._place - 1])


@dataclass(frozen=True)
class Only:
    """Be a publisher with `subscribe` and nothing else."""

    inside: Publisher[Any]

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.inside.subscribe(subscriber)


def created(tracker: Tracker) -> Stream[Any]:
    """Return a stream whose emitter is handed all items at once."""

    def attach(emitter: Emitter[Any]) -> None:
        fails = tracker.open()
        emitter.on_close(tracker.close)
        for item in tracker.source.items:
            emitter.emit(item)
        if fails:
            emitter.fail(error(tracker.source.error))
        else:
            emitter.complete()

    return Stream.create(attach)


def subject(tracker: Tracker) -> Stream[Any]:
    """Return a subject that keeps what it was fed with before."""
    source = tracker.source
    if source.flaky:
        return created(tracker)  # what a subject has told stays told
    made: Any = Stream.subject(kept=100)
    for item in source.items:
        made.emit(item)
    if source.error:
        made.fail(error(source.error))
    else:
        made.complete()
    return made  # type: ignore[no-any-return]


def stepped(tracker: Tracker) -> Stream[Any]:
    """Return a stream that calls a function for each item; such a run has nothing to close."""
    source = tracker.source
    if source.flaky:
        return Stream.from_iterable(Unsized(tracker))

    def step(place: int) -> tuple[Any, int] | None:
        if place < len(source.items):
            tracker.reads += 1
            return source.items[place], place + 1
        if source.error:
            raise error(source.error)
        return None

    return Stream.generate(0, step)


def iterable(tracker: Tracker) -> Any:
    """Return a list, or an iterable that fails."""
    return Unsized(tracker) if tracker.source.error else list(tracker.source.items)


def listed(tracker: Tracker) -> Stream[Any]:
    """Return the plainest stream."""
    source = tracker.source
    if source.error and not source.items and not source.flaky:
        return Stream.error(error(source.error))
    return Stream.from_iterable(iterable(tracker))


def just(tracker: Tracker) -> Stream[Any]:
    """Return a stream that has no source behind it."""
    source = tracker.source
    return listed(tracker) if source.error else Stream.just(*source.items) if source.items else Stream.empty()


def bare(tracker: Tracker) -> Any:
    """Return a list, or what fails as the plainest stream does."""
    return listed(tracker) if tracker.source.error else iterable(tracker)


@dataclass(frozen=True)
class Kind:
    """Be a way to give items: whether it knows its end with its last item, a completion or a failure; what it holds."""

    make: Any
    completes: bool = False
    fails: bool = False
    held: int = 0
    waits: bool = False
    raw: Any = None
    """What a function of the chain may return in place of a stream."""


KINDS: dict[str, Kind] = {
    "listed": Kind(listed, completes=True, raw=bare),
    "sized": Kind(lambda t: Stream.from_iterable(Sized(t)), raw=Sized),  # only built-in lists know their end
    "unsized": Kind(lambda t: Stream.from_iterable(Unsized(t)), raw=Unsized),
    "foreign": Kind(lambda t: Stream.from_publisher(Foreign(t)), completes=True, fails=True, raw=Foreign),
    "generated": Kind(lambda t: Stream.from_iterable(Generated(t)), raw=Generated),
    "stepped": Kind(stepped),
    "late": Kind(lambda t: Stream.from_publisher(Foreign(t, late=True)), raw=lambda t: Foreign(t, late=True)),
    "just": Kind(just, completes=True),
    "wrapped": Kind(lambda t: Stream.from_publisher(Only(listed(t))), completes=True, raw=lambda t: Only(listed(t))),
    "created": Kind(created, completes=True, fails=True, held=300),
    "subject": Kind(subject, completes=True, fails=True, held=300),
    "inlined": Kind(lambda t: listed(t).publish_on(inline(), prefetch=PREFETCH), completes=True, held=PREFETCH),
    "asynchronous": Kind(lambda t: Stream.from_async_iterable(Asynchronous(t)), waits=True, raw=Asynchronous),
    "threaded": Kind(
        lambda t: Stream.from_publisher(Foreign(t, threaded=True)), completes=True, fails=True, waits=True
    ),
    "pooled": Kind(lambda t: listed(t).publish_on(POOL, prefetch=PREFETCH), completes=True, held=PREFETCH, waits=True),
}
