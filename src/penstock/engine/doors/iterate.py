"""iterate: take a chain's elements in a `for` or an `async for` loop, or wait for its one value.

A chain that can be iterated is: the loop is the woven generator itself. A chain that needs signals is subscribed, with
at most `window` elements between it and the loop; leaving the loop cancels it. As long as elements come from the loop's
own thread they are asked for one by one: asking ahead would only make the first elements wait for those after them.
Those of another thread are asked for ahead, also where each is there before the loop looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from threading import Event, get_ident
from typing import Any

from penstock.engine.grounds.cold_paths import too_late
from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.grounds.upstream import Upstream
from penstock.engine.places.event_loops import AnyLoop, Future, blocking, loop_here, running
from penstock.engine.places.noting import Tasks, spawning
from penstock.engine.places.telling import refusing, untold
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull, pull_async
from penstock.engine.watching.observe import observed
from penstock.engine.weaving.segment import close
from penstock.engine.words.trampoline import busy
from penstock.errors import EmptyError

WINDOW = 256
BREATH = 1024


class Inbox(Upstream):
    """A queue of what a subscription delivers, until the loop takes it; `waiting` says that the loop waits for it."""

    __slots__ = ("_ahead", "_apart", "_thread", "_unraised", "closed", "done", "error", "queue", "waiting", "wake")

    def __init__(self, window: int, wake: Callable[[], None]) -> None:
        super().__init__(0, window)
        self.queue: deque[Any] = deque()
        self.waiting = False
        self.done = False
        self.error: Exception | None = None
        self._unraised: deque[Exception] = deque()
        """The failure until the loop raises it. One call takes it out, and that one tells the hook of it."""
        self.wake = wake
        self._ahead = False
        self._thread = get_ident()
        self._apart = False
        """Whether an element came from another thread than the loop's."""
        self.closed = False

    def subscribed(self) -> None:
        self.request(1)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        if not self._apart and get_ident() != self._thread:
            self._apart = True
        self.queue.append(element)
        if self.waiting:
            self.waiting = False
            self.wake()

    def on_chunk(self, elements: list[Any], /) -> None:
        if not self._apart and get_ident() != self._thread:
            self._apart = True
        self.queue.extend(elements)
        if self.waiting:
            self.waiting = False
            self.wake()

    def ended(self, error: Exception | None, /) -> None:
        if error is not None:
            self.error = error
            self._unraised.append(error)
            if self.closed:
                self._tell()
        self.done = True
        self.wake()

    def elements(self) -> Iterator[Any]:
        """Take what is there, asking for more one by one or, if it does not come at once, by halves of the window."""
        take, half, count = self.queue.popleft, self.half, 0
        while self.queue and not (self._ahead or self._apart):
            yield take()
            self.request(1)
        if not self._ahead and self.here:
            self._ahead = True
            if self._window_size > 1:
                self.request(self._window_size - 1)
        while self.queue:
            yield take()
            count += 1
            if count == half:
                count = 0
                self.request(half)
        if count:
            self.request(count)

    def at_end(self) -> bool:
        """Wait no more; tell whether the end was reached, or raise the failure that it is."""
        self.waiting = False
        at_end = self.done and not self.queue
        if at_end and self.error is not None:
            self._unraised.clear()
            raise self.error
        return at_end

    def cancel(self) -> None:
        self.closed = True
        super().cancel()

    def leave(self) -> None:
        """Cancel; a failure that waits behind elements, which the loop does not take any more, goes to the hook."""
        self.cancel()
        self._tell()

    def _tell(self) -> None:
        with suppress(IndexError):
            too_late(self._unraised.popleft())


class _ForInbox(Inbox):
    """The inbox of a `for` loop, on a thread that is going to wait for what it asks for."""

    __slots__ = ()

    def request(self, n: int, /) -> None:
        """Ask for elements; a stream that is subscribed only now belongs to the loop like those before."""
        if busy() or running() or refusing():
            with blocking(), untold():
                super().request(n)
        else:
            super().request(n)


