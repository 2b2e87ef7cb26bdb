"""api: the functions that users call to read and write files."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar, overload

from penstock.connectors.files.bad_lines import Dead
from penstock.connectors.files.folder import Late, OpenFolder, Order
from penstock.connectors.files.forms import FileForm, LineForm, SheetForm
from penstock.connectors.files.numbered import NumberedPaths
from penstock.connectors.files.roll import OpenRoll
from penstock.connectors.files.tail import Begin, Gone, OpenTail
from penstock.connectors.files.text_forms import Lines
from penstock.connectors.files.whole import OpenWhole
from penstock.connectors.reading import reading
from penstock.connectors.writing import SIZE, writing
from penstock.engine.words.arguments import count_given, function_given
from penstock.sinks.sink import Sink
from penstock.stream import Stream

T = TypeVar("T")
AnyPath = str | os.PathLike[str]

LINES = Lines()
POLL = 0.1
"""How many seconds pass between two looks at what may have grown."""
WINDOW = 100_000
"""How many elements may not be done at a time: they cost a position each, and no server."""


@overload
def read(path: AnyPath, *, dead: Dead | None = None, window: int = WINDOW) -> Stream[str]: ...
@overload
def read(path: AnyPath, form: FileForm[T], *, dead: Dead | None = None, window: int = WINDOW) -> Stream[T]: ...
def read(path: AnyPath, form: FileForm[Any] = LINES, *, dead: Dead | None = None, window: int = WINDOW) -> Stream[Any]:
    r"""Emit what a file holds, which is whole and stays as it is; a resumable stream.

    The position of an element is the byte and the number of its line, or its row group and row. Backpressures by
    reading no more than 64 KiB, or 1,024 rows, ahead of demand.

    Args:
        path: The file; one that ends with `.gz` or `.zst` is compressed.
        form: What it is made of: `Lines()`, `JsonLines()`, `Csv()`, `Parquet()` or `ParquetGroups()`.
        dead: Called with each `BadLine`, which is then left out; without it the stream fails with `BadLineError`.
        window: How many elements of a run may not be done at a time; more than a file of `roll` holds, behind which
            they are done.

    Raises:
        TypeError: An argument is none of what is said here.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "words"
    >>> path.write_text("one\ntwo\n")
    8
    >>> list(read(path))
    ['one', 'two']
    """
    _form_given("read", form, "blocks")
    return reading(OpenWhole(_path("read", "path", path), form, _dead("read", dead)), window=window, notes=False)


@overload
def tail(
    path: AnyPath,
    *,
    begin: Begin = "active",
    rotated: str | None = None,
    gone: Gone = "fail",
    dead: Dead | None = None,
    window: int = WINDOW,
    poll: float = POLL,
) -> Stream[str]: ...
@overload
def tail(
    path: AnyPath,
    form: LineForm[T],
    *,
    begin: Begin = "active",
    rotated: str | None = None,
    gone: Gone = "fail",
    dead: Dead | None = None,
    window: int = WINDOW,
    poll: float = POLL,
) -> Stream[T]: ...
def tail(
    path: AnyPath,
    form: LineForm[Any] = LINES,
    *,
    begin: Begin = "active",
    rotated: str | None = None,
    gone: Gone = "fail",
    dead: Dead | None = None,
    window: int = WINDOW,
    poll: float = POLL,
) -> Stream[Any]:
    """Emit the lines of a file that grows, through every rotation, without an end; a resumable stream.

    The file may be renamed and begun anew, or copied and cut off; the files that it was before are read to their ends
    first, compressed ones too. A position is what a file is known by (its inode and first bytes), a byte and the number
    of a line. Backpressures by reading no more than 64 KiB ahead of demand. A file that is not there is waited for.

    Args:
        path: The file that is written.
        form: What it is made of: `Lines()`, `JsonLines()` or `Csv()`.
        begin: Where the first run begins: with the `"oldest"` file that is there, with the one that is `"active"`, or
            behind its `"end"`.
        rotated: A pattern of the names that the file gets when it is rotated, beside it; `NAME[.-]*` if not said.
        gone: What to do when the file of a position is gone, or was cut off without a copy: `"fail"`, or go on with the
            `"oldest"` file that is there (which may repeat) or with the `"active"` one (which may leave out).
        dead: Called with each `BadLine`, which is then left out; without it the stream fails with `BadLineError`.
        window: How many elements of a run may not be done at a time; more than a file of `roll` holds, behind which
            they are done.
        poll: How many seconds pass between two looks at a file that has not grown.

    Raises:
        TypeError: An argument is none of what is said here.
        ValueError: `begin` or `gone` is none of these words, or `poll` is not above 0.
    """
    _form_given("tail", form, "parser")
    _word_given("tail", "begin", begin, ("oldest", "active", "end"))
    _word_given("tail", "gone", gone, ("fail", "oldest", "active"))
    _seconds_given("tail", "poll", poll)
    where = _path("tail", "path", path)
    pattern = f"{_literal(Path(where).name)}[.-]*" if rotated is None else rotated
    return reading(OpenTail(where, form, begin, pattern, gone, _dead("tail", dead), poll), window=window, notes=False)


@overload
def folder(
    path: AnyPath,
    *,
    pattern: str = "*",
    order: Order = "name",
    late: Late = "fail",
    follow: bool = True,
    dead: Dead | None = None,
    window: int = WINDOW,
    poll: float = POLL,
) -> Stream[str]: ...
@overload
def folder(
    path: AnyPath,
    form: FileForm[T],
    *,
    pattern: str = "*",
    order: Order = "name",
    late: Late = "fail",
    follow: bool = True,
    dead: Dead | None = None,
    window: int = WINDOW,
    poll: float = POLL,
) -> Stream[T]: ...
def folder(
    path: AnyPath,
    form: FileForm[Any] = LINES,
    *,
    pattern: str = "*",
    order: Order = "name",
    late: Late = "fail",
    follow: bool = True,
    dead: Dead | None = None,
    window: int = WINDOW,
    poll: float = POLL,
) -> Stream[Any]:
    """Emit what the files of a folder hold, one file after another, and those that appear; a resumable stream.

    A file counts when it is there under its name, so it must be renamed into the folder when it is whole. Names that
    begin with a dot or end with `.part`, `.tmp`, `.temp`, `.swp`, `.crdownload` or `~` are left out. A position is the
    name of a file and a place in it. Backpressures by reading no more than 64 KiB, or 1,024 rows, ahead of demand. The
    names that are in the folder are held.

    Args:
        path: The folder, which must be there.
        form: What the files are made of: `Lines()`, `JsonLines()`, `Csv()`, `Parquet()` or `ParquetGroups()`; those
            that end with `.gz` or `.zst` are compressed.
        pattern: Which names count, as `*.jsonl`.
        order: Files come by `"name"`, or by the `"time"` of their last change and then by name.
        late: What to do about a file that appears before one that was read: `"fail"` with `LateFileError`, or `"skip"`.
        follow: Whether files that appear later are waited for; without it the stream ends with the last file.
        dead: Called with each `BadLine`, which is then left out; without it the stream fails with `BadLineError`.
        window: How many elements of a run may not be done at a time; more than a file of `roll` holds, behind which
            they are done.
        poll: How many seconds pass between two looks at a folder in which nothing is new.

    Raises:
        TypeError: An argument is none of what is said here.
        ValueError: `order` or `late` is none of these words, or `poll` is not above 0.

    >>> import tempfile
    >>> inbox = Path(tempfile.mkdtemp())
    >>> for name, text in ("b.txt", "3"), ("a.txt", "1 2"):
    ...     _ = (inbox / name).write_text(text.replace(" ", chr(10)))
    >>> list(folder(inbox, pattern="*.txt", follow=False))
    ['1', '2', '3']
    """
    _form_given("folder", form, "blocks")
    _word_given("folder", "order", order, ("name", "time"))
    _word_given("folder", "late", late, ("fail", "skip"))
    _seconds_given("folder", "poll", poll)
    where, dead = _path("folder", "path", path), _dead("folder", dead)
    return reading(OpenFolder(where, form, pattern, order, late, follow, dead, poll), window=window, notes=False)


def roll(
    path: AnyPath,
    form: SheetForm[T],
    *,
    size: int = 64 * 1024 * 1024,
    rows: int | None = None,
    seconds: float = 10.0,
    once: Callable[[T], Hashable] | None = None,
    back: int = 4,
    batch: int = SIZE,
) -> Sink[T, int]:
    """Write the elements to files, each of which appears whole under its name or not at all; the result is the count.

    An element is done when its file is in its place and on the disk. A file is written beside its place, as
    `.NAME.*.part`, which is removed after a failure or a cancel, and by the next run after a kill. It holds at most two
    batches of elements.

    Args:
        path: The path of the files with a running number in the name, as `out/part-{number:06}.jsonl.gz`; a run goes on
            behind the greatest that is there. `.gz` and `.zst` compress lines and CSV.
        form: What the files are made of: `Lines()`, `JsonLines()`, `Csv()` or `Parquet()`.
        size: How many bytes a file has before the next one is begun; it may be a batch larger.
        rows: How many elements a file has before the next one is begun; it may be a batch larger.
        seconds: How long a file is open at most while elements come, and so how long one may wait to be done; a file is
            finished after 0.5 seconds in which none comes, since the source may be waiting for that.
        once: Gives the key of an element; one whose key is in the last files already is left out, so that what a source
            gives again after a crash is there once. The key must be the same when an element is read back.
        back: In how many files a key is looked for; their keys are held.
        batch: How many elements are written at a time at most; of Parquet, a row group.

    Raises:
        TypeError: An argument is none of what is said here.
        ValueError: `path` has no `{number}`, or a number is too small.

    >>> import tempfile
    >>> out = tempfile.mkdtemp()
    >>> (Stream.just("one", "two", "three") | roll(f"{out}/{{number}}.txt", Lines(), rows=2, batch=2)).run().wait()
    3
    >>> sorted((each.name, each.read_text().split()) for each in Path(out).iterdir())
    [('1.txt', ['one', 'two']), ('2.txt', ['three'])]
    """
    _form_given("roll", form, "sheet")
    count_given("roll", "size", size, 1)
    count_given("roll", "batch", batch, 1)
    count_given("roll", "back", back, 1)
    if rows is not None:
        count_given("roll", "rows", rows, 1)
    _seconds_given("roll", "seconds", seconds)
    if once is not None:
        function_given("roll", "once", once)
        _form_given("roll", form, "blocks")
    names = NumberedPaths(_path("roll", "path", path))
    return writing(OpenRoll(names, form, size, rows, seconds, once, back), size=batch, seconds=min(1.0, seconds))


def _path(function: str, name: str, value: object) -> str:
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{function}: {name} must be a path, got {value!r}")
    return os.fspath(value)


def _dead(function: str, value: Dead | None) -> Dead | None:
    if value is not None:
        function_given(function, "dead", value)
    return value


def _form_given(function: str, value: object, method: str) -> None:
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise TypeError(f"{function}: form must be a form with the method {method}, as Lines() is, got {value!r}")


def _word_given(function: str, name: str, value: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ValueError(f"{function}: {name} must be one of {', '.join(map(repr, words))}, got {value!r}")


def _seconds_given(function: str, name: str, value: float) -> None:
    if not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{function}: {name} must be > 0, got {value!r}")


def _literal(name: str) -> str:
    """Return a pattern that this name alone fits."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in name)


__all__ = ["folder", "read", "roll", "tail"]
