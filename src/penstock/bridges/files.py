"""files: lines and chunks of files, and files to write to.

A file carries text or bytes and its end. It carries no failure, no demand and no cancel: a writer that fails leaves
what it has written, and only a pipe makes one side wait for the other.
"""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, AnyStr, overload

from penstock.bridges.shared.pouring import pour
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.flow import Sink
from penstock.stage import Again, LoopGate, Opener, Source
from penstock.stream import Stream

Given = str | os.PathLike[str] | IO[AnyStr] | Callable[[], IO[AnyStr]]
"""A path, opened as text in UTF-8; a file that is open, and stays so; or a function that opens one for each run."""


def _file_given(operator: str, file: object, method: str) -> None:
    opens = isinstance(file, str | os.PathLike) or callable(file)
    if not opens and not callable(getattr(file, method, None)):
        raise TypeError(f"{operator}: file must be a path, an open file or a function that opens one, got {file!r}")


def _opened(file: Any, mode: str) -> tuple[Any, bool]:
    """Return the file, and whether it is ours to close."""
    if isinstance(file, str | os.PathLike):
        return open(file, mode, encoding="utf-8", newline=""), True  # noqa: PTH123  closed by the run
    return (file(), True) if callable(file) else (file, False)


@dataclass(frozen=True, slots=True)
class FromFile(Source[Any]):
    """A source that emits the lines or chunks of a file; see `from_file`."""

    file: Any
    size: int | None

    @property
    def again(self) -> Again:
        """Read a path again; a file that is open, or opened by a function, may be anything."""
        return Again.SAME if isinstance(self.file, str | os.PathLike) else Again.UNSAID

    def opener(self) -> Opener[Any]:
        """Read where elements are asked for."""
        return self._open

    def _open(self, _: LoopGate | None) -> Iterator[Any]:
        file, ours = _opened(self.file, "r")
        try:
            if self.size is None:
                for line in file:  # noqa: UP028  `yield from` would close it as well
                    yield line
            else:
                while chunk := file.read(self.size):
                    yield chunk
        finally:
            if ours:
                file.close()


@overload
def from_file(file: str | os.PathLike[str], *, size: int | None = None) -> Stream[str]: ...
@overload
def from_file(file: IO[AnyStr] | Callable[[], IO[AnyStr]], *, size: int | None = None) -> Stream[AnyStr]: ...
def from_file(file: Any, *, size: int | None = None) -> Stream[Any]:
    r"""Emit the lines of a file with their ends, or chunks of at most `size` characters or bytes.

    A path is opened for each subscriber, as text in UTF-8 with its line ends kept; a function opens what it likes,
    bytes too; either is closed when the run is over. A file that is open is read from where it stands and left open.
    Emits when downstream asks, in the thread that asks: put `subscribe_on(thread())` behind what may make it wait.
    Backpressures by not reading. Completes at the end of the file. Cancels by closing; a read under way is waited for.

    >>> from io import StringIO
    >>> list(from_file(StringIO("one\ntwo\n")))
    ['one\n', 'two\n']
    """
    _file_given("from_file", file, "read")
    if size is not None:
        count_given("from_file", "size", size, 1)
    return Stream(Chain(FromFile(file, size)))


class _FileBasin:
    """A basin that writes elements to a file, which is closed once no write is under way."""

    __slots__ = ("_file", "_lock", "_ours", "_over", "_writing")

    def __init__(self, file: Any) -> None:
        self._file, self._ours = _opened(file, "w")
        self._lock = threading.Lock()
        self._writing = False
        self._over = False

    def put(self, element: Any, /) -> bool:
        with self._lock:
            if self._over:
                return False
            self._writing = True
        try:
            self._write(element)
        finally:
            with self._lock:
                self._writing = False
                over = self._over
            if over:
                self._close()
        return not over

    def _write(self, element: Any) -> None:
        """Write all of it: a file without a buffer may take a part."""
        while True:
            written = self._file.write(element)
            if written is None and isinstance(self._file, io.RawIOBase):
                raise BlockingIOError(errno.EAGAIN, "to_file: the file does not block and has no room")
            if written is None or written >= len(element):
                return
            if written <= 0:
                raise OSError(errno.EIO, f"to_file: the file took {written} of {len(element)}")
            element = element[written:]

    def end(self, error: Exception | None, /) -> None:
        if self._ours:
            self._close()
        else:
            self._file.flush()

    def left(self) -> None:
        with self._lock:
            over, self._over = self._over, True
            writing = self._writing
        if not over and not writing:
            self._close()

    def _close(self) -> None:
        if self._ours:
            self._file.close()


def to_file(file: Given[Any]) -> Sink[Any, int]:
    r"""Write elements to a file as they are, text or bytes; the result is how many.

    A path is opened anew for each run, as text in UTF-8 with line ends as they come; a function opens what it likes;
    either is closed when the run is over. A file that is open is flushed at the end and left open. Asks for the next
    element when one was written, 16 ahead, and writes in a separate thread. Cancels by closing, which writes out what
    is buffered; a write under way is not waited for. A file carries no failure: what was written stays, and the run
    fails.

    >>> from io import StringIO
    >>> from penstock import Stream
    >>> text = StringIO()
    >>> (Stream.just("one\n", "two\n") | to_file(text)).run().wait(), text.getvalue()
    (2, 'one\ntwo\n')
    """
    _file_given("to_file", file, "write")
    return pour(lambda: _FileBasin(file))


__all__ = ["from_file", "to_file"]
