"""part_file: a file that is written under another name, and takes its own when it is whole and on the disk."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from pathlib import Path
from typing import IO, Any


class PartFile:
    """A name beside the one that a file is to have: `.NAME.*.part`.

    The file appears under its own name whole, or not at all, whatever happens to the process or to the machine: what
    was written is on the disk before the file is renamed, and the renaming is before `place` returns.
    """

    __slots__ = ("part", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")

    def seal(self, file: IO[Any]) -> None:
        """Bring what was written to the disk, close the file, and give it the rights of the one that it replaces."""
        file.flush()
        os.fsync(file.fileno())
        file.close()
        if self.path.exists():
            shutil.copymode(self.path, self.part)

    def place(self) -> None:
        """Give the file its name, in the place of one that is there."""
        self.part.replace(self.path)
        sync_folder(self.path.parent)

    def place_new(self, path: Path) -> None:
        """Give the file another name than was planned, and raise FileExistsError if one is there."""
        try:
            os.link(self.part, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if path.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            self.part.rename(path)
        self.remove()
        sync_folder(path.parent)

    def remove(self) -> None:
        """Remove what was written."""
        self.part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Bring the names of a folder to the disk."""
    if os.name == "nt":
        return  # where a folder cannot be opened, and renaming is in the journal of the file system
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Put these bytes into a file that is there whole, or not at all.

    Args:
        path: Where the file is to be; one that is there is replaced.
        data: All that it is to hold.
    """
    new = PartFile(path)
    try:
        with new.part.open("xb") as file:
            file.write(data)
            new.seal(file)
        new.place()
    finally:
        new.remove()


__all__ = ["PartFile", "sync_folder", "write_whole"]
