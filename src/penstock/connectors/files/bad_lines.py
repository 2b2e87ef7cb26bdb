"""bad_lines: what becomes of a line that cannot be read as what it should be."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no element: where it stands, what it holds and why it was refused."""

    path: str
    """The file, as it was called when it was read."""
    line: int
    """The number of the line, from 1 on."""
    offset: int
    """The byte, of the uncompressed file, at which the line begins."""
    data: bytes
    """The line as it is, without its end."""
    reason: str
    """What is wrong with it."""
    whole: bool = True
    """Whether it was read to its end, so that it can be put aside and those behind it be read."""

    def __str__(self) -> str:
        return f"{self.path}, line {self.line} (byte {self.offset}): {self.reason}: {self.data!r:.100}"


class BadLineError(PenstockError):
    """The error of a stream that came upon a bad line; `bad` is the line."""

    def __init__(self, bad: BadLine) -> None:
        aside = "or say dead= to have such lines put aside"
        longer = "or cut it: what has no end is not read, so that it cannot be put aside either"
        super().__init__(f"{bad}; mend the line, {aside if bad.whole else longer}")
        self.bad = bad

    def __reduce__(self) -> tuple[type[BadLineError], tuple[BadLine]]:
        return (type(self), (self.bad,))


Dead = Callable[[BadLine], object]
"""What is called with each bad line, which is then left out."""


@dataclass(frozen=True, slots=True)
class DeadLines:
    """A file of JSON lines to which bad lines are added, each on the disk before the stream goes on.

    A run that is killed may add a line again: a dead letter is there at least once.

    >>> import tempfile
    >>> kept = Path(tempfile.mkdtemp()) / "dead.jsonl"
    >>> DeadLines(kept)(BadLine("a.jsonl", 3, 40, b"{", "no JSON"))
    >>> json.loads(kept.read_text())["line"]
    3
    """

    path: str | os.PathLike[str]

    def __call__(self, bad: BadLine) -> None:
        text = bad.data.decode("utf-8", "backslashreplace")
        letter = {"path": bad.path, "line": bad.line, "offset": bad.offset, "reason": bad.reason, "text": text}
        with Path(self.path).open("ab") as file:
            file.write(json.dumps(letter).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


__all__ = ["BadLine", "BadLineError", "Dead", "DeadLines"]
