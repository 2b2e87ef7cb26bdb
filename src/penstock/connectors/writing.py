"""writing: the end of a pipeline that writes batches through a connection, each of them durable before it is done.

A writer that gathers several batches, to roll a file for one, may hold them: an element counts as done when what it was
written with is durable, and not before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from penstock.connectors.opened import awaitable, opened
from penstock.connectors.telling import TellingBasin, TellingWriter, WaitingElements, called_off, closed_quietly
from penstock.connectors.turn import LoopTurn
from penstock.engine.places.clocks import seconds_of
from penstock.engine.places.event_loops import AnyLoop, Task, loop_here
from penstock.engine.words.arguments import async_function_given, count_given
from penstock.run.pouring import AsyncBasin
from penstock.sinks.poured import poured_async
from penstock.sinks.sink import Sink
from penstock.stream import Stream

T = TypeVar("T")

SIZE = 1000
"""How many elements a batch has at most, unless a connector says another number."""


class Writer(Protocol[T]):
    """A connection of one run, which writes batches."""

    async def write(self, batch: list[T], /) -> bool | None:
        """Write a batch; everything in it is durable, or confirmed by the server, when this returns.

        A writer that returns False holds it, together with those before that it held: they are durable when a later
        write returns something else, when `flush` returns, or when it is closed without an error.
        """
        ...

    async def close(self, error: BaseException | None, /) -> None:
        """Let go of the connection, once, however the run ended; None says that everything was written."""
        ...


@runtime_checkable
class HoldingWriter(Protocol):
    """A writer that holds batches, and can be told to make them durable."""

    @property
    def flush_after(self) -> float:
        """Return for how many seconds a batch is held at most while no other one comes."""
        ...

    async def flush(self) -> None:
        """Make durable what is held."""
        ...


def writing(
    open: Callable[[], Awaitable[Writer[T]]],  # noqa: A002  it is what it does
    *,
    size: int = SIZE,
    seconds: float | None = 1.0,
    ahead: bool = False,
) -> Sink[T, int]:
    """Write the elements in batches, one batch at a time; the result is how many elements there were.

    It holds at most `size` elements, and as many that are being written.

    Args:
        open: Connects; awaited on the event loop of the run, for each run, before the first batch is written.
        size: How many elements a batch has at most.
        seconds: How long the first element of a batch waits until the batch is written, full or not. With None only a
            full batch is, and the rest at the end.
        ahead: Whether the next batch is collected while one is written. That is for a writer that works on another
            thread: a source that blocks would block the event loop meanwhile.

    Raises:
        TypeError: `open` is not callable.
        ValueError: `size` is below 1, or `seconds` is not above 0.

    >>> class Printing:
    ...     async def write(self, batch): print(batch)
    ...     async def close(self, error): print("closed", error)
    >>> async def printing():
    ...     return Printing()
    >>> (Stream.range(3) | writing(printing, size=2)).run().wait()
    [0, 1]
    [2]
    closed None
    3
    """
    async_function_given("writing", "open", open)
    count_given("writing", "size", size, 1)
    if seconds is not None:
        seconds_of("writing", "seconds", seconds, zero=False)

    def build(stream: Stream[T]) -> Stream[int]:
        batches = stream.buffer(size) if seconds is None else stream.buffer_timeout(size, seconds)
        return poured_async(batches, _MakeBasin(open, ahead))

    return Sink.of(build)


def telling(
    open: Callable[[], Awaitable[TellingWriter[T]]],  # noqa: A002
    *,
    size: int = SIZE,
    seconds: float = 1.0,
) -> Sink[T, int]:
    """Write the elements in batches, each as one with the position of the source; the result is how many there were.

    It takes the place of the source's commits. Elements wait here until all that was made of the source's elements
    before them has come or was dropped; they are among those that may be uncommitted, which the source's `window` says.
    The pipeline must have one source, which is told what is done, and this one end.

    Args:
        open: Connects; awaited on the event loop of the run, for each run, before the source is opened.
        size: How many elements a batch has at most, unless what was made of one element is more.
        seconds: How long the first element of a batch waits until the batch is written, full or not.

    Raises:
        TypeError: `open` is not callable.
        ValueError: `size` is below 1, or `seconds` is not above 0.
    """
    async_function_given("telling", "open", open)
    count_given("telling", "size", size, 1)
    make = _MakeTellingBasin(open, seconds_of("telling", "seconds", seconds, zero=False))
    return Sink.of(lambda stream: poured_async(stream.buffer_timeout(size, seconds), make))


@dataclass(frozen=True, slots=True)
class _MakeTellingBasin:
    """What the basin of each run is made by that writes the source's position, too."""

    tells: ClassVar[bool] = True
    open: Callable[[], Awaitable[Any]]
    seconds: float

    def __call__(self) -> AsyncBasin:
        raise RuntimeError(
            "telling: each batch is written with the position of its source, and no source of this run is told what is"
            " done; run a pipeline over a connector, or over Stream.resumable(open_from, commit)"
        )

    def telling(self, waiting: WaitingElements) -> TellingBasin:
        """Make a basin of elements that wait until they are whole."""
        return TellingBasin(self.open, self.seconds, waiting)


