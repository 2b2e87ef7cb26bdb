"""reading_run: one run of a reader: a task fetches as many elements as are asked for, another tells what is done.

Everything happens on one event loop; requests, cancels, commits and the close come from any thread. The reader is open
from the first request on. It is closed when the elements have ended, or were cancelled, and `close` was called: what
was read may be committed long after the last element was handed on. A commit that comes while another one is under way
waits, and only the newest of those that wait is told. Where commits take long, the next one rests as well, unless half
of the window has come since or nothing more will.

No more than the window is uncommitted, and not only undone: while a commit waits or is under way, no more is fetched
than there is room for until it has come to its end. Otherwise all that was told is committed, and what is under way is
counted by those who tell.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile
from threading import Event, Lock
from typing import Any, Protocol

from penstock.connectors.telling import called_off
from penstock.engine.grounds.outlet import Outlet
from penstock.engine.places.event_loops import AnyLoop, Future, Task, lease_loop
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.dropped import drop
from penstock.engine.words.part import chunks_of
from penstock.operators.resumable import positioned
from penstock.spec.interfaces import Subscriber

REST = 9.0
"""How many times as long as a commit took the next one waits, so that commits take a tenth of the time."""
LONGEST_REST = 0.05
"""Seconds that it waits at most."""


class Fetches(Protocol):
    """An open connection that gives elements when it is asked."""

    async def fetch(self, most: int, /) -> Sequence[Any] | None:
        """Return 1 to `most` elements, or None at the end."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...


async def _pass(time: Awaitable[object]) -> None:
    await time


class _Nothing:
    """The absence of a position."""


