"""reading_commits: when the reader of one run is told what is done.

A commit that comes while another one is under way waits, and only the newest of those that wait is told. Where commits
take long, the next one rests as well, unless half of the window has come since or nothing more will.

No more than the window is uncommitted, and not only undone: while a commit waits or is under way, no more is fetched
than there is room for until it has come to its end. Otherwise all that was told is committed, and what is under way is
counted by those who tell.

Commits are begun on the event loop, or, while a reader pours, on its thread, which sends them and hears of their end
between two fetches: the loop's thread would have to wait for the interpreter, longer than a window lasts. Elements come
while such a commit is under way, so that it is begun when a quarter of the window has come: three are left for the time
that it takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent import futures
from functools import partial
from threading import Lock
from typing import Any

from penstock.connectors.opened import awaitable
from penstock.connectors.telling import called_off
from penstock.engine.places.event_loops import AnyLoop, Task

REST = 9.0
"""How many times as long as a commit took the next one waits, so that commits take a tenth of the time."""
LONGEST_REST = 0.05
"""Seconds that it waits at most."""


class _Nothing:
    """The absence of a position."""


_NOTHING = _Nothing()


async def _pass(time: Awaitable[object]) -> None:
    await time


class ReadingCommits:
    """What the reader of a run is told, and what it was told."""

    def __init__(self, window: int, ended: Callable[[Exception | None], None]) -> None:
        self.lease: AnyLoop | None = None
        self.reader: Any = None
        """Who is told; None while it is not open, and when it is to be told nothing any more."""
        self.came = 0
        """How many elements have come."""
        self.last = False
        """Whether no more will, nor a position behind this one."""
        self.pouring = False
        """Whether the reader's thread begins the commits."""
        self._window = window
        self._ended = ended
        """Is called on the loop when a commit has come to its end, with what it failed with."""
        self._lock = Lock()
        self._position: Any = _NOTHING
        self._reached = self._reaching = 0
        """How many elements there are up to the position that waits, and up to the next one."""
        self._sure: int | None = None
        """How many elements are committed for sure; None where it is not told how many there are up to a position."""
        self._task: Task | None = None
        self._sent = False
        """Whether one is under way that the reader's thread has begun."""
        self._pressed = False
        """Whether a fetch waits for a commit, so that it does not rest."""
        self._came_before = 0
        """How many elements had come when the last commit was begun."""
        self._rests_until = 0.0
        self._resting: Task | None = None
        self._stirred = False

    # On any thread.

    def reaches(self, count: int, /) -> None:
        """Know how many elements there are up to the position that is committed next."""
        self._reaching = count
        if self._sure is None:
            self._sure = 0

    def commit(self, position: Any, /) -> None:
        """Have the reader told that everything up to a position is done; does not wait for it."""
        with self._lock:
            self._position, self._reached = position, self._reaching
        if self.pouring or self._stirred:  # seen behind that: the reader's thread or the loop is about to look
            return
        self._stirred = True
        if self.lease is not None:
            self.lease.call(self.begin)

    @property
    def wait(self) -> bool:
        """Tell whether a position waits to be told."""
        return self._position is not _NOTHING

    @property
    def under_way(self) -> bool:
        """Tell whether a commit is under way."""
        return self._sent or self._task is not None

    def room(self, wanted: int) -> int:
        """Return how many of so many more elements need not wait for a commit, which will come to its end."""
        sure = self._sure
        if sure is None or not (self.wait or self.under_way):  # in this order: what waits is under way before it is not
            self._pressed = False
            return wanted
        room = min(wanted, max(self._window - (self.came - sure), 0))
        self._pressed = room < wanted
        return room

    def _taken(self) -> tuple[Any, int]:
        """Take the position that waits, and how many elements there are up to it."""
        with self._lock:  # so that one that comes meanwhile is not taken for the one before
            position, self._position = self._position, _NOTHING
            return position, self._reached

    def _rest(self, most: int) -> float:
        """Return for how many seconds the next commit is to rest, unless more than `most` elements have come since."""
        assert self.lease is not None
        if self.last or self._pressed or self.came - self._came_before > most:
            return 0.0
        return max(self._rests_until - self.lease.time(), 0.0)

    def _note_end(self, began: float, reached: int) -> None:
        assert self.lease is not None
        ended = self.lease.time()
        self._rests_until = ended + min(REST * (ended - began), LONGEST_REST)
        if self._sure is not None:
            self._sure = reached

    # On the loop.

    def begin(self) -> None:
        """Tell the reader of the position that waits, if there is one and it need not rest."""
        self._stirred = False  # before the position is looked at, so that none is forgotten
        if self.under_way or self.reader is None or not self.wait or (self.pouring and not self.last) or self._rests():
            return
        assert self.lease is not None
        self._task = self.lease.spawn(self._commit_all())
        self._task.add_done_callback(self._over)

    async def _commit_all(self) -> None:
        lease = self.lease
        assert lease is not None
        while self.wait and not self._rests():
            position, reached = self._taken()
            self._came_before = self.came
            began = lease.time()
            await awaitable("reading", "commit", self.reader.commit(position))
            self._note_end(began, reached)
            self._ended(None)

    def _rests(self) -> bool:
        """Tell whether the next commit rests; it is begun when the rest is over."""
        left = self._rest(self._window // 2)
        if left and self._resting is None:
            assert self.lease is not None
            self._resting = self.lease.spawn(_pass(self.lease.sleep(left)))
            self._resting.add_done_callback(self._rested)
        return left > 0

    def _rested(self, _: Task) -> None:
        self._resting = None
        self.begin()

    def _over(self, task: Task) -> None:
        self._task = None
        failure = None if task.cancelled() else task.exception()
        self._go_on(failure if isinstance(failure, Exception) else None)

    def _go_on(self, failure: Exception | None) -> None:
        if failure is None:
            self.begin()
        self._ended(failure)

    async def close(self) -> None:
        """Begin no commit any more."""
        await called_off(self.lease, self._resting)

    # On the thread of a reader that pours.

    def send(self) -> None:
        """Have the position that waits sent, unless one is under way or it is to rest."""
        if not self.wait or self.under_way or self._rest(self._window // 4):
            return
        self._sent = True  # before it waits no more
        position, reached = self._taken()
        if position is _NOTHING:
            self._sent = False  # the loop was faster
            return
        assert self.lease is not None
        self._came_before = self.came
        self.reader.send(position).add_done_callback(partial(self._answered, self.lease.time(), reached))

    def _answered(self, began: float, reached: int, answer: futures.Future[None]) -> None:
        """Know of the end of a commit that was sent."""
        failure = answer.exception()
        if failure is None:
            self._note_end(began, reached)
        self._sent = False
        if failure is not None or not self.pouring:  # looked at behind that: else who pours looks at it
            assert self.lease is not None  # it is closed behind the last commit
            self.lease.call(partial(self._go_on, failure if isinstance(failure, Exception) else None))


__all__ = ["LONGEST_REST", "REST", "ReadingCommits"]