@dataclass(frozen=True, slots=True)
class _MakeBasin:
    """What the basin of each run is made by; a value, as all that a chain is made of."""

    open: Callable[[], Awaitable[Any]]
    ahead: bool

    def __call__(self) -> _WritingBasin:
        return _WritingBasin(self.open, ahead=self.ahead)


def _nothing() -> None:
    pass


class _WritingBasin:
    """The writer of one run, opened with the first batch."""

    def __init__(self, open: Callable[[], Awaitable[Any]], *, ahead: bool) -> None:  # noqa: A002
        self._open = open
        self.ahead = ahead
        """Whether the next batch is collected while one is written."""
        self._writer: Any = None
        self._loop: AnyLoop | None = None
        self._turn: LoopTurn | None = None
        self._flushing: Task | None = None
        self.failure: Exception | None = None
        self.on_failure: Callable[[], None] = _nothing
        self._closed = False
        self._put_at = 0.0
        self.holds = False
        """Whether batches are written that are not durable yet."""
        self.on_durable: Callable[[], None] = _nothing
        """What is called when everything that was held is durable."""

    async def put(self, batch: list[Any], /) -> int:
        """Write a batch; return how many elements were taken."""
        if self._writer is None:
            loop = self._loop = loop_here()
            assert loop is not None
            self._turn = LoopTurn(loop)
            self._writer = await opened("writing", self._open, "write", "close")
        assert self._turn is not None and self._loop is not None
        async with self._turn:
            if self.failure is not None:
                raise self.failure
            held = await awaitable("writing", "write", self._writer.write(batch)) is False
            self.holds = held
        self._put_at = self._loop.time()
        if held and self._flushing is None and isinstance(self._writer, HoldingWriter):
            self._flushing = self._loop.spawn(self._flush_later(self._writer, self._loop))
        return len(batch)

    async def _flush_later(self, writer: HoldingWriter, loop: AnyLoop) -> None:
        try:
            while (left := self._put_at + writer.flush_after - loop.time()) > 0:
                await loop.sleep(left)  # and again if a batch came meanwhile
            assert self._turn is not None
            async with self._turn:
                if self.holds:
                    await awaitable("writing", "flush", writer.flush())
                    self.holds = False
                    self.on_durable()
        except Exception as error:  # noqa: BLE001  the run fails with it
            self.failure = error
            self.on_failure()
        finally:
            self._flushing = None

    async def end(self, error: Exception | None, /) -> None:
        """Close the writer, which makes durable what it holds unless there was a failure."""
        if self._turn is not None:
            async with self._turn:  # a flush that is under way comes to its end
                pass
        await self._close(error or self.failure)
        if error is None:
            if self.failure is not None:
                raise self.failure
            self.holds = False
            self.on_durable()

    async def _close(self, error: BaseException | None) -> None:
        self._closed = True
        await called_off(self._loop, self._flushing)  # nothing is called beside the close
        if self._writer is not None:
            await awaitable("writing", "close", self._writer.close(error))

    def left(self) -> Awaitable[None] | None:
        """Close the writer of a run that was cancelled or has failed here."""
        return None if self._closed else closed_quietly(self._close(self.failure or asyncio.CancelledError()))


__all__ = ["SIZE", "HoldingWriter", "TellingWriter", "Writer", "telling", "writing"]
