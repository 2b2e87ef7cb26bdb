"""telling: batches that are written as one with the position of the source behind them.

A `TellingWriter` takes the place of the source's commits. What comes to it waits until it is whole: everything that was
made of the source's elements up to a position, and nothing else, see `penstock.run.carrying.cutting`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from penstock.connectors.opened import awaitable, opened
from penstock.connectors.turn import LoopTurn
from penstock.engine.places.event_loops import AnyLoop, Task, loop_here
from penstock.engine.words.dropped import drop

T = TypeVar("T")


class TellingWriter(Protocol[T]):
    """A connection of one run, which writes batches together with the position of the source."""

    async def write_done(self, batch: list[T], reader: Any, position: Any, /) -> None:
        """Write a batch, which may be empty, and the position behind it: both are durable when this returns.

        Args:
            batch: All that was made of the source's elements between the position before and this one.
            reader: The reader of the source, whose `commit` is not called.
            position: The position; None where it has not moved.
        """
        ...

    async def close(self, error: BaseException | None, /) -> None:
        """Let go of the connection, once, however the run ended; None says that everything was written."""
        ...


class WaitingElements(Protocol):
    """The elements that wait at a sink until they are whole."""

    @property
    def reader(self) -> Any:
        """Return the reader of the source."""
        ...

    def add(self, elements: list[Any], /) -> None:
        """Take elements that have come."""
        ...

    def take(self) -> Any:
        """Return `values` and the `position` behind them that are whole now, None if there are none."""
        ...

    def done(self, taken: Any, /) -> None:
        """Say that what was taken is written."""
        ...

    def __len__(self) -> int: ...


def _nothing() -> None:
    pass


class TellingBasin:
    """The writer of one run, opened before the source is, and the elements that wait for it."""

    def __init__(self, open: Callable[[], Awaitable[Any]], seconds: float, waiting: WaitingElements) -> None:  # noqa: A002
        self._open = open
        self._seconds = seconds
        self._waiting = waiting
        self._writer: Any = None
        self._loop: AnyLoop | None = None
        self._turn: LoopTurn | None = None
        self._ticking: Task | None = None
        self.failure: Exception | None = None
        self.on_failure: Callable[[], None] = _nothing
        self._closed = False

    async def begin(self) -> None:
        """Connect, before anything is asked for: what another run has left open must end before the source begins."""
        loop = self._loop = loop_here()
        assert loop is not None
        self._turn = LoopTurn(loop)
        self._writer = await opened("telling", self._open, "write_done", "close")

    async def put(self, elements: list[Any], /) -> int:
        """Take a batch, and write what is whole."""
        if self._ticking is None and self._loop is not None:
            self._ticking = self._loop.spawn(self._tick(self._loop))
        self._waiting.add(elements)
        await self._write()
        return len(elements)

    async def _write(self) -> None:
        assert self._turn is not None
        async with self._turn:
            if self.failure is not None:
                raise self.failure
            taken = self._waiting.take()
            if taken is not None:
                writing = self._writer.write_done(taken.values, self._waiting.reader, taken.position)
                await awaitable("telling", "write_done", writing)
                self._waiting.done(taken)

    async def _tick(self, loop: AnyLoop) -> None:
        """Write what has become whole while nothing came, because what it waited for was dropped."""
        while True:
            await loop.sleep(self._seconds)
            try:
                await self._write()
            except Exception as error:  # noqa: BLE001  the run fails with it
                self.failure = error
                self.on_failure()
                return

    async def end(self, error: Exception | None, /) -> None:
        """Write the rest, unless there was a failure, and close the writer."""
        failure = error
        if failure is None:
            try:
                await self._write()
                if len(self._waiting):
                    raise RuntimeError(
                        f"writing: {len(self._waiting)} elements were not written, because others before them are not "
                        "done; they come again in the next run"
                    )
            except Exception as found:  # noqa: BLE001  raised below
                failure = found
        await self._close(failure)
        if error is None and failure is not None:
            raise failure

    async def _close(self, error: BaseException | None) -> None:
        self._closed = True
        ticking, self._ticking = self._ticking, None
        await called_off(self._loop, ticking)  # nothing is written beside the close
        if self._writer is not None:
            await awaitable("telling", "close", self._writer.close(error))

    def left(self) -> Awaitable[None] | None:
        """Close the writer of a run that was cancelled or has failed here."""
        return None if self._closed else closed_quietly(self._close(self.failure or asyncio.CancelledError()))


async def called_off(loop: AnyLoop | None, task: Task | None) -> None:
    """Cancel a task, if there is one, and wait until it is over."""
    if task is not None and loop is not None:
        over = loop.future()
        task.add_done_callback(lambda _: None if over.done() else over.set_result(None))
        task.cancel()
        await over


async def closed_quietly(closing: Awaitable[None]) -> None:
    """Wait for a close whose failure changes nothing, because the end has been decided already."""
    try:
        await closing
    except Exception as error:  # noqa: BLE001  see above
        drop("writing: a connection failed to close", error)


__all__ = ["TellingBasin", "TellingWriter", "WaitingElements", "called_off", "closed_quietly"]
