"""whole: one file that is there and stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.connectors.files.bad_lines import Dead
from penstock.connectors.files.forms import Blocks, FileForm, Place
from penstock.connectors.files.reader import FileReader, open_reader


@dataclass(frozen=True, slots=True)
class OpenWhole:
    """What opens a file for a run."""

    path: str
    form: FileForm[Any]
    dead: Dead | None

    async def __call__(self, after: Place | None, /) -> FileReader[Any]:
        return await open_reader(self._blocks, after, 1.0)

    def _blocks(self, after: Place | None) -> Blocks[Any]:
        path = Path(self.path)
        if after is not None and (not isinstance(after, list) or len(after) != 3 or after[0] != path.name):
            raise ValueError(f"read: a position in {path} begins with its name, got {after!r:.100}")
        return self.form.blocks(path, path.name, after, self.dead)


__all__ = ["OpenWhole"]
