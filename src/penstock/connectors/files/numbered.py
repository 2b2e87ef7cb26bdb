"""numbered: files whose names are a text and a running number, which a restart continues."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class NumberedPaths:
    """A template of paths: `out/part-{number:06}.jsonl`."""

    template: str

    def __post_init__(self) -> None:
        name = Path(self.template).name
        try:
            fields = [field for _, field, _, _ in Formatter().parse(name) if field is not None]
            numbers = [self.template.format(number=n) for n in (1, 2)]
        except (ValueError, KeyError, IndexError) as error:
            raise ValueError(
                f"roll: path must have {{number}} in its name and no other field, got {self.template!r}"
            ) from error
        if fields != ["number"] or numbers[0] == numbers[1]:
            raise ValueError(f"roll: path must have {{number}} in its name once, got {self.template!r}")

    @property
    def folder(self) -> Path:
        """Return the folder that the files are in."""
        return Path(self.template).parent

    def path(self, number: int) -> Path:
        """Return the path with a number."""
        return Path(self.template.format(number=number))

    def found(self) -> list[tuple[int, Path]]:
        """Return the files that are there with their numbers, the smallest first."""
        before, after = self._around()
        pattern = re.compile(rf"{re.escape(before)}\s*0*(\d+){re.escape(after)}")
        numbers = []
        for each in self.folder.iterdir():
            matched = pattern.fullmatch(each.name)
            if matched and self.path(int(matched[1])).name == each.name:
                numbers.append((int(matched[1]), each))
        return sorted(numbers)

    def _around(self) -> tuple[str, str]:
        parts = list(Formatter().parse(Path(self.template).name))
        return parts[0][0], parts[1][0] if len(parts) > 1 else ""

    def clear(self) -> None:
        """Remove what runs that were killed have left half-written."""
        before, after = self._around()
        pattern = re.compile(rf"\.{re.escape(before)}\s*\d+{re.escape(after)}\.[0-9a-f]{{8}}\.part")
        for each in self.folder.iterdir():
            if pattern.fullmatch(each.name):
                _remove_if_left(each)


def claim(file: IO[Any]) -> bool:
    """Mark an open file as one that is being written, until it is closed or the process ends; False if another did."""
    try:
        import fcntl  # noqa: PLC0415  there is none on Windows
    except ImportError:
        return os.name != "nt"
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_if_left(path: Path) -> None:
    try:
        with path.open("rb") as file:
            if claim(file):
                path.unlink(missing_ok=True)
    except FileNotFoundError:
        pass


__all__ = ["NumberedPaths", "claim"]
