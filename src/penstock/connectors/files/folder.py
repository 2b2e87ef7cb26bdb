"""folder: the files of a folder that grows, one after another."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from penstock.connectors.files.bad_lines import Dead
from penstock.connectors.files.forms import Blocks, FileForm, Place
from penstock.connectors.files.reader import FileReader, open_reader
from penstock.connectors.files.rotation import is_temporary
from penstock.errors import PenstockError

Order = Literal["name", "time"]
Late = Literal["fail", "skip"]
Key = tuple[int, str]

SETTLED = 2_000_000_000
"""For how many nanoseconds a folder must be unchanged before its time of change is trusted not to be the same twice."""


class LateFileError(PenstockError):
    """The error of a folder in which a file appeared that should have come before one that was read."""


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """What opens a folder for a run."""

    path: str
    form: FileForm[Any]
    pattern: str
    order: Order
    late: Late
    follow: bool
    dead: Dead | None
    poll: float

    async def __call__(self, after: Place | None, /) -> FileReader[Any]:
        return await open_reader(self._blocks, after, self.poll)

    def _blocks(self, after: Place | None) -> GrowingFolder:
        return GrowingFolder(self, after)


class GrowingFolder:
    """The files of a folder from a position on; it holds the names that it has seen, and the lines of one block."""

    def __init__(self, options: OpenFolder, after: Place | None) -> None:
        self._options = options
        self._path = Path(options.path)
        if not self._path.is_dir():
            raise NotADirectoryError(f"folder: {options.path} must be a folder that is there")
        self._current: Key | None = None
        self._blocks: Blocks[Any] | None = None
        self._seen: frozenset[str] | None = None
        self._waiting: list[Key] = []
        self._changed = -1
        if after is not None:
            self._current = self._key(after)
            self._blocks = self._opened(self._current, after)

    def _key(self, after: Place) -> Key:
        wrong = ValueError(f"folder: a position in {self._options.order} order is no {after!r:.100}")
        if not isinstance(after, list) or len(after) != 3 or not isinstance(after[0], str):
            raise wrong
        if self._options.order == "name":
            return (0, after[0])
        changed, _, name = after[0].partition("/")
        if not changed.isdecimal() or not name:
            raise wrong
        return (int(changed), name)

    def _opened(self, key: Key, after: Place | None) -> Blocks[Any] | None:
        text = key[1] if self._options.order == "name" else f"{key[0]}/{key[1]}"
        try:
            return self._options.form.blocks(self._path / key[1], text, after, self._options.dead)
        except FileNotFoundError:
            if after is None:
                raise
            return None  # it was read, and removed since; the next one is behind it

    def next(self) -> Any:
        """Return what comes next; an empty sequence where a file is waited for, None at the end of a folder at rest."""
        while True:
            if self._blocks is not None:
                found = self._blocks.next()
                if found is not None:
                    return found
                self.close()
            self._look()  # a file that appeared meanwhile may come before those that wait
            if not self._waiting:
                return [] if self._options.follow else None
            self._current = self._waiting.pop()
            self._blocks = self._opened(self._current, None)

    def _look(self) -> None:
        """Find the files behind the one that was read last; the next one stands last."""
        told = self._path.stat().st_mtime_ns
        if told == self._changed:
            return
        found = self._listed()
        if time.time_ns() - told > SETTLED:
            self._changed = told
        current = self._current
        if self._seen is not None and self._options.late == "fail" and current is not None:
            late = [name for at, name in found if (at, name) < current and name not in self._seen]
            if late:
                raise LateFileError(
                    f"folder: {late[0]} appeared in {self._path} when {current[1]} had been read, which comes behind it"
                    f" in {self._options.order} order; give files names that grow, or say late='skip'"
                )
        self._seen = frozenset(name for _, name in found)
        self._waiting = sorted((key for key in found if current is None or key > current), reverse=True)

    def _listed(self) -> list[Key]:
        pattern, by_time = self._options.pattern, self._options.order == "time"
        found: list[Key] = []
        for each in self._path.iterdir():
            if is_temporary(each.name) or not fnmatchcase(each.name, pattern):
                continue
            try:
                told = each.stat()
            except FileNotFoundError:
                continue
            if each.is_file():
                found.append((told.st_mtime_ns if by_time else 0, each.name))
        return found

    def close(self) -> None:
        """Close the file that is open."""
        blocks, self._blocks = self._blocks, None
        if blocks is not None:
            blocks.close()


__all__ = ["GrowingFolder", "LateFileError", "OpenFolder"]
