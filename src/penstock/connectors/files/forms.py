"""forms: what a file is made of, for those that read and those that write it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, TypeVar

from penstock.connectors.files.bad_lines import Dead

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

Place = list[Any]
"""A file's key, and two numbers that say where in it: `[key, byte, line]`, or `[key, row group, row]` of Parquet."""

LONGEST = 16 * 1024 * 1024
"""How many bytes a line may have."""


class Blocks(Protocol[T_co]):
    """A file, or several, read a block at a time by a thread that may wait for the disk."""

    def next(self) -> Sequence[tuple[Place, T_co]] | None:
        """Return what comes next, an empty sequence if nothing is there yet, None at the end."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class Parsed(NamedTuple):
    """What a block of lines holds."""

    elements: list[Any]
    lines: Sequence[int]
    """For each element, how many lines of the block come before its end."""
    used: int
    """How many lines were read; the others are the beginning of an element."""
    bad: Sequence[tuple[int, int, str]] = ()
    """For each bad line its first line, the line behind it, counted from 0, and the reason."""


class LineParser(Protocol):
    """What reads the lines of one file, one block after another."""

    def begin(self, lines: list[bytes], /) -> None:
        """Get the first lines of a file that is read from a later line on."""
        ...

    def parse(self, lines: list[bytes], /, *, last: bool) -> Parsed:
        """Read lines; the last ones of a file have no others behind them."""
        ...


class FileForm(Protocol[T_co]):
    """A form of files that can be read whole."""

    def blocks(self, path: Path, key: str, after: Place | None, dead: Dead | None) -> Blocks[T_co]:
        """Open a file behind a place."""
        ...


class LineForm(FileForm[T_co], Protocol[T_co]):
    """A form of files that are made of lines, and can be read while they grow."""

    def parser(self) -> LineParser:
        """Return what reads the lines of one file."""
        ...


class Sheet(Protocol[T_contra]):
    """A file that is being written."""

    def write(self, elements: Sequence[T_contra], /) -> None:
        """Write elements behind the others."""
        ...

    def close(self) -> None:
        """Write what belongs behind the last element; the file below stays open."""
        ...


class SheetForm(Protocol[T_contra]):
    """A form of files that can be written."""

    def sheet(self, file: IO[bytes], name: Path) -> Sheet[T_contra]:
        """Begin a file."""
        ...


__all__ = [
    "LONGEST", "Blocks", "FileForm", "LineForm", "LineParser", "Parsed", "Place", "Sheet", "SheetForm",
]  # fmt: skip