def iterate(chain: Chain, window: int = WINDOW) -> Iterator[Any]:
    """Return an iterator over a fresh run; closing it ends the run."""
    chain = observed(chain)
    opener = pull(chain, waits=True)
    return _wait_for(chain, window) if opener is None else opener(None)


def _wait_for(chain: Chain, window: int) -> Iterator[Any]:
    arrived = Event()
    inbox = _ForInbox(window, arrived.set)
    try:
        with blocking(), untold():
            connect(chain, inbox)
        while True:
            yield from inbox.elements()
            arrived.clear()
            inbox.waiting = True  # raised before the last look, and read after an element was queued
            if not inbox.queue and not inbox.done:
                arrived.wait()
            if inbox.at_end():
                return
    finally:
        inbox.leave()


def iterate_async(chain: Chain, window: int = WINDOW) -> AsyncIterator[Any]:
    """Return an asynchronous iterator over a fresh run; closing it ends the run."""
    chain = observed(chain)
    async_opener = pull_async(chain)
    if async_opener is not None:
        return async_opener(None)
    opener = pull(chain)
    return _await_for(chain, window) if opener is None else _step_through(opener(None))


async def _step_through(iterator: Iterator[Any]) -> AsyncIterator[Any]:
    loop = None
    try:
        for count, element in enumerate(iterator, 1):
            yield element
            if not count % BREATH:
                loop = loop or loop_here()
                if loop is not None:
                    await loop.sleep(0)  # other tasks want to run as well
    finally:
        close(iterator)


class LoopInbox(Inbox):
    """An inbox whose elements a task takes, on the loop on which it was made."""

    __slots__ = ("_future", "loop")

    def __init__(self, window: int, loop: AnyLoop) -> None:
        super().__init__(window, lambda: self.on_loop(self.stir))
        self.loop = loop
        self._future: Future | None = None

    def on_loop(self, fn: Callable[[], None]) -> None:
        """Call `fn` on the loop, at once if this is there."""
        if self.loop.here:
            fn()
        else:
            self.loop.call(fn)

    def stir(self) -> None:
        """Let the task that waits look around, whether or not something has come; on the loop."""
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def comes(self) -> None:
        """Wait for more, for the end, or to be stirred."""
        self._future = self.loop.future()
        self.waiting = True
        if not self.queue and not self.done:
            await self._future


class _AsyncForInbox(LoopInbox):
    """The inbox of an `async for` loop, and the tasks that run for it."""

    __slots__ = ("tasks",)

    def __init__(self, window: int, loop: AnyLoop) -> None:
        super().__init__(window, loop)
        self.tasks: Tasks = {}

    def request(self, n: int, /) -> None:
        """Ask for elements; a stream that is subscribed only now belongs to the loop like those before."""
        with spawning(self.tasks), untold():
            super().request(n)


async def _await_for(chain: Chain, window: int) -> AsyncIterator[Any]:
    loop = loop_here()
    if loop is None:
        raise RuntimeError("async for: no event loop is running here to wait on")
    inbox = _AsyncForInbox(window, loop)
    unwatch = loop.watch(inbox.leave)
    try:
        with spawning(inbox.tasks), untold():
            connect(chain, inbox)
        while True:
            for element in inbox.elements():
                yield element
            await inbox.comes()
            if inbox.at_end():
                return
    finally:
        unwatch()
        inbox.leave()
        if inbox.tasks and not loop.closed:  # where it is closed, nothing can be awaited any more
            await loop.ended(inbox.tasks)  # leaving the loop means that what it started is over


def value(chain: Chain) -> Any:
    """Block for the first element, then end the run."""
    iterator = iterate(chain, 1)
    try:
        for element in iterator:
            return element
    finally:
        close(iterator)
    raise EmptyError(f"{chain}: the stream completed without an element")


async def value_async(chain: Chain) -> Any:
    """Wait for the first element, then end the run."""
    iterator = iterate_async(chain, 1)
    try:
        async for element in iterator:
            return element
    finally:
        await iterator.aclose()  # type: ignore[attr-defined]
    raise EmptyError(f"{chain}: the stream completed without an element")
