"""spool: rows on disk between a publisher and Spark, so that a killed driver loses none of them.

One file per run of rows, named by their numbers. A file is written under another name, forced to disk and renamed, and
the folder is forced to disk too, before Spark hears of its rows; so all that was promised survives. Files whose rows
Spark has committed are removed, but never the newest, which remembers how far the stream had come.
"""

from __future__ import annotations

import fcntl
import os
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import ipc

from penstock.errors import PenstockError

_NAME = re.compile(r"(\d{20})-(\d{20})\.arrow")


class SpoolError(PenstockError):
    """The error that a spool cannot be used, with the reason."""


class SpoolBusy(SpoolError):
    """The error that a spool is in use."""


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """A file and the rows it holds: `first` to `end`, the latter excluded."""

    first: int
    end: int
    path: Path


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Spool:
    """A folder of files of rows, which one process at a time may use."""

    def __init__(self, folder: str | Path, schema: pa.Schema) -> None:
        self.folder = Path(folder)
        self._schema = schema
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise SpoolError(
                f"spool: it must be a folder that can be written, got {self.folder}: {error.strerror}"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise SpoolBusy(f"spool: {self.folder} is in use by another stream") from error
        try:
            self._segments = self._found()
        except Exception:
            self._lock.close()
            raise

    @property
    def first(self) -> int:
        """Return the number of the first row held."""
        return self._segments[0].first if self._segments else 0

    @property
    def end(self) -> int:
        """Return the number that the next row will have."""
        return self._segments[-1].end if self._segments else 0

    def _found(self) -> list[SpoolFile]:
        """Return the segments of the folder, without what a crash left half-written."""
        segments = []
        for path in sorted(self.folder.iterdir()):
            if path.suffix == ".new":
                path.unlink()
            elif match := _NAME.fullmatch(path.name):
                segments.append(SpoolFile(int(match[1]), int(match[2]), path))
        for before, after in pairwise(segments):
            if before.end != after.first:
                raise SpoolError(f"spool: {self.folder} lacks rows {before.end} to {after.first}")
        return segments

    def batches(self) -> list[tuple[int, pa.RecordBatch]]:
        """Read all rows back, with the number of each batch's first row."""
        found = []
        for segment in self._segments:
            try:
                with pa.memory_map(str(segment.path)) as file:
                    table = ipc.open_file(file).read_all()
            except (OSError, pa.ArrowInvalid) as error:
                raise SpoolError(f"spool: {segment.path} cannot be read: {error}") from error
            if not table.schema.equals(self._schema):
                raise SpoolError(f"spool: {self.folder} holds rows of another schema: {_brief(table.schema)}")
            if table.num_rows != segment.end - segment.first:
                raise SpoolError(f"spool: {segment.path} holds {table.num_rows} rows, which its name does not say")
            first = segment.first
            for batch in table.to_batches():
                found.append((first, batch))
                first += batch.num_rows
        return found

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; they are on disk when this returns."""
        first = self.end
        end = first + batch.num_rows
        path = self.folder / f"{first:020d}-{end:020d}.arrow"
        fresh = path.with_suffix(".new")
        with fresh.open("wb") as file:
            with ipc.new_file(file, self._schema) as writer:
                writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)
        _sync_folder(self.folder)
        self._segments.append(SpoolFile(first, end, path))

    def forget(self, committed: int) -> None:
        """Remove the files whose rows all come before `committed`, but not the newest."""
        while len(self._segments) > 1 and self._segments[0].end <= committed:
            self._segments.pop(0).path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let another stream use the folder."""
        self._lock.close()


def _brief(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
