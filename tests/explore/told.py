"""told: sources that are told what is done, as the explorer tries them, and what must hold for what they are told.

A source is told one thing at a time, each farther than the one before, and never of an element that is not done; a
connection is closed once, when nothing else is being asked of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from penstock import Stream
from penstock.connectors import reading_run
from penstock.run.carrying.entrance import _EntranceRun
from penstock.run.carrying.marks import Carried, SourceMarks
from penstock.run.carrying.parts import PartMarks
from tests.explore.bench import Bench, Taker, pause


class Told:
    """Look at what a source is told."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.last = 0
        self.done: set[int] = set()
        self._inside = False

    def enter(self, position: int) -> None:
        fault = self.bench.fault
        if self._inside:
            fault("a commit came inside another one")
        if position <= self.last:
            fault("a commit did not go on")
        if not self.done.issuperset(range(1, position + 1)):
            fault("a commit was ahead of what is done")
        self._inside = True
        self.last = max(self.last, position)

    def leave(self) -> None:
        self._inside = False

    def commit(self, position: int) -> None:
        self.enter(position)
        pause(self)
        self.leave()


class UnderWay:
    """Hold the elements that a taker has had, each to be done by one thread or another."""

    def __init__(self, bench: Bench, told: Told, part: PartMarks | None = None) -> None:
        self.told = told
        self.part = part
        self.elements: deque[tuple[int, list[Carried]]] = deque()
        bench.call("done", lambda: self.finish(self.elements.popleft), "first")
        bench.call("done_next", lambda: self.finish(self.elements.popleft), "next")
        bench.call("done_last", lambda: self.finish(self.elements.pop), "last")

    def take(self, taker: Taker, element: Carried) -> None:
        number, book = element.marks[0].position, element.marks[0].book
        assert isinstance(book, SourceMarks)
        if book.window is not None and number - self.told.last > book.window:
            taker.bench.fault("more elements are uncommitted than may be")
        if self.part is None:
            self.elements.append((number, [element]))
            return
        inside = self.part(element.also(element.value))
        self.elements.append((number, [element, inside]))

    def finish(self, take: Callable[[], tuple[int, list[Carried]]]) -> None:
        if self.elements:
            number, elements = take()
            self.told.done.add(number)  # before it is said
            for element in elements:
                element.done()


class Entered:
    """Put the entrance of a source before a subscriber."""

    def __init__(self, feed: Stream[Any], marks: SourceMarks) -> None:
        self._feed = feed
        self._marks = marks

    def subscribe(self, subscriber: Any, /) -> None:
        self._feed.subscribe(_EntranceRun(self._marks, subscriber))


def entered(bench: Bench, window: int | None, part: PartMarks | None = None) -> SourceMarks:
    """Build an entrance, whose elements are done by calls of several threads."""
    told = Told(bench)
    marks = SourceMarks(told.commit, window)
    under_way = UnderWay(bench, told, part)
    source = bench.feed("a", make=lambda count: (count, f"a{count}"))
    bench.take(Entered(source, marks), then=under_way.take)
    feed = bench.feeds[-1]

    def finish() -> None:
        while under_way.elements:
            under_way.finish(under_way.elements.popleft)
        for line in feed.lines:
            while line.can_send():
                line.send()
        while under_way.elements:
            under_way.finish(under_way.elements.popleft)
        if bench.rounds == 3:
            marks.finish()
            taken = len(bench.takers[0].taken)
            if told.last < taken:
                bench.fault("not all that is done was told")

    bench.finishers.append(finish)
    return marks


# A loop that is turned by hand, and a reader on it.


class HandFuture:
    def __init__(self) -> None:
        self._set = False

    def done(self) -> bool:
        return self._set

    def set_result(self, _: None, /) -> None:
        self._set = True

    def __await__(self) -> Any:
        while not self._set:
            yield self


class _Turn:
    def done(self) -> bool:
        return True

    def __await__(self) -> Any:
        yield self


