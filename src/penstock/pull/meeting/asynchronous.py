"""asynchronous: pull-stream and asyncio: sources from async iterables, and the protocol as awaitable calls.

In the dataflow form a module is an object with two coroutines: `ask()` returns a value or raises StreamEnd, or the
error that the stream failed with; `abort(error=None)` returns when the abort is confirmed. Several asks may be out at
once; they are answered in their order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar, overload

from penstock.engine.words.dropped import drop
from penstock.errors import PenstockError
from penstock.pull.ground.desk import Confirm, Desk
from penstock.pull.ground.protocol import End, Read, end_of, failure, raised, twice
from penstock.pull.module import PullSource, read_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class StreamEnd(PenstockError):
    """The end of a stream: there is no value for this ask."""


class Asked(Protocol[T_co]):
    """A source in the dataflow form."""

    def ask(self) -> Awaitable[T_co]:
        """Return the next value, or raise StreamEnd or the stream's error."""
        ...

    def abort(self, error: Exception | None = None, /) -> Awaitable[object]:
        """End the stream."""
        ...


class Dataflow(Generic[T]):
    """A reader of a source by awaiting: `await ask()`, `await abort()`, on one event loop.

    An ask that is cancelled leaves its value to the next one: nothing is lost.
    """

    __slots__ = ("_out", "_read", "_ready", "_waiting")

    def __init__(self, read: Read) -> None:
        self._read = read
        self._ready: deque[tuple[End | None, Any]] = deque()
        """Answers that no ask has taken yet."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        """Asks, in order; each is woken when there is an answer for it, and takes the oldest there is."""
        self._out = 0

    async def ask(self) -> T:
        """Return the next value, or raise StreamEnd or the stream's error."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        try:
            if len(self._waiting) > self._out + len(self._ready):
                self._send(loop)
            self._wake()
            await turn
            end, found = self._ready.popleft()
        finally:
            self._waiting.remove(turn)
            self._wake()  # an ask that is cancelled leaves its turn to the next
        if end is None:
            value: T = found
            return value
        raise StreamEnd("pull: the stream is done") if end is True else end

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask the source; the answer goes to the ask that has waited longest by then."""
        waits = True

        def arrived(found: tuple[End | None, Any]) -> None:
            nonlocal waits
            if not waits:
                twice(1)
                return
            waits = False
            self._out -= 1
            self._ready.append(found)
            self._wake()

        def answer(end: bool | Exception | None, value: Any = None, /) -> None:
            _on(loop, arrived, (end_of(end), value))

        self._out += 1
        try:
            self._read(None, answer)
        except Exception as error:  # noqa: BLE001  property F10
            if waits:
                arrived((raised(error), None))
            else:
                drop("property F10: a read raised", error)

    def _wake(self) -> None:
        """Let as many go on as there are answers, the oldest first."""
        for turn, _ in zip(self._waiting, self._ready, strict=False):
            if not turn.done():
                turn.set_result(None)

    async def abort(self, error: Exception | None = None, /) -> None:
        """End the stream and wait until that is confirmed; raise what went wrong while closing."""
        loop = asyncio.get_running_loop()
        confirmed: asyncio.Future[End | None] = loop.create_future()

        def settle(end: End | None) -> None:
            if not confirmed.done():  # the task that awaited it may have been cancelled
                confirmed.set_result(end)

        def answer(end: bool | Exception | None, value: Any = None, /) -> None:
            _on(loop, settle, end_of(end))

        reason: End = error if error is not None else True
        # Property A10: values that no ask has taken are dropped; an ask that was to take one is told the end.
        self._ready = deque((reason, None) for _ in zip(self._waiting, self._ready, strict=False))
        self._read(reason, answer)
        failed = failure(await confirmed)
        if failed is not None and failed is not error:
            raise failed

    def __aiter__(self) -> AsyncIterator[T]:
        return to_async_iter(self._read)


def _on(loop: asyncio.AbstractEventLoop, fn: Any, argument: Any) -> None:
    """Call a function on an event loop, now if it is the one that runs here."""
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        fn(argument)
    else:
        loop.call_soon_threadsafe(fn, argument)


@overload
def dataflow(source: PullSource[T]) -> Dataflow[T]: ...
@overload
def dataflow(source: Read) -> Dataflow[Any]: ...
def dataflow(source: Read) -> Dataflow[Any]:
    """Read a source in the dataflow form.

    >>> import asyncio
    >>> from penstock import pull
    >>> async def first_two():
    ...     asked = pull.dataflow(pull.count())
    ...     return await asked.ask(), await asked.ask(), await asked.abort()
    >>> asyncio.run(first_two())
    (0, 1, None)
    """
    return Dataflow(read_of("dataflow", source))


@overload
def to_async_iter(source: PullSource[T]) -> AsyncIterator[T]: ...
@overload
def to_async_iter(source: Read) -> AsyncIterator[Any]: ...
def to_async_iter(source: Read) -> AsyncIterator[Any]:
    """Iterate over a source; leaving the iteration aborts it and waits for the confirmation."""
    asked: Dataflow[Any] = Dataflow(read_of("to_async_iter", source))
    return _iterated(asked)


async def _iterated(asked: Dataflow[T]) -> AsyncIterator[T]:
    over = False
    try:
        while True:
            try:
                value = await asked.ask()
            except StreamEnd:
                over = True
                return
            except Exception:
                over = True
                raise
            yield value
    finally:
        if not over:
            await asked.abort()


class _Awaited:
    """A source that answers asks by awaiting one value after the other on the event loop that asks."""

    def __init__(self, name: str, source: Asked[Any]) -> None:
        self._name = name
        self._source = source
        self._task: asyncio.Task[None] | None = None
        self._begun = False
        self._stopping = False
        self.desk = Desk(self._wanted, self._close)

    def _wanted(self) -> bool:
        if self._task is None:
            self._begun = True
            try:
                self._task = asyncio.get_running_loop().create_task(self._next())
            except RuntimeError:
                self.desk.finish(RuntimeError(f"{self._name}: it must be read on a running event loop"))
        return True

    async def _next(self) -> None:
        end: End
        try:
            value = await self._source.ask()
        except StreamEnd:
            end = True
        except Exception as error:  # noqa: BLE001  property F1
            end = error
        except asyncio.CancelledError:
            if not self._stopping:  # the loop comes to its end: each ask that waits is told
                self._task = None
                self.desk.turn.run(self.desk.finish, RuntimeError(f"{self._name}: the work under way was cancelled"))
            raise
        else:
            self._task = None
            self.desk.turn.run(self.desk.give, value)
            return
        self._task = None
        self.desk.turn.run(self.desk.finish, end)

    def _close(self, end: End, confirm: Confirm) -> None:
        task, self._task = self._task, None
        self._stopping = True
        if not self._begun:
            confirm(True)  # nothing was opened
            return

        async def close() -> None:
            if task is not None:
                task.cancel()  # property A4: an abort does not wait for a value that may never come
                await asyncio.wait([task])
            failed: bool | Exception = True
            try:
                await self._source.abort(failure(end))
            except Exception as error:  # noqa: BLE001  property F4
                failed = error
            self.desk.turn.run(confirm, failed)

        closing = close()
        try:
            _spawn(closing)
        except RuntimeError:
            closing.close()
            confirm(RuntimeError(f"{self._name}: it must be aborted on a running event loop"))


_closing: set[asyncio.Task[None]] = set()
"""Keeps tasks that close a source until they have."""


def _spawn(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    _closing.add(task)
    task.add_done_callback(_closing.discard)


def from_dataflow(source: Asked[T]) -> PullSource[T]:
    """Make a source of an object with the coroutines `ask` and `abort`; to be read on an event loop."""
    for name in ("ask", "abort"):
        if not callable(getattr(source, name, None)):
            raise TypeError(f"from_dataflow: source must have {name}, got {source!r}")
    return PullSource(_Awaited("from_dataflow", source).desk.read, "from_dataflow")


class _Iterating:
    """An async iterable in the dataflow form."""

    def __init__(self, items: AsyncIterable[Any]) -> None:
        self._items = items
        self._iterator: AsyncIterator[Any] | None = None

    async def ask(self) -> Any:
        if self._iterator is None:
            self._iterator = aiter(self._items)
        try:
            return await anext(self._iterator)
        except StopAsyncIteration:
            await self.abort()
            raise StreamEnd("from_async_iter: the iterable is used up") from None

    async def abort(self, error: Exception | None = None, /) -> None:
        closing: Callable[[], Awaitable[object]] | None = getattr(self._iterator, "aclose", None)
        if callable(closing):
            await closing()


def from_async_iter(items: AsyncIterable[T]) -> PullSource[T]:
    """Give the items of an async iterable, which is closed when it is aborted; to be read on an event loop."""
    if not hasattr(items, "__aiter__"):
        raise TypeError(f"from_async_iter: items must be an async iterable, got {items!r}")
    return PullSource(_Awaited("from_async_iter", _Iterating(items)).desk.read, "from_async_iter")


__all__ = ["Asked", "Dataflow", "StreamEnd", "dataflow", "from_async_iter", "from_dataflow", "to_async_iter"]
