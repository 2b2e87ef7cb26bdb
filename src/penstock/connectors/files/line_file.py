"""line_file: an open file cut into lines, each with the place behind it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, overload

from penstock.connectors.files.bad_lines import BadLine, BadLineError, Dead
from penstock.connectors.files.compression import compressed, open_plain, read_errors
from penstock.connectors.files.forms import LONGEST, LineParser, Place
from penstock.operators.resumable import Positioned

CHUNK = 64 * 1024
"""How many bytes are read at a time, and so how far a source of lines reads ahead of demand."""


class _Ends:
    """The byte behind each line of a block, and before the first; counted when one in the middle is asked for."""

    __slots__ = ("_begin", "_counted", "_end", "_lines")

    def __init__(self, lines: list[bytes], begin: int, end: int) -> None:
        self._lines = lines
        self._begin = begin
        self._end = end
        self._counted: list[int] | None = None

    def __getitem__(self, number: int) -> int:
        if number == len(self._lines):
            return self._end  # a run that keeps pace asks for no other
        if self._counted is None:
            self._counted = list(accumulate(map((1).__add__, map(len, self._lines)), initial=self._begin))
        return self._counted[number]


class LinePlaces(Sequence[Place]):
    """The places behind the elements of a block of lines, each made when it is asked for."""

    __slots__ = ("_behind", "_ends", "_first", "_key")

    def __init__(self, key: str, first: int, ends: _Ends, behind: Sequence[int]) -> None:
        self._key = key
        self._first = first
        self._ends = ends
        self._behind = behind

    def __len__(self) -> int:
        return len(self._behind)

    def __iter__(self) -> Iterator[Place]:
        key, first, ends = self._key, self._first, self._ends
        return iter([[key, ends[n], first + n] for n in self._behind])

    @overload
    def __getitem__(self, at: int) -> Place: ...
    @overload
    def __getitem__(self, at: slice) -> LinePlaces: ...
    def __getitem__(self, at: int | slice) -> Place | LinePlaces:
        if isinstance(at, slice):
            return LinePlaces(self._key, self._first, self._ends, self._behind[at])
        n = self._behind[at]
        return [self._key, self._ends[n], self._first + n]


class LineFile:
    """A file of lines that is read from a byte on; what of it was read and gave no whole line yet waits here."""

    def __init__(
        self, path: Path, file: BinaryIO, parser: LineParser, dead: Dead | None, *, offset: int = 0, line: int = 0
    ) -> None:
        self.path = path
        self.file = file
        self.offset = offset
        """The byte behind the last line that was read as an element."""
        self.line = line
        self._parser = parser
        self._dead = dead
        self._rest: list[bytes] = []
        self._held = 0
        self._error: BadLineError | None = None

    @property
    def read_to(self) -> int:
        """Return the byte behind everything that was read."""
        return self.offset + self._held

    def forget(self) -> None:
        """Let go of what gave no element yet."""
        self._rest, self._held = [], 0

    def take(
        self, chunk: bytes, key: Callable[[list[int]], list[str]] | str, *, last: bool = False
    ) -> Sequence[tuple[Place, Any]]:
        """Return what is whole with a chunk more; with the last one, all."""
        if self._error is not None:
            raise self._error
        if not last and b"\n" not in chunk:
            self._hold(chunk)
            return []
        data = b"".join((*self._rest, chunk))
        self.forget()
        cut = len(data) if last else data.rfind(b"\n") + 1
        lines = data[:cut].split(b"\n")
        if not lines[-1]:
            lines.pop()  # else it is the last line of a file, without an end
        if cut < len(data):
            self._hold(data[cut:])
        ends = _Ends(lines, self.offset, self.offset + cut)
        parsed = self._parser.parse(lines, last=last)
        if parsed.used < len(lines):
            begun = data[ends[parsed.used] - self.offset : cut]
            rest, self._rest, self._held = self._rest, [], 0
            self._hold(begun)
            for each in rest:
                self._hold(each)
        count = len(parsed.elements)
        if parsed.bad:
            count = self._aside(parsed.bad, parsed.lines, lines, ends)
        first = self.line
        elements, behind = parsed.elements[:count], parsed.lines[:count]
        used = parsed.used if self._error is None else (behind[-1] if behind else 0)
        self.offset, self.line = ends[used], first + used
        if self._error is not None and not elements:
            raise self._error
        if isinstance(key, str):
            return Positioned(elements, LinePlaces(key, first, ends, behind))
        keys = key([ends[n] for n in behind])
        places = [[each, ends[n], first + n] for each, n in zip(keys, behind, strict=True)]
        return Positioned(elements, places)

    def _hold(self, data: bytes) -> None:
        self._rest.append(data)
        self._held += len(data)
        if self._held > LONGEST:
            start = b"".join(self._rest)[:100]
            reason = f"is longer than {LONGEST} bytes"
            raise BadLineError(BadLine(str(self.path), self.line + 1, self.offset, start, reason, whole=False))

    def _aside(self, bad: Any, behind: Any, lines: list[bytes], ends: _Ends) -> int:
        """Put bad lines aside, or find out how many elements come before the first."""
        for first, end, reason in bad:
            found = BadLine(str(self.path), self.line + first + 1, ends[first], b"\n".join(lines[first:end]), reason)
            if self._dead is None:
                self._error = BadLineError(found)
                return sum(n <= first for n in behind)
            self._dead(found)
        return len(behind)


class LineBlocks:
    """A whole file of lines."""

    def __init__(self, path: Path, key: str, after: Place | None, parser: LineParser, dead: Dead | None) -> None:
        self._key = key
        self._over = False
        self._lines = open_lines(path, parser, dead, *(after[1:] if after else (0, 0)))

    def next(self) -> Sequence[tuple[Place, Any]] | None:
        """Return the elements of the next chunk that has some."""
        found: Sequence[tuple[Place, Any]] = ()
        while not found and not self._over:
            chunk = read_chunk(self._lines)
            self._over = not chunk
            found = self._lines.take(chunk, self._key, last=self._over)
        return found or None

    def close(self) -> None:
        """Close the file."""
        self._lines.file.close()


def read_chunk(lines: LineFile) -> bytes:
    """Read a chunk, and say so clearly if the file is cut off."""
    try:
        return lines.file.read(CHUNK)
    except read_errors() as error:
        raise OSError(
            f"files: {lines.path} is damaged behind line {lines.line} (byte {lines.offset} of what it holds): {error}"
        ) from error


def open_lines(
    path: Path, parser: LineParser, dead: Dead | None, offset: int, line: int, inode: int | None = None
) -> LineFile:
    """Open a file behind a line; of a compressed one, all that comes before is read for it.

    Where an inode is given, a file that has another one is taken for one that is not there.
    """
    with ExitStack() as undo:
        file = undo.enter_context(_opened(path, inode))
        if offset:
            parser.begin(_first_lines(LineFile(path, file, parser, dead)))
            if compressed(path):
                undo.close()
                file = undo.enter_context(_opened(path, inode))
        opened = LineFile(path, file, parser, dead, offset=offset, line=line)
        if offset:
            _skip(opened)
        undo.pop_all()
    return opened


def _opened(path: Path, inode: int | None) -> BinaryIO:
    file = open_plain(path)
    if inode is not None and os.fstat(file.fileno()).st_ino != inode:
        file.close()
        raise FileNotFoundError(errno.ENOENT, "renamed meanwhile", str(path))
    return file


def _first_lines(opened: LineFile) -> list[bytes]:
    data = chunk = read_chunk(opened)
    while chunk and b"\n" not in data and len(data) < LONGEST:
        chunk = read_chunk(opened)
        data += chunk
    return data.split(b"\n")[:-1] or [data]


def _skip(opened: LineFile) -> None:
    path, file, offset = opened.path, opened.file, opened.offset
    if not compressed(path):
        size = file.seek(0, 2)
        if size < offset:
            raise _shorter(path, size, offset)
        file.seek(offset)
        return
    read = 0
    while read < offset:
        chunk = file.read(min(CHUNK, offset - read))
        if not chunk:
            raise _shorter(path, read, offset)
        read += len(chunk)


def _shorter(path: Path, size: int, offset: int) -> ValueError:
    return ValueError(
        f"files: the position is behind byte {offset} of {path}, which has {size} now; it was replaced or cut since"
    )


__all__ = ["CHUNK", "LineBlocks", "LineFile", "open_lines", "read_chunk"]
