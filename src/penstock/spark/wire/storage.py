"""storage: the folders that outlive a driver, for checkpoints, spools and ledgers, and the ones of this machine.

A file appears whole or not at all, it is never changed, and it is as safe as the folder's kind can make it when `write`
returns.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.errors import PenstockError

UNFINISHED = ".new"
"""What the name of a file ends with that is not yet whole."""
_LOCK = "lock"


class StorageError(PenstockError):
    """The error that a folder cannot be used; `reason` says why, without its name."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


class FolderBusy(StorageError):
    """The error that another run uses a folder."""


class Claim(Protocol):
    """The right to write to a folder, which one run at a time has."""

    @property
    def number(self) -> int | None:
        """Return the claim's number where claims replace each other, which a file's name must tell; else None."""
        ...

    def check(self) -> None:
        """Raise FolderBusy if another run has the folder now."""
        ...

    def release(self) -> None:
        """Let another run have the folder."""
        ...


@runtime_checkable
class Folder(Protocol):
    """A folder of files that appear whole or not at all."""

    @property
    def location(self) -> str:
        """Return what Spark is to be told."""
        ...

    def __truediv__(self, name: str, /) -> Folder:
        """Return a folder within this one."""
        ...

    def make(self) -> None:
        """Make sure that there is such a folder."""
        ...

    def names(self) -> list[str]:
        """Return the names of what is in the folder, sorted."""
        ...

    def read(self, name: str, /) -> pa.Buffer:
        """Return what a file holds."""
        ...

    def write(self, name: str, data: Any, /) -> None:
        """Let a file appear; it is safe when this returns."""
        ...

    def delete(self, name: str, /) -> None:
        """Remove a file, if it is there."""
        ...

    def claim(self) -> Claim:
        """Take the right to write to the folder, or raise FolderBusy."""
        ...


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder of this machine; what is written is forced to its disk."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def location(self) -> str:
        """Return the folder as a URI, since to Spark a plain path may mean another file system."""
        return f"file://{self.path.absolute()}"  # as Hadoop writes it, in which % is a letter like others

    def __truediv__(self, name: str, /) -> LocalFolder:
        return LocalFolder(self.path / name)

    def make(self) -> None:
        """Make the folder and those above it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _failed(self, error) from error

    def names(self) -> list[str]:
        """Return the names of what is in the folder, sorted."""
        try:
            return sorted(path.name for path in self.path.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _failed(self, error) from error

    def read(self, name: str, /) -> pa.Buffer:
        """Map a file into memory."""
        try:
            if not (self.path / name).stat().st_size:
                return pa.py_buffer(b"")
            with pa.memory_map(str(self.path / name)) as file:
                return file.read_buffer()
        except OSError as error:
            raise _failed(self.path / name, error) from error

    def write(self, name: str, data: Any, /) -> None:
        """Write under another name, force it to disk, rename it, and force the folder to disk."""
        fresh = self.path / f"{name}{UNFINISHED}"
        try:
            with fresh.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.rename(self.path / name)
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise _failed(self.path / name, error) from error

    def delete(self, name: str, /) -> None:
        """Remove a file, if it is there."""
        try:
            (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise _failed(self.path / name, error) from error

    def claim(self) -> Claim:
        """Lock the folder as long as this process lives and does not let go of it."""
        try:
            lock = (self.path / _LOCK).open("w")
        except OSError as error:
            raise _failed(self, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise FolderBusy(f"{self} is in use by another stream") from error
        return _Lock(lock)


@dataclass(frozen=True, slots=True)
class _Lock:
    """A lock of the kernel, which goes with the process."""

    file: TextIOWrapper
    number: int | None = None

    def check(self) -> None:
        """Do nothing: no other run can have it."""

    def release(self) -> None:
        self.file.close()


def _failed(where: object, error: OSError) -> StorageError:
    reason = error.strerror or str(error)
    return StorageError(f"{where}: {reason}", reason)


__all__ = ["UNFINISHED", "Claim", "Folder", "FolderBusy", "LocalFolder", "StorageError"]
