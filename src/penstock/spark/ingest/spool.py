"""spool: rows in a folder between a publisher and Spark, so that a killed driver loses none of them.

One file per run of rows, named by their numbers. It appears whole, and is as safe as the folder's kind can make it,
before Spark hears of its rows; so all that was promised survives. Files whose rows Spark has committed are removed, but
never the newest, which remembers how far the stream had come.

Where a claim to the folder replaces the one before, a file's name also says which claim it was written under. What a
run has written after it was replaced was never promised, and is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import ipc

from penstock.errors import PenstockError
from penstock.spark.wire.storage import UNFINISHED, Folder, FolderBusy, LocalFolder, StorageError

_NAME = re.compile(r"(\d{20})-(\d{20})(?:-(\d{10}))?\.arrow")


class SpoolError(PenstockError):
    """The error that a spool cannot be used, with the reason."""


class SpoolBusy(SpoolError):
    """The error that a spool is in use."""


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """A file and the rows it holds: `first` to `end`, the latter excluded; and the claim it was written under."""

    first: int
    end: int
    name: str
    claim: int = 0


class Spool:
    """A folder of files of rows, which one run at a time may use."""

    def __init__(self, folder: Folder | str | Path, schema: pa.Schema) -> None:
        self.folder: Folder = LocalFolder(Path(folder)) if isinstance(folder, str | Path) else folder
        self._schema = schema
        try:
            self.folder.make()
            self._claim = self.folder.claim()
        except FolderBusy as error:
            raise SpoolBusy(f"spool: {error}") from error
        except StorageError as error:
            raise SpoolError(
                f"spool: it must be a folder that can be written, got {self.folder}: {error.reason}"
            ) from error
        try:
            self._segments = self._found()
        except Exception:
            self._claim.release()
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
        """Return the segments of the folder, without what a crash left half-written or a replaced run left behind."""
        segments = []
        for name in self._tried(self.folder.names):
            if name.endswith(UNFINISHED):
                self._tried(self.folder.delete, name)
            elif match := _NAME.fullmatch(name):
                segments.append(SpoolFile(int(match[1]), int(match[2]), name, int(match[3] or 0)))
        held = joined(segments)
        apart = [one for one in segments if one not in held]
        missed = max((one.end for one in apart if one.claim >= held[0].claim), default=None)
        if missed is not None:
            raise SpoolError(f"spool: {self.folder} lacks rows {missed} to {held[0].first}")
        for one in apart:
            self._tried(self.folder.delete, one.name)
        return held

    def batches(self) -> list[tuple[int, pa.RecordBatch]]:
        """Read all rows back, with the number of each batch's first row."""
        found = []
        for segment in self._segments:
            try:
                table = ipc.open_file(pa.BufferReader(self.folder.read(segment.name))).read_all()
            except (StorageError, OSError, pa.ArrowInvalid) as error:
                reason = error.reason if isinstance(error, StorageError) else error
                raise SpoolError(f"spool: {self.folder}/{segment.name} cannot be read: {reason}") from error
            if not table.schema.equals(self._schema):
                raise SpoolError(f"spool: {self.folder} holds rows of another schema: {_brief(table.schema)}")
            if table.num_rows != segment.end - segment.first:
                raise SpoolError(
                    f"spool: {self.folder}/{segment.name} holds {table.num_rows} rows, which its name does not say"
                )
            first = segment.first
            for batch in table.to_batches():
                found.append((first, batch))
                first += batch.num_rows
        return found

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; they are safe when this returns."""
        first = self.end
        end = first + batch.num_rows
        number = self._claim.number
        name = f"{first:020d}-{end:020d}{'' if number is None else f'-{number:010d}'}.arrow"
        stream = pa.BufferOutputStream()
        with ipc.new_file(stream, self._schema) as writer:
            writer.write_batch(batch)
        self._tried(self.folder.write, name, stream.getvalue())
        try:
            self._claim.check()  # before Spark hears of the rows: the run that has the folder now does not know them
        except FolderBusy as error:
            self._tried(self.folder.delete, name)
            raise SpoolBusy(f"spool: {error}") from error
        self._segments.append(SpoolFile(first, end, name, number or 0))

    def forget(self, committed: int) -> None:
        """Remove the files whose rows all come before `committed`, but not the newest."""
        while len(self._segments) > 1 and self._segments[0].end <= committed:
            self._tried(self.folder.delete, self._segments.pop(0).name)

    def close(self) -> None:
        """Let another stream use the folder."""
        self._claim.release()

    def _tried(self, call: Any, *given: Any) -> Any:
        try:
            return call(*given)
        except StorageError as error:
            raise SpoolError(f"spool: {error}") from error


def joined(segments: list[SpoolFile]) -> list[SpoolFile]:
    """Return the files that follow each other without a gap, up to the last row of the newest claim."""
    newest = sorted(segments, key=lambda one: (one.claim, one.end))
    held = newest[-1:]
    ends = {one.end: one for one in newest}  # of two that end alike, the one of the newer claim
    while held and held[0].first in ends and held[0].first < held[0].end:
        held.insert(0, ends[held[0].first])
    return held


def _brief(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