_NOTHING = _Nothing()
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
        self._waiting: Future | None = None
        self._committing: Task | None = None
        self._position: Any = _NOTHING
        self._window = window
        self._reached = self._reaching = 0
        """How many elements there are up to the position that waits, and up to the next one."""
        self._committed_count: int | None = None
        """How many elements are committed for sure; None where it is not told how many there are up to a position."""
        self._pressed = False
        """Whether a fetch waits for a commit, so that it does not rest."""
        self._came = self._came_before = 0
        """How many elements have come, and how many had when the last commit was begun."""
        self._rests_until = 0.0
        self._resting: Task | None = None
        self._failure: Exception | None = None
        self._ceded = False
        self._begun = self._over = self._left = self._closing = self._stirred = self._turned = False
        self._closed = Event()
        self._lock = Lock()

    # On any thread.

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Take the subscriber; the reader is opened with the first request."""
        self._lease = lease_loop()
        outlet = self._outlet = Outlet(downstream)
        outlet.on_request = self._requested
        outlet.on_cancel = self._cancelled
        outlet.on_close = self._let_go
        self._deliver = chunks_of(downstream)
        outlet.open()

    def reaches(self, count: int, /) -> None:
        """Know how many elements there are up to the position that is committed next."""
        self._reaching = count
        if self._committed_count is None:
            self._committed_count = 0

    def commit(self, position: Any, /) -> None:
        """Have the reader told that everything up to a position is done; does not wait for it."""
        with self._lock:
            self._position, self._reached = position, self._reaching
        if not self._stirred:  # else the loop is about to look
            self._stirred = True
            self._call(self._commit_next)

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
        self._call(self._advance)

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
        self._task = self._lease.spawn(self._fetch_all())
        self._task.add_done_callback(self._fetched)

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
        outlet, lease = self._outlet, self._lease
        assert outlet is not None and lease is not None
        while True:
            self._waiting = lease.future()  # made before it is looked, so that no request is missed
            with outlet.lock:  # so that none is counted as taken that is seen in the queue
                asked, here = outlet.demand, len(outlet.queue)
            wanted = self._most if asked >= UNBOUNDED else min(self._most, asked - here)
            if wanted > 0 and self._must_wait(wanted):
                self._commit_next()
            elif wanted > 0:
                self._waiting = None
                return wanted, wanted if asked >= UNBOUNDED else min(self._most, asked - here - wanted)
            await self._waiting

    def _must_wait(self, wanted: int) -> bool:
        """Tell whether so many more elements have to wait for a commit, which will come to its end."""
        sure = self._committed_count
        commits = self._committing is not None or self._position is not _NOTHING
        self._pressed = commits and sure is not None and self._came + wanted - sure > self._window
        return self._pressed

    async def _fetch_all(self) -> None:
        outlet, lease = self._outlet, self._lease
        assert outlet is not None and lease is not None
        error: Exception | None = None
        try:
            self._reader = await self._open()
            if self._ceded and hasattr(self._reader, "ceded"):
                self._reader.ceded()
            ahead = getattr(self._reader, "ahead", None)
            while True:
                wanted, more = await self._demand()
                if ahead is not None:
                    ahead(more)
                self._turned = False
                lease.call(self._turn)
                got = await self._reader.fetch(wanted)
                if got is None or outlet.closed:  # a reader may keep the cancel to itself
                    break
                if len(got) > wanted:
                    raise RuntimeError(f"rule 1.1: {self._name}: fetch({wanted}) gave {len(got)} elements")
                self._give(outlet, got)
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

    def _give(self, outlet: Outlet[Any], got: Sequence[Any]) -> None:
        """Hand on what was fetched as one, or queue it."""
        self._came += len(got)
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

    def _fetched(self, task: Task) -> None:
        """Be told that the fetching has ended, by itself, by a cancel or with the loop."""
        self._task = None
        loop_ends = not task.cancelled() and task.exception() is not None  # by a KeyboardInterrupt or its like
        if not self._over:
            self._over = True
            assert self._outlet is not None
            if not self._outlet.closed:
                loop_ends = True
                self._outlet.complete(RuntimeError(f"{self._name}: the event loop ended before the stream did"))
        self._left = self._left or loop_ends  # nothing can be told any more, and there is no later to close it
        self._close_when_over()

    def _commit_next(self) -> None:
        self._stirred = False  # before the position is looked at, so that none is forgotten
        if self._committing is None and self._reader is not None and not self._closing and not self._rests():
            assert self._lease is not None
            self._committing = self._lease.spawn(self._commit_all())
            self._committing.add_done_callback(self._committed)

    async def _commit_all(self) -> None:
        lease = self._lease
        assert lease is not None
        while self._position is not _NOTHING and not self._rests():
            with self._lock:  # so that one that comes meanwhile is not taken for the one before
                position, self._position = self._position, _NOTHING
                reached = self._reached
            self._came_before = self._came
            began = lease.time()
            await self._reader.commit(position)
            ended = lease.time()
            self._rests_until = ended + min(REST * (ended - began), LONGEST_REST)
            if self._committed_count is not None:
                self._committed_count = reached
            self._wake()

    def _rests(self) -> bool:
        """Tell whether the next commit waits because the last one took long; it is begun when the rest is over."""
        lease = self._lease
        assert lease is not None
        left = self._rests_until - lease.time()
        if left <= 0 or self._pressed or self._came - self._came_before > self._window // 2:
            return False
        if self._over and self._left:
            return False
        if self._resting is None:
            self._resting = lease.spawn(_pass(lease.sleep(left)))
            self._resting.add_done_callback(self._rested)
        return True

    def _rested(self, _: Task) -> None:
        self._resting = None
        if self._position is not _NOTHING:
            self._commit_next()

    def _committed(self, task: Task) -> None:
        self._committing = None
        failure = None if task.cancelled() else task.exception()
        if isinstance(failure, Exception):
            outlet = self._outlet
            if self._over or outlet is None or outlet.closed:
                self._failure = failure
            else:
                outlet.fail_now(failure)
        elif self._position is not _NOTHING:
            self._commit_next()
        self._wake()  # a fetch may have waited for it
        self._close_when_over()

    def _close_when_over(self) -> None:
        if not (self._over and self._left) or self._committing is not None or self._closing:
            return
        if self._position is not _NOTHING and self._reader is not None and self._failure is None:
            self._commit_next()
            return
        self._closing = True
        assert self._lease is not None
        if self._reader is None:
            self._finish()
        else:
            self._lease.spawn(self._close_reader()).add_done_callback(lambda _: self._finish())

    async def _close_reader(self) -> None:
        await called_off(self._lease, self._resting)
        try:
            await self._reader.close()
        except Exception as error:  # noqa: BLE001  the end has been decided already
            drop(f"{self._name}: a connection failed to close", error)

    def _finish(self) -> None:
        self._reader = None
        lease, self._lease = self._lease, None
        self._closed.set()
        if lease is not None:
            lease.release()


__all__ = ["Fetches", "ReadingRun"]
