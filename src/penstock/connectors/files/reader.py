"""reader: what files hold, for `reading`: fetched by a thread of the run, and no more than a block ahead of demand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from penstock.connectors.files.forms import Blocks, Place

T = TypeVar("T")
X = TypeVar("X")


class FileReader(Generic[T]):
    """The reader of one run; all that touches files is done by one thread, one thing after another."""

    def __init__(self, thread: ThreadPoolExecutor, blocks: Blocks[T], poll: float) -> None:
        self._thread = thread
        self._blocks = blocks
        self._poll = poll
        self._block: Sequence[tuple[Place, T]] = ()
        self._at = 0

    async def fetch(self, most: int, /) -> Sequence[tuple[Place, T]] | None:
        """Return what was read already, or read a block; where nothing is, look again after a while."""
        while self._at >= len(self._block):
            block = await _in(self._thread, self._blocks.next)
            if block is None:
                return None
            self._block, self._at = block, 0
            if not block:
                await asyncio.sleep(self._poll)
        at = self._at
        self._at = end = min(at + most, len(self._block))
        return self._block if end - at == len(self._block) else self._block[at:end]

    async def commit(self, position: Place, /) -> None:
        """Do nothing: a file gives no more for what is done, and the checkpoint of the run keeps the position."""

    async def close(self) -> None:
        """Close the files, behind what the thread is doing."""
        try:
            closing = self._thread.submit(self._blocks.close)
        except RuntimeError:  # the interpreter ends, and has waited for the thread
            self._blocks.close()
            return
        self._thread.shutdown(wait=False)  # behind it
        await asyncio.shield(asyncio.wrap_future(closing))


async def open_reader(make: Callable[[Place | None], Blocks[T]], after: Place | None, poll: float) -> FileReader[T]:
    """Open files behind a position."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-files")
    opening = thread.submit(make, after)
    blocks: Blocks[T] | None = None
    try:
        blocks = await asyncio.wrap_future(opening)
        return FileReader(thread, blocks, poll)
    finally:
        if blocks is None:
            opening.add_done_callback(_let_go)
            thread.shutdown(wait=False)


def _let_go(opening: Future[Any]) -> None:
    """Close what was opened for a run that is over already."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


async def _in(thread: ThreadPoolExecutor, work: Callable[[], X]) -> X:
    return await asyncio.get_running_loop().run_in_executor(thread, work)


__all__ = ["FileReader", "open_reader"]
