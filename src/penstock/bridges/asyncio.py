"""asyncio: queues, readers and writers of asyncio.

Asynchronous iterators need no bridge: `Stream.from_async_iterable` takes them, and `async for` gives them back.

What belongs to an event loop is used on that loop: inside a coroutine, read with `async for` and write with `await
(stream | to_queue(queue))`; what is used elsewhere by mistake fails and says so. A queue carries the end and a failure
behind its elements as `Completed()` and `Failed(error)`, as `shared.in_band` says; it cannot carry a
cancel of the side that takes, unless it can be shut down (Python 3.13). Bytes on a wire carry no failure at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, overload

from penstock.bridges.shared.home import Home
from penstock.bridges.shared.in_band import end_of, ends, packed, unpacked
from penstock.bridges.shared.pouring import pour_async
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given, of_class
from penstock.engine.words.signals import Completed, Failed
from penstock.flow import Sink
from penstock.stage import AsyncOpener, LoopGate, Source
from penstock.stream import Stream

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
_SHUT_DOWN: Any = getattr(asyncio, "QueueShutDown", ())  # Python 3.13


class FilledLoopQueue(Protocol[T_contra]):
    """An `asyncio.Queue` as those see it who fill it."""

    async def put(self, item: T_contra, /) -> None:
        """Add an item when there is room."""
        ...


@dataclass(frozen=True, slots=True)
class FromQueue(Source[T]):
    """A source that emits what comes out of a queue; see `from_queue`."""

    queue: asyncio.Queue[Any]
    home: Home = field(compare=False, repr=False)

    def async_opener(self) -> AsyncOpener[T]:
        """Wait in the task that asks."""
        return self._open

    async def _open(self, _: LoopGate | None) -> AsyncIterator[Any]:
        self.home.look()
        while True:
            try:
                item = await self.queue.get()
            except _SHUT_DOWN:
                return
            try:
                if ends(item):
                    return
                yield unpacked(item)
            finally:
                self.queue.task_done()


@overload
def from_queue(queue: asyncio.Queue[T | Completed | Failed]) -> Stream[T]: ...
@overload
def from_queue(queue: asyncio.Queue[T | Completed]) -> Stream[T]: ...
@overload
def from_queue(queue: asyncio.Queue[T]) -> Stream[T]: ...
def from_queue(queue: asyncio.Queue[Any]) -> Stream[Any]:
    """Emit the items of an `asyncio.Queue`.

    Emits when downstream asks and an item is there. Backpressures by not taking items, none ahead. Completes at a
    `Completed()`, or when the queue was shut down and is empty; fails at a `Failed(error)`; one such mark ends one
    reader. Cancels the wait for an item and takes none then. `task_done` is called for each item that was delivered.

    >>> from penstock import Stream
    >>> async def main():
    ...     queue = asyncio.Queue()
    ...     await (Stream.range(3) | to_queue(queue))
    ...     return [n async for n in from_queue(queue)]
    >>> asyncio.run(main())
    [0, 1, 2]
    """
    if not isinstance(queue, asyncio.Queue):
        raise TypeError(f"from_queue: queue must be an asyncio.Queue, got {queue!r}{_cure(queue)}")
    return Stream(Chain(FromQueue(queue, Home("from_queue: the queue"))))


def _cure(queue: object) -> str:
    """Return what to do with what is no `asyncio.Queue`, as the end of a sentence."""
    return of_class(queue) or ("; see penstock.bridges.threads" if hasattr(queue, "put") else "")


class _QueueBasin:
    """A basin that puts elements into a queue, then the end."""

    __slots__ = ("_end", "_home", "_queue")

    def __init__(self, queue: asyncio.Queue[Any], home: Home, end: bool) -> None:
        self._queue = queue
        self._home = home
        self._end = end

    async def put(self, element: Any, /) -> bool:
        return await self._put(packed(element))

    async def end(self, error: Exception | None, /) -> None:
        if self._end:
            await self._put(end_of(error))

    async def _put(self, item: Any) -> bool:
        self._home.look()
        try:
            await self._queue.put(item)
        except _SHUT_DOWN:
            return False  # the consumer has said that it wants nothing more
        return True

    def left(self) -> None:
        """Do nothing: there is nothing to let go of."""


def to_queue(queue: FilledLoopQueue[T], *, end: bool = True) -> Sink[T, int]:
    """Put elements into an `asyncio.Queue`; the result is how many.

    Asks for the next element when one was put, none ahead; a full queue makes it wait. Puts `Completed()` or
    `Failed(error)` behind the last element, unless `end` is false (several may fill one queue). Ends when the queue is
    shut down. Cancels the wait for room; then no mark is put.

    >>> from penstock import Stream
    >>> async def main():
    ...     queue = asyncio.Queue()
    ...     return await (Stream.just("a") | to_queue(queue)), queue.get_nowait(), queue.get_nowait()
    >>> asyncio.run(main())
    (1, 'a', Completed())
    """
    if not isinstance(queue, asyncio.Queue):
        raise TypeError(f"to_queue: queue must be an asyncio.Queue, got {queue!r}{_cure(queue)}")
    home = Home("to_queue: the queue")
    return pour_async(lambda: _QueueBasin(queue, home, end))


@dataclass(frozen=True, slots=True)
class FromReader(Source[bytes]):
    """A source that emits what is read; see `from_reader`."""

    reader: asyncio.StreamReader
    size: int | None
    home: Home = field(compare=False, repr=False)

    def async_opener(self) -> AsyncOpener[bytes]:
        """Read in the task that asks."""
        return self._open

    async def _open(self, _: LoopGate | None) -> AsyncIterator[bytes]:
        self.home.look()
        while found := await (self.reader.readline() if self.size is None else self.reader.read(self.size)):
            yield found


def from_reader(reader: asyncio.StreamReader, *, size: int | None = None) -> Stream[bytes]:
    r"""Emit the lines that a `StreamReader` reads, with their ends, or chunks of at most `size` bytes.

    Emits when downstream asks and the bytes have come. Backpressures by not reading: the reader holds up to twice its
    limit and then stops its transport. Completes at the end of the input; fails when the connection is lost, or with
    ValueError at a line longer than the reader's limit. Cancels the wait; the connection stays open, as it is not ours.

    >>> async def main():
    ...     reader = asyncio.StreamReader()
    ...     reader.feed_data(b"one\ntwo")
    ...     reader.feed_eof()
    ...     return [line async for line in from_reader(reader)]
    >>> asyncio.run(main())
    [b'one\n', b'two']
    """
    if not isinstance(reader, asyncio.StreamReader):
        raise TypeError(f"from_reader: reader must be an asyncio.StreamReader, got {reader!r}")
    if size is not None:
        count_given("from_reader", "size", size, 1)
    return Stream(Chain(FromReader(reader, size, Home("from_reader: the reader"))))


class _WriterBasin:
    """A basin that writes elements and waits for them to drain."""

    __slots__ = ("_eof", "_home", "_writer")

    def __init__(self, writer: asyncio.StreamWriter, home: Home, eof: bool) -> None:
        self._writer = writer
        self._home = home
        self._eof = eof

    async def put(self, element: Any, /) -> bool:
        self._home.look()
        self._writer.write(element)
        await self._writer.drain()
        return True

    async def end(self, error: Exception | None, /) -> None:
        if error is None and self._eof and self._writer.can_write_eof():
            self._writer.write_eof()

    def left(self) -> None:
        """Do nothing: the connection is not ours."""


def to_writer(writer: asyncio.StreamWriter, *, eof: bool = True) -> Sink[bytes, int]:
    """Write bytes to a `StreamWriter` and wait for each to drain; the result is how many elements were written.

    Asks for the next element when the writer's buffer is below its limit, none ahead. Ends the output when the stream
    completes, unless `eof` is false or the transport cannot. Cancels the wait. A wire carries no failure: when the
    stream fails, nothing more is written and the pipeline fails. The writer is yours to close, whatever happened.

    >>> from socket import socketpair
    >>> from penstock import Stream
    >>> async def main(ours, theirs):
    ...     _, writer = await asyncio.open_connection(sock=ours)
    ...     with theirs:
    ...         written = await (Stream.just(b"one", b"two") | to_writer(writer))
    ...         writer.close()
    ...         return written, theirs.recv(99)
    >>> asyncio.run(main(*socketpair()))
    (2, b'onetwo')
    """
    for name in ("write", "drain", "can_write_eof", "write_eof"):
        if not callable(getattr(writer, name, None)):
            raise TypeError(f"to_writer: writer must be an asyncio.StreamWriter, got {writer!r}")
    home = Home("to_writer: the writer")
    return pour_async(lambda: _WriterBasin(writer, home, eof))


__all__ = ["from_queue", "from_reader", "to_queue", "to_writer"]
