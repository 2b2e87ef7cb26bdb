"""rotation: a log file and the files that it was before, which is which, and in what order they were written.

A file is known by its inode and by its first bytes, of which a position holds how many and their checksum. A file that
was renamed keeps both; a copy of one that was cut off afterwards keeps the first bytes, and so does a compressed one.
The device is no part of it: its number may change when the machine starts anew.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from zlib import crc32

from penstock.connectors.files.compression import ENDINGS, compressed, open_plain, read_errors

HEAD = 1024
"""How many of the first bytes a file is known by."""

COPYING = 2_000_000_000
"""How many nanoseconds a file that looks like a copy under way must be left alone to be taken for another file."""

TEMPORARY = (".part", ".tmp", ".temp", ".swp", ".crdownload", "~")
"""Endings of files that are still written."""


def is_temporary(name: str) -> bool:
    """Tell whether a file is still written, by its name."""
    return name.startswith(".") or name.endswith(TEMPORARY)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a file is known by."""

    inode: int
    count: int
    """How many of the first bytes are known."""
    checksum: int

    @staticmethod
    def of(inode: int, head: bytes) -> Identity:
        """Return the identity of a file with these first bytes."""
        return Identity(inode, len(head), crc32(head))

    @staticmethod
    def read(text: object) -> Identity:
        """Read what `str` has written."""
        found = re.fullmatch(r"([0-9a-f]+)-(\d+)-([0-9a-f]{8})", text) if isinstance(text, str) else None
        if found is None:
            raise ValueError(f"tail: a position begins with the identity of a file, got {text!r:.100}")
        return Identity(int(found[1], 16), int(found[2]), int(found[3], 16))

    def __str__(self) -> str:
        return f"{self.inode:x}-{self.count}-{self.checksum:08x}"

    def begins(self, path: Path) -> bool:
        """Tell whether a file begins with these bytes."""
        try:
            head = first_bytes(path, self.count)
        except OSError:
            return False
        except read_errors():
            return False
        return len(head) == self.count and crc32(head) == self.checksum


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of what a file holds."""
    with open_plain(path) as file:
        return file.read(count)


@dataclass(frozen=True, slots=True)
class Sibling:
    """A file of the family, as it was when the folder was read."""

    path: Path
    inode: int
    size: int
    changed: int

    def holds(self, offset: int) -> bool:
        """Tell whether there may be so many bytes; how much a compressed one holds is not known."""
        return compressed(self.path) or self.size >= offset


@dataclass(frozen=True, slots=True)
class Family:
    """A log file and, beside it, the files that it was before."""

    path: Path
    pattern: str

    def siblings(self) -> list[Sibling]:
        """Return the files, the oldest first and the one that is written last."""
        found = self._siblings()
        while not self._is_still(found):  # in the middle of being renamed
            found = self._siblings()
        return found

    def _is_still(self, found: list[Sibling]) -> bool:
        """Tell whether the files have their names still; how large they are may have changed."""
        return [(each.path, each.inode) for each in found] == [(each.path, each.inode) for each in self._siblings()]

    def _siblings(self) -> list[Sibling]:
        names = [each.name for each in self.path.parent.iterdir() if fnmatchcase(each.name, self.pattern)]
        older = [name for name in names if name != self.path.name and not is_temporary(name)]
        paths = [self.path.with_name(name) for name in sorted(older, key=self._age)]
        plain = {str(path) for path in paths}
        found: list[Sibling] = []
        for path in (*paths, self.path):
            if compressed(path) and str(path.with_suffix("")) in plain:
                continue  # which is being compressed into it
            try:
                told = path.stat()
            except FileNotFoundError:
                continue
            found.append(Sibling(path, told.st_ino, told.st_size, told.st_mtime_ns))
        return found

    def _age(self, name: str) -> tuple[int, str]:
        """Order names: `.2` is older than `.1`, and `-20260101` older than `-20260102`."""
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        rest = name.removeprefix(self.path.name)
        number = re.fullmatch(r"\D?(\d{1,4})", rest)
        return (-int(number[1]), "") if number else (0, rest)

    def find(self, identity: Identity, offset: int) -> Sibling | None:
        """Find the file with an identity: itself if it is there with so many bytes, or else the oldest copy.

        A copy may be shorter: what was read of a file between its being copied and its being cut off is in no other.
        """
        while True:
            there = self.siblings()
            begun = [each for each in there if identity.begins(each.path)]
            long = [each for each in begun if each.holds(offset)]
            same = [each for each in long if each.inode == identity.inode]
            short = [each for each in begun if each.inode != identity.inode and each.path != self.path]
            if self._is_still(there):
                return next(iter((*same, *long, *short)), None)

    def being_copied(self, sibling: Sibling) -> bool:
        """Tell whether a file may be a copy under way of the one that is written, which is going to be cut off then.

        It begins as that one does, and has just been written to. Two files that are the same by chance are found to be
        two once the older has been left alone for a while.
        """
        if compressed(sibling.path) or sibling.path == self.path or time.time_ns() - sibling.changed > COPYING:
            return False
        try:
            head = first_bytes(sibling.path, HEAD)
            return first_bytes(self.path, len(head)) == head
        except FileNotFoundError:
            return False


__all__ = ["HEAD", "Family", "Identity", "Sibling", "first_bytes", "is_temporary"]
