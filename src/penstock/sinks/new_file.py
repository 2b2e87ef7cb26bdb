"""new_file: write a file beside the one that it is to be, and put it in its place when it is whole."""

from __future__ import annotations

import errno
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

from penstock.sinks.part_file import PartFile

Form = Literal["lines", "bytes"]


class NewFile:
    """A basin that writes to a file with another name, which takes its own when the stream has completed.

    Whatever else happens, a failure or a cancel, the file that was there before stays as it was, and what was written
    is removed.
    """

    __slots__ = ("_file", "_form", "_lock", "_new", "_over", "_writing")
    holds: ClassVar[bool] = True  # nothing that it has taken is there before the end

    def __init__(self, path: Path, form: Form, encoding: str) -> None:
        self._form = form
        self._new = PartFile(path)
        lines = form == "lines"
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "to_file: this is a folder", str(path))
        try:
            self._file: IO[Any] = self._new.part.open(
                "x" if lines else "xb", encoding=encoding if lines else None, newline="" if lines else None
            )
        except FileNotFoundError as error:  # it names the part file
            raise FileNotFoundError(error.errno, "to_file: there is no such folder", str(path.parent)) from None
        self._lock = threading.Lock()
        self._writing = self._over = False

    def put(self, element: Any, /) -> bool:
        """Write an element; a line gets its end if it has none."""
        written = self._whole(element)
        with self._lock:
            if self._over:
                return False
            self._writing = True
        try:
            self._file.write(written)
        finally:
            with self._lock:
                self._writing = False
                over = self._over
            if over:
                self._remove()
        return not over

    def _whole(self, element: Any) -> Any:
        if self._form == "bytes":
            if not isinstance(element, bytes | bytearray | memoryview):
                raise TypeError(f"to_file: bytes are written, got {element!r}; say form='lines' for text")
            return element
        if not isinstance(element, str):
            raise TypeError(f"to_file: lines of text are written, got {element!r}; put map(str) before it")
        return element if element.endswith("\n") else f"{element}\n"

    def end(self, error: Exception | None, /) -> None:
        """Put the file in its place, if the stream has completed."""
        if error is not None:
            return  # `left` removes it
        self._new.seal(self._file)
        with self._lock:
            if self._over:
                return  # cancelled meanwhile
            self._over = True
            self._new.place()

    def left(self) -> None:
        """Remove what was written, unless it is in its place."""
        with self._lock:
            over, self._over = self._over, True
            writing = self._writing
        if not over and not writing:
            self._remove()

    def _remove(self) -> None:
        self._file.close()
        self._new.remove()


@dataclass(frozen=True, slots=True)
class MakeNewFile:
    """What a new file of each run is made by; a value, as all that a chain is made of."""

    path: Path
    form: Form
    encoding: str
    holds: ClassVar[bool] = NewFile.holds

    def __call__(self) -> NewFile:
        return NewFile(self.path, self.form, self.encoding)


__all__ = ["Form", "MakeNewFile"]