class HandTask:
    """Be a coroutine that goes on when what it waits for has come."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self._waits: Any = None
        self._cancel = False
        self.over = self._cancelled = False
        self._failure: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] = []

    def cancel(self) -> None:
        self._cancel = True

    def cancelled(self) -> bool:
        return self._cancelled

    def exception(self) -> BaseException | None:
        return self._failure

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        self._callbacks.append(fn)

    def ready(self) -> bool:
        return not self.over and (self._cancel or self._waits is None or self._waits.done())

    def step(self) -> None:
        try:
            if self._cancel:
                self._cancel = False
                self._waits = self._coroutine.throw(GeneratorExit)
            else:
                self._waits = self._coroutine.send(None)
            return
        except StopIteration:
            pass
        except GeneratorExit:
            self._cancelled = True
        except Exception as error:
            self._failure = error
        self.over = True
        for fn in self._callbacks:
            fn(self)


class HandLoop:
    """Be an event loop that a call turns until nothing is left to do."""

    own = closed = False

    def __init__(self) -> None:
        self.calls: deque[Callable[[], object]] = deque()
        self.tasks: list[HandTask] = []
        self.here = False
        self.released = 0

    def call(self, fn: Callable[[], object], /) -> None:
        self.calls.append(fn)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], _: Callable[[], bool] = bool, /) -> HandTask:
        task = HandTask(coroutine)
        self.tasks.append(task)
        return task

    def watch(self, _: Callable[[], object], /) -> Callable[[], object]:
        return bool  # it is never closed

    def future(self) -> HandFuture:
        return HandFuture()

    def time(self) -> float:
        return 0.0  # it stands still: no commit takes so long that the next one waits

    def sleep(self, _: float, /) -> _Turn:
        return _Turn()

    def release(self) -> None:
        self.released += 1

    def turn(self) -> None:
        pause(self)
        while self.calls or any(task.ready() for task in self.tasks):
            while self.calls:
                self.calls.popleft()()
                pause(self)
            for task in list(self.tasks):
                if task.ready():
                    task.step()
                    pause(self)
            self.tasks[:] = [task for task in self.tasks if not task.over]


class HandReader:
    """Be a connection that gives what a call lets it give."""

    def __init__(self, bench: Bench, loop: HandLoop, told: Told) -> None:
        self.bench = bench
        self.told = told
        self.loop = loop
        self.allowed = self.given = 0
        self.ending: Exception | bool = False
        self.closed = 0
        self._fetching = self._committing = False
        self._more = HandFuture()

    def give(self) -> None:
        self.allowed += 1
        self.loop.call(self._wake)

    def end(self, how: Exception | bool) -> None:
        self.ending = self.ending or how
        self.loop.call(self._wake)

    def _wake(self) -> None:
        if not self._more.done():
            self._more.set_result(None)

    async def fetch(self, most: int) -> list[tuple[int, str]] | None:
        if self._fetching or self.closed:
            self.bench.fault("a fetch came inside another one, or after the close")
        self._fetching = True
        try:
            while self.given == self.allowed and not self.ending:
                self._more = HandFuture()
                await self._more
            if self.given == self.allowed:
                if isinstance(self.ending, Exception):
                    raise self.ending
                return None
            first, last = self.given + 1, min(self.allowed, self.given + most)
            self.given = last
            self.told.done.update(range(first, last + 1))
            return [(number, f"r{number}") for number in range(first, last + 1)]
        finally:
            self._fetching = False

    async def commit(self, position: int) -> None:
        if self.closed:
            self.bench.fault("a commit came after the close")
        self.told.enter(position)
        self._committing = True
        for _ in range(3):
            await self.loop.sleep(0)
        self._committing = False
        self.told.leave()

    async def close(self) -> None:
        self.closed += 1
        if self.closed > 1 or self._fetching or self._committing:
            self.bench.fault("a close came twice, or inside of something else")
        await self.loop.sleep(0)


def read(bench: Bench) -> None:
    """Build the run of a reader, whose loop, server and commits are calls of several threads."""
    loop, told = HandLoop(), Told(bench)
    reader = HandReader(bench, loop, told)

    async def opened() -> HandReader:
        await loop.sleep(0)
        return reader

    reading_run.lease_loop = lambda: loop  # type: ignore[attr-defined, assignment]
    run = reading_run.ReadingRun("reading", opened, 2)
    committed = [0]
    over = [False]

    class Read:
        def subscribe(self, subscriber: Any, /) -> None:
            run.connect(subscriber)

    def commit() -> None:
        taken = len(bench.takers[0].taken)
        if taken > committed[0] and not over[0]:
            committed[0] += 1
            run.commits.commit(committed[0])

    def close() -> None:
        over[0] = True
        run.close()

    bench.take(Read())
    bench.call("loop.turn", loop.turn, "loop")
    bench.call("server.give", reader.give, "server")
    bench.call("server.end", lambda: reader.end(True), "server")
    bench.call("server.fails", lambda: reader.end(bench.boom("server")), "server")
    bench.call("commit", commit, "commit")
    bench.call("close", close, "commit")

    def finish() -> None:
        reader.end(True)
        loop.turn()
        for _ in range(8):
            commit()
        if bench.rounds == 2:
            close()
        loop.turn()
        if bench.rounds == 3 and bench.takers[0].subscription is not None:
            if reader.closed != 1 and run._reader is not None:
                bench.fault("the connection is not closed")
            if loop.released != 1:
                bench.fault(f"the loop was released {loop.released} times")
            if not run._closed.is_set():
                bench.fault("who waits for the close waits for ever")
            if told.last < committed[0]:
                bench.fault("not all that was committed was told")

    bench.finishers.append(finish)


__all__ = ["entered", "read"]
