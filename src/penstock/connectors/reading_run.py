"""reading_run: one run of a reader: a task fetches as many elements as are asked for, and `ReadingCommits` tells it.

Everything happens on one event loop; requests, cancels, commits and the close come from any thread. The reader is open
from the first request on. It is closed when the elements have ended, or were cancelled, and `close` was called: what
was read may be committed long after the last element was handed on.

A reader that has a thread may hand on there what it has fetched (`pour`), while elements are asked for and the
event loop is penstock's own: no program expects its functions to be called on the thread of that loop, and to hand a
batch from thread to thread takes a tenth of the time in which it is read. The task waits meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent import futures
from dataclasses import dataclass
from itertools import takewhile
from threading import Event
from typing import Any, Protocol

from penstock.connectors.opened import awaitable, opened
from penstock.connectors.reading_commits import ReadingCommits
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.places.errand import Errand
from penstock.engine.places.event_loops import AnyLoop, Future, Task, lease_loop
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import chunks_of
from penstock.errors import CutOffError
from penstock.operators.resumable import positioned
from penstock.spec.interfaces import Subscriber


class Fetches(Protocol):
    """An open connection that gives elements when it is asked."""

    async def fetch(self, most: int, /) -> Sequence[Any] | None:
        """Return 1 to `most` elements, or None at the end."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...


class PouringReader(ABC):
    """A reader that has a thread, on which it may fetch and hand on elements."""

    @abstractmethod
    async def pour(self, pouring: Pouring, /) -> bool:
        """Fetch and give elements on the reader's thread as long as some are wanted; return whether there may be more.

        What was sent and is not answered then is answered soon.
        """

    @abstractmethod
    def send(self, position: Any, /) -> futures.Future[None]:
        """Begin a commit, on the reader's thread; the future is set when it has come to its end."""


@dataclass(frozen=True, slots=True)
class Pouring:
    """What a reader that pours asks on its own thread, and tells."""

    wanted: Callable[[], int | None]
    """Returns how many elements to fetch next: 0 to end the pouring, None if what was sent is to be answered first."""
    give: Callable[[Sequence[Any]], None]
    """Hands on what was fetched."""
    aside: Callable[[], None]
    """Is told that the thread is going to wait for commits, which are made from the event loop then; until `wanted`."""


def _can_pour(reader: object) -> bool:
    return isinstance(reader, PouringReader)


_LOOK = 1.0
"""Seconds after which who waits for the close looks whether the event loop is still there."""


