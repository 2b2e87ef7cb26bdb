"""roll: files that are written one after another, each of which appears whole under its name, or not at all."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from penstock.connectors.files.forms import Sheet
from penstock.connectors.files.numbered import NumberedPaths, claim
from penstock.sinks.part_file import PartFile

IDLE = 0.5
"""How many seconds a file stays open while nothing comes."""


@dataclass(frozen=True, slots=True)
class OpenRoll:
    """What opens the files of a run."""

    names: NumberedPaths
    form: Any
    size: int
    rows: int | None
    seconds: float
    once: Callable[[Any], Hashable] | None
    back: int

    async def __call__(self) -> RollWriter:
        thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-files")
        rolling = Rolling(self)
        opening = thread.submit(rolling.begin)
        try:
            await asyncio.wrap_future(opening)
        finally:
            if not opening.done() or opening.cancelled() or opening.exception():
                thread.shutdown(wait=False)
        return RollWriter(thread, rolling, self.seconds)


class RollWriter:
    """The writer of one run, which holds batches while their file is open; one thread does all the writing."""

    def __init__(self, thread: ThreadPoolExecutor, rolling: Rolling, seconds: float) -> None:
        self._thread = thread
        self._rolling = rolling
        self._seconds = seconds

    @property
    def flush_after(self) -> float:
        """Return for how many seconds a file stays open while nothing comes: a source may wait for it to be done."""
        return min(IDLE, self._seconds)

    async def write(self, batch: list[Any], /) -> bool:
        """Write a batch; False as long as the file that it is in is open."""
        return bool(await self._do(self._rolling.write, batch))

    async def flush(self) -> None:
        """Put the open file in its place."""
        await self._do(self._rolling.seal)

    async def close(self, error: BaseException | None, /) -> None:
        """Put the open file in its place, or remove it if something has failed."""
        try:
            closing = self._thread.submit(self._rolling.end, error)
        except RuntimeError:  # the interpreter ends, and has waited for the thread
            self._rolling.end(error)
            return
        self._thread.shutdown(wait=False)  # behind it
        await asyncio.shield(asyncio.wrap_future(closing))

    async def _do(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(work, *arguments)))


class Rolling:
    """The files of a run: the one that is open, and the number of the next."""

    def __init__(self, options: OpenRoll) -> None:
        self._options = options
        self._next = 1
        self._new: PartFile | None = None
        self._file: IO[bytes] | None = None
        self._sheet: Sheet[Any] | None = None
        self._rows = 0
        self._opened = 0.0
        self._had: deque[set[Hashable]] = deque([set()], maxlen=options.back + 1)

    def begin(self) -> None:
        """Find out where to go on, and remove what a run that was killed has left."""
        names = self._options.names
        if not names.folder.is_dir():
            raise NotADirectoryError(f"roll: {names.folder} must be a folder that is there")
        names.clear()
        found = names.found()
        if found:
            self._next = found[-1][0] + 1
        if self._options.once is not None:
            for _, path in found[-self._options.back :]:
                self._had[-1].update(self._keys_in(path))
                self._had.append(set())

    def _keys_in(self, path: Path) -> set[Hashable]:
        assert self._options.once is not None
        blocks = self._options.form.blocks(path, path.name, None, None)
        keys: set[Hashable] = set()
        try:
            while (block := blocks.next()) is not None:
                keys.update(self._options.once(element) for _, element in block)
        finally:
            blocks.close()
        return keys

    def write(self, batch: list[Any]) -> bool:
        """Write a batch; tell whether everything that was written is in its place."""
        if self._options.once is not None:
            batch = self._new_ones(batch, self._options.once)
        if batch:
            self._or_remove(self._add, batch)
        if self._sheet is None:
            return True
        if not self._is_full():
            return False
        self.seal()
        return True

    def _new_ones(self, batch: list[Any], key: Callable[[Any], Hashable]) -> list[Any]:
        fresh, now = [], self._had[-1]
        for element in batch:
            own = key(element)
            if not any(own in keys for keys in self._had):
                now.add(own)
                fresh.append(element)
        return fresh

    def _add(self, batch: list[Any]) -> None:
        sheet = self._sheet
        if sheet is None:
            self._new = PartFile(self._options.names.path(self._next))
            self._file = self._new.part.open("xb")
            claim(self._file)
            self._opened = time.monotonic()
            self._sheet = sheet = self._options.form.sheet(self._file, self._new.path)
        sheet.write(batch)
        self._rows += len(batch)

    def _is_full(self) -> bool:
        assert self._file is not None
        rows = self._options.rows
        return (
            self._file.tell() >= self._options.size
            or (rows is not None and self._rows >= rows)
            or time.monotonic() - self._opened >= self._options.seconds
        )

    def seal(self) -> None:
        """Put the open file in its place, if there is one; all of it is on the disk then."""
        if self._sheet is not None:
            self._or_remove(self._finish)
            self._forget()

    def _finish(self) -> None:
        sheet, new, file = self._sheet, self._new, self._file
        assert sheet is not None and new is not None and file is not None
        sheet.close()
        new.seal(file)
        while True:
            number, self._next = self._next, self._next + 1
            try:
                return new.place_new(self._options.names.path(number))
            except FileExistsError:
                continue  # another writer has taken the number

    def _or_remove(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do what writes to the open file, which is removed if that fails, before the run is told."""
        done = False
        try:
            work(*arguments)
            done = True
        except OSError as error:
            raise self._clear_error(error) from error
        finally:
            if not done:
                self.remove()

    def _forget(self) -> None:
        self._sheet = self._file = self._new = None
        self._rows = 0
        self._had.append(set())

    def end(self, error: BaseException | None) -> None:
        """Put the open file in its place, or remove it if something has failed."""
        if error is None:
            self.seal()
        else:
            self.remove()

    def remove(self) -> None:
        """Remove the open file, if there is one."""
        sheet, new, file = self._sheet, self._new, self._file
        self._forget()
        if sheet is not None:
            with suppress(Exception):
                sheet.close()
        if file is not None:
            with suppress(OSError):  # what could not be written is not wanted any more
                file.close()
        if new is not None:
            new.remove()

    def _clear_error(self, error: OSError) -> OSError:
        where = self._options.names.path(self._next)
        reason = error.strerror or str(error)
        return OSError(
            error.errno,
            f"roll: {where} cannot be written: {reason}; what was open is removed, and its elements are not done",
        )


__all__ = ["OpenRoll", "RollWriter", "Rolling"]
