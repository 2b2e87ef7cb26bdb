"""tail: the lines of a file that grows, through every rotation."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from penstock.connectors.files.bad_lines import Dead
from penstock.connectors.files.compression import compressed
from penstock.connectors.files.forms import LineForm, Place
from penstock.connectors.files.line_file import LineFile, open_lines, read_chunk
from penstock.connectors.files.reader import FileReader, open_reader
from penstock.connectors.files.rotation import HEAD, Family, Identity, Sibling, first_bytes

Begin = Literal["oldest", "active", "end"]
Gone = Literal["fail", "oldest", "active"]


@dataclass(frozen=True, slots=True)
class OpenTail:
    """What opens a growing file for a run."""

    path: str
    form: LineForm[Any]
    begin: Begin
    rotated: str
    gone: Gone
    dead: Dead | None
    poll: float

    async def __call__(self, after: Place | None, /) -> FileReader[Any]:
        return await open_reader(self._follow, after, self.poll)

    def _follow(self, after: Place | None) -> Tail:
        return Tail(self, after)


class _Open:
    """A file of the family that is open: its lines, and what it is known by."""

    def __init__(self, sibling: Sibling, lines: LineFile, head: bytes) -> None:
        self.lines = lines
        self.plain = not compressed(sibling.path)
        self.inode = os.fstat(lines.file.fileno()).st_ino if self.plain else sibling.inode
        self._head = head

    @property
    def identity(self) -> Identity:
        """Return what the file is known by, as far as it was read."""
        return Identity.of(self.inode, self._head)

    def read(self) -> bytes | None:
        """Return the next chunk; None if the file is not the same any more, having been cut off."""
        chunk = read_chunk(self.lines)
        seen = (self._head + chunk)[:HEAD] if len(self._head) < HEAD else self._head
        if self.plain:
            # Behind the read: what was read is of the old content for sure if the file has its first bytes still.
            handle = self.lines.file.fileno()
            if os.fstat(handle).st_size < self.lines.read_to + len(chunk):
                return None
            if os.pread(handle, len(seen), 0) != seen:
                return None
        self._head = seen
        return chunk

    def take(self, chunk: bytes, *, last: bool = False) -> Sequence[tuple[Place, Any]]:
        """Return the elements that are whole with this chunk."""
        return self.lines.take(chunk, self._known, last=last)

    def _known(self, ends: list[int]) -> list[str]:
        """Return the identity that each position holds: of the first bytes, those that come before it."""
        few = bisect_left(ends, HEAD)
        keys = [str(Identity.of(self.inode, self._head[:end])) for end in ends[:few]]
        if few < len(ends):
            keys += [str(Identity.of(self.inode, self._head))] * (len(ends) - few)
        return keys

    def close(self) -> None:
        """Close the file."""
        self.lines.file.close()


def _head_of(lines: LineFile, count: int) -> bytes:
    if not count:
        return b""
    if compressed(lines.path):
        return first_bytes(lines.path, count)  # which is renamed by now at worst, and read for its first bytes alone
    return os.pread(lines.file.fileno(), count, 0)


class Tail:
    """The lines of a growing file from a position on."""

    def __init__(self, options: OpenTail, after: Place | None) -> None:
        self._options = options
        self._path = Path(options.path)
        self._family = Family(self._path, options.rotated)
        self._open: _Open | None = None
        self._before: _Open | None = None
        """The file before, until it is sure that the open one follows it."""
        self._sure = True
        self._begun = False
        self._after = None if after is None else self._checked(after)
        if after is None and options.begin == "end":
            self._skip_to_end()

    def _checked(self, after: Place) -> tuple[Identity, int, int]:
        if not isinstance(after, list) or len(after) != 3:
            raise ValueError(f"tail: a position is [file, byte, line], got {after!r:.100}")
        self._begun = True
        return Identity.read(after[0]), after[1], after[2]

    def _find(self, identity: Identity, offset: int, line: int) -> None:
        found = self._family.find(identity, offset)
        if found is not None:
            self._go_to(found, offset, line)
        else:
            place = [str(identity), offset, line]
            where = f"neither {self._path} nor beside it as {self._options.rotated!r}"
            self._lost(f"the file of position {place} is {where}")
        self._after = None

    def _lost(self, what: str) -> None:
        """Fail, or begin where the user wants."""
        gone = self._options.gone
        if gone == "fail":
            raise LookupError(
                f"tail: {what}; what it held behind the position cannot be read; say gone='oldest' to go on with the "
                "oldest file that is there, or gone='active' with the one that is written"
            )
        self._leave()
        there = [each for each in self._family.siblings() if gone == "oldest" or each.path == self._path]
        if there:
            self._go_to_next(None, there[0])
            self._sure = True

    def _skip_to_end(self) -> None:
        """Begin behind the last whole line; the lines before are counted, so that a bad one can be named."""
        self._begun = True
        while self._path.exists():
            line = behind = read = 0
            with self._path.open("rb") as file:
                told = os.fstat(file.fileno())
                while chunk := file.read(1024 * 1024):
                    line += chunk.count(b"\n")
                    cut = chunk.rfind(b"\n")
                    behind = behind if cut < 0 else read + cut + 1
                    read += len(chunk)
            with suppress(FileNotFoundError):  # rotated meanwhile: look again
                return self._go_to(Sibling(self._path, told.st_ino, read, told.st_mtime_ns), behind, line)
        return None

    def _go_to(self, sibling: Sibling, offset: int, line: int) -> None:
        if not sibling.holds(offset):
            offset = sibling.size  # more was read of it than its copy has
        form, dead = self._options.form, self._options.dead
        opened = open_lines(sibling.path, form.parser(), dead, offset, line, sibling.inode)
        self._leave()
        self._open = _Open(sibling, opened, _head_of(opened, min(HEAD, offset)))

    def _leave(self) -> None:
        left, self._open, self._before, self._sure = (self._open, self._before), None, None, True
        for each in left:
            if each is not None:
                each.close()

    def next(self) -> Sequence[tuple[Place, Any]] | None:
        """Return the lines that are there, if any."""
        try:
            return self._next()
        except FileNotFoundError:
            return []  # renamed between being seen and being opened: look again

    def _next(self) -> Sequence[tuple[Place, Any]]:
        if self._after is not None:
            self._find(*self._after)
        if self._open is None and not self._start():
            return []
        while (opened := self._open) is not None:
            found = self._more(opened)
            if found:
                return found
            if self._open is not opened:
                continue  # it was cut off
            successor = self._successor(opened)
            if successor is None:
                return []
            # The writer has gone on to a newer file, so what the old one holds now is all that it will.
            found = self._more(opened)
            if found:
                return found
            if self._open is not opened:
                continue
            rest = self._go_on(opened, successor)
            if rest:
                return rest
        return []

    def _go_on(self, opened: _Open, successor: Sibling) -> Sequence[tuple[Place, Any]]:
        """Go to the next file, and return the last line of the old one if that has no end."""
        lines = opened.lines
        if successor.path == self._path and self._replaces(successor, opened):
            self._go_to(successor, lines.offset, lines.line)
            return []
        rest = opened.take(b"", last=True)
        try:
            self._go_to_next(opened, successor)
        except FileNotFoundError:
            if not rest:
                raise
        return rest

    def _go_to_next(self, before: _Open | None, sibling: Sibling) -> None:
        """Open a file at its beginning; the one before stays open until it is sure that this one follows it."""
        form, dead = self._options.form, self._options.dead
        lines = open_lines(sibling.path, form.parser(), dead, 0, 0, sibling.inode)
        self._open, self._before, self._sure = _Open(sibling, lines, b""), before, False

    def _go_back(self) -> None:
        """Leave a file of which nothing was given yet for the one before."""
        opened, self._open, self._before, self._sure = self._open, self._before, None, True
        if opened is not None:
            opened.close()

    def _follows(self, opened: _Open) -> bool:
        """Tell whether the file whose first bytes were read is the one to read now; if it is not, leave it.

        It may have been copied and cut off between being opened and being read: its copy is there then, and is next.
        """
        if self._sure:
            return True
        expected = self._first() if self._before is None else self._successor(self._before)
        if expected is None or expected.inode != opened.inode:
            self._go_back()
            return False
        before, self._before, self._sure = self._before, None, True
        if before is not None:
            before.close()
        return True

    def _replaces(self, successor: Sibling, opened: _Open) -> bool:
        """Tell whether a file has all that was read of another, as one has that an editor has saved."""
        identity = opened.identity
        return identity.count > 0 and successor.holds(opened.lines.offset) and identity.begins(successor.path)

    def _start(self) -> bool:
        """Open the first file, once there is one."""
        first = self._first() if self._path.parent.is_dir() else None
        if first is not None:
            self._go_to_next(None, first)
        return first is not None

    def _first(self) -> Sibling | None:
        """Return the file to begin with, once something is in it."""
        there = self._family.siblings()
        if self._begun or self._options.begin == "active":
            there = [each for each in there if each.path == self._path]
        return self._ready(there)

    def _ready(self, there: list[Sibling]) -> Sibling | None:
        """Return the first file with something in it, unless it is a copy under way of the last."""
        found = next((each for each in there if each.size), None)
        return None if found is None or self._family.being_copied(found) else found

    def _more(self, opened: _Open) -> Sequence[tuple[Place, Any]]:
        """Read on to the next lines; a file that was cut off is left for its copy."""
        while True:
            chunk = opened.read()
            if chunk is None:
                self._go_to_copy(opened)
                return []
            if not chunk or not self._follows(opened):
                return []
            found = opened.take(chunk)
            if found:
                return found

    def _go_to_copy(self, opened: _Open) -> None:
        if not self._sure:
            self._go_back()
            return
        lines, identity = opened.lines, opened.identity
        found = self._family.find(identity, lines.offset)
        if found is not None and found.inode != opened.inode:
            self._go_to(found, lines.offset, lines.line)
        else:
            self._lost(f"{lines.path} was cut off, and no copy with its first {identity.count} bytes is beside it")

    def _successor(self, opened: _Open) -> Sibling | None:
        """Return the file that was written behind this one, once something is in it or in a later one."""
        try:
            if opened.plain and self._path.stat().st_ino == opened.inode:
                return None
        except FileNotFoundError:
            pass
        there = self._family.siblings()
        return self._ready(there[self._index(there, opened) + 1 :])

    def _index(self, there: list[Sibling], opened: _Open) -> int:
        """Find a file among its siblings; one that is gone is found by what it was, or by its age."""
        for number, each in enumerate(there):
            if each.inode == opened.inode:
                return number
        identity = opened.identity
        if identity.count:
            for number, each in enumerate(there):
                if each.path != self._path and each.holds(opened.lines.offset) and identity.begins(each.path):
                    return number
        changed = os.fstat(opened.lines.file.fileno()).st_mtime_ns if opened.plain else 0
        return max((number for number, each in enumerate(there) if each.changed < changed), default=-1)

    def close(self) -> None:
        """Close the file."""
        self._leave()


__all__ = ["OpenTail", "Tail"]