class ReadingRun:
    """The reader of one run, its tasks and its subscriber."""

    def __init__(
        self,
        name: str,
        open: Callable[[], Awaitable[Fetches]],  # noqa: A002
        most: int,
        *,
        pairs: bool = False,
        window: int = 0,
    ) -> None:
        self._name = name
        self._pairs = pairs
        """Whether what is fetched are pairs of a position and an element."""
        self._open = open
        self._most = most
        self._reader: Any = None
        self._lease: AnyLoop | None = None
        self._outlet: Outlet[Any] | None = None
        self._deliver: Callable[[list[Any]], None] | None = None
        """What takes what was fetched as one, past the queue, where downstream does."""
        self._task: Task | None = None
        self._unwatch: Callable[[], object] = bool
        self._waiting: Future | None = None
        self.commits = ReadingCommits(window, self._committed)
        """What the reader is told."""
        self._failure: Exception | None = None
        self._ceded = False
        self._begun = self._over = self._left = self._closing = self._turned = False
        self._closed = Event()

    # On any thread.

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Take the subscriber; the reader is opened with the first request."""
        self._lease = self.commits.lease = lease_loop()
        outlet = self._outlet = Outlet(downstream)
        outlet.on_request = self._requested
        outlet.on_cancel = self._cancelled
        outlet.on_close = self._let_go
        self._deliver = chunks_of(downstream)
        outlet.open()

    def cede(self) -> Callable[[], Any]:
        """Leave it to a sink to tell the reader what is done; return what gives the reader, None before it is open."""
        self._ceded = True
        return lambda: self._reader

    def close(self) -> None:
        """Have the reader closed behind the last commit, once the elements have ended; does not wait for it."""
        self._left = True
        if not self._call(self._close_when_over):
            self._closed.set()

    def wait(self) -> None:
        """Block until it is closed, and raise what a commit failed with after the elements had ended."""
        lease = self._lease
        if lease is not None and lease.here:
            return  # it would wait for itself
        while not self._closed.wait(_LOOK) and lease is not None and not lease.closed:
            pass  # a loop that has ended closes nothing any more
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _let_go(self) -> None:
        """Forget the subscriber (rule 3.13)."""
        self._deliver = None

    def _requested(self, _: int) -> None:
        if self.commits.pouring:
            return  # the reader's thread looks for more, or the loop does behind it
        lease = self._lease
        if lease is not None and lease.closed:
            self._lost()
        else:
            self._call(Errand(self._advance, self._lost))

    def _lost(self) -> None:
        """Be told that the loop was closed, and nothing is done there any more."""
        outlet = self._outlet
        if outlet is not None and not outlet.closed:
            outlet.fail_now(self._loop_ended())

    def _loop_ended(self) -> CutOffError:
        return CutOffError(f"{self._name}: the event loop ended before the stream did")

    def _cancelled(self) -> None:
        self._call(self._interrupt)

    def _call(self, fn: Callable[[], object]) -> bool:
        lease = self._lease
        if lease is not None:
            lease.call(fn)
        return lease is not None

    # On the loop.

    def _advance(self) -> None:
        """Begin to fetch, or go on."""
        if self._begun or self._over:
            self._wake()
            return
        self._begun = True
        assert self._lease is not None
        self._unwatch = self._lease.watch(self._lost)
        self._task = self._lease.spawn(self._fetch_all(), self._ends)
        self._task.add_done_callback(self._fetched)

    def _ends(self) -> bool:
        """Tell whether nothing is left to be fetched."""
        return self._over or self._outlet is None or self._outlet.closed

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _interrupt(self) -> None:
        if self._task is not None:
            self._task.cancel()
        elif not self._begun:
            self._begun = True
            self._over = True
            self._close_when_over()

    async def _demand(self) -> tuple[int, int]:
        """Wait until elements are asked for that are not here yet; return how many, and how many behind those.

        Both are `most` at most.
        """
        lease = self._lease
        assert lease is not None
        while True:
            self._waiting = lease.future()  # made before it is looked, so that no request is missed
            wanted, more = self._asked()
            if 0 < wanted == self.commits.room(wanted):
                self._waiting = None
                return wanted, more
            if wanted > 0:
                self.commits.begin()
            await self._waiting

    def _asked(self) -> tuple[int, int]:
        """Return how many elements are asked for that are not here yet, and how many behind those."""
        outlet, most = self._outlet, self._most
        assert outlet is not None
        with outlet.lock:  # so that none is counted as taken that is seen in the queue
            asked, here = outlet.demand, len(outlet.queue)
        if asked >= UNBOUNDED:
            return most, most
        wanted = min(most, asked - here)
        return wanted, min(most, asked - here - wanted)

    async def _fetch_all(self) -> None:
        outlet, lease = self._outlet, self._lease
        assert outlet is not None and lease is not None
        error: Exception | None = None
        try:
            methods = ("fetch", "commit", "close") if self._pairs else ("fetch", "close")
            self._reader = self.commits.reader = await opened(self._name, self._open, *methods)
            if self._ceded and hasattr(self._reader, "ceded"):
                self._reader.ceded()
            ahead = getattr(self._reader, "ahead", None)
            pours = lease.own and self._deliver is not None and _can_pour(self._reader)
            while True:
                wanted, more = await self._demand()
                if pours:
                    if await self._poured():
                        continue
                    break
                if ahead is not None:
                    ahead(more)
                self._turned = False
                lease.call(self._turn)
                got = await awaitable(self._name, "fetch", self._reader.fetch(wanted))
                if got is None or outlet.closed:  # a reader may keep the cancel to itself
                    break
                if len(got) > wanted:
                    raise RuntimeError(f"rule 1.1: {self._name}: fetch({wanted}) gave {len(got)} elements")
                self._give(got)
                del got  # so that what is done with does not wait for what comes next
                if not self._turned:
                    await lease.sleep(0)  # so that other tasks run as well where a fetch never waits
        except Exception as failure:  # noqa: BLE001  rule 1.4
            error = failure
        self._over = True
        outlet.complete(error)

    def _turn(self) -> None:
        """Know that the loop has come to other things since the last fetch was begun."""
        self._turned = True

    async def _poured(self) -> bool:
        """Have the reader hand on elements on its thread; tell whether there may be more."""
        try:
            more: bool = await self._reader.pour(Pouring(self._wanted_there, self._give, self._set_aside))
            return more
        finally:
            self._set_aside()

    # On the thread of a reader that pours.

    def _wanted_there(self) -> int | None:
        commits, outlet = self.commits, self._outlet
        if outlet is None or outlet.closed or self._over:
            return 0
        commits.pouring = True
        wanted = self._asked()[0]
        room = commits.room(wanted)
        commits.send()
        return room if room > 0 or wanted <= 0 else None

    def _set_aside(self) -> None:
        self.commits.pouring = False
        self._call(self.commits.begin)  # behind that, so that no position is forgotten

    # On the loop, or there.

    def _give(self, got: Sequence[Any]) -> None:
        """Hand on what was fetched as one, or queue it."""
        outlet = self._outlet
        assert outlet is not None
        self.commits.came += len(got)
        given: Any = positioned(got) if self._pairs else [element for element in got if element is not None]
        deliver = self._deliver
        if given is None:
            given = got  # one is no pair, and downstream refuses it behind those before
        elif len(given) < len(got):
            outlet.queue.extend(takewhile(lambda element: element is not None, got))
            raise no_element()
        elif given and deliver is not None and outlet.hand_on(deliver, given, None, len(given)):
            return
        outlet.queue.extend(given)
        outlet.wake()

    # On the loop.

    def _fetched(self, task: Task) -> None:
        """Be told that the fetching has ended, by itself, by a cancel or with the loop."""
        self._task = None
        self._unwatch()
        loop_ends = not task.cancelled() and task.exception() is not None  # by a KeyboardInterrupt or its like
        if not self._over:
            self._over = True
            assert self._outlet is not None
            if not self._outlet.closed:
                loop_ends = True
                self._outlet.complete(self._loop_ended())
        self._left = self._left or loop_ends  # nothing can be told any more, and there is no later to close it
        self._close_when_over()

    def _committed(self, failure: Exception | None) -> None:
        """Be told that a commit has come to its end."""
        outlet = self._outlet
        if failure is not None:
            if self._over or outlet is None or outlet.closed:
                self._failure = failure
            else:
                outlet.fail_now(failure)
        self._wake()  # a fetch may have waited for it
        self._close_when_over()

    def _close_when_over(self) -> None:
        if not (self._over and self._left) or self._closing:
            return
        commits = self.commits
        commits.last = True
        if self._reader is not None and self._failure is None:
            commits.begin()
        if commits.under_way:
            return
        self._closing = True
        commits.reader = None
        assert self._lease is not None
        if self._reader is None:
            self._finish()
        else:
            self._lease.spawn(self._close_reader()).add_done_callback(lambda _: self._finish())

    async def _close_reader(self) -> None:
        await self.commits.close()
        try:
            await awaitable(self._name, "close", self._reader.close())
        except Exception as error:  # noqa: BLE001  the end has been decided already
            drop(f"{self._name}: a connection failed to close", error)

    def _finish(self) -> None:
        self._reader = None
        lease, self._lease, self.commits.lease = self._lease, None, None
        self._closed.set()
        if lease is not None:
            lease.release()


__all__ = ["Fetches", "Pouring", "PouringReader", "ReadingRun"]
