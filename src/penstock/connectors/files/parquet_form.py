"""parquet_form: Parquet files, read a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar, cast

from penstock.connectors.files.bad_lines import Dead
from penstock.connectors.files.compression import compressed
from penstock.connectors.files.forms import Blocks, Place
from penstock.errors import SetupError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

T = TypeVar("T")

ROWS = 1024
"""How many rows of a row group are made elements at a time."""


def _parquet() -> Any:
    try:
        import pyarrow.parquet as library  # type: ignore[import-untyped]  # noqa: PLC0415  an extra
    except ImportError as error:
        raise SetupError("files: Parquet needs the package pyarrow; pip install 'penstock[files]'") from error
    return library


@dataclass(frozen=True, slots=True)
class Parquet:
    """A form of files: Parquet, whose rows are dictionaries."""

    columns: tuple[str, ...] | None = None
    """The columns to read; all if not said."""
    schema: pa.Schema | None = None
    """The schema of files that are written; without it, that of the first rows of each file."""
    compression: str = "zstd"
    """How the columns of files that are written are compressed."""

    def blocks(self, path: Path, key: str, after: Place | None, dead: Dead | None) -> Blocks[dict[str, Any]]:
        """Open a file behind a place."""
        return _Groups(path, key, after, self.columns, rows=True)

    def sheet(self, file: IO[bytes], name: Path) -> _RowSheet:
        """Begin a file."""
        if compressed(name):
            raise ValueError(f"files: Parquet is compressed within, got the name {name.name!r}; say compression=")
        return _RowSheet(file, self)


@dataclass(frozen=True, slots=True)
class ParquetGroups:
    """A form of files: Parquet, whose row groups are elements, each a `pyarrow.Table`."""

    columns: tuple[str, ...] | None = None
    """The columns to read; all if not said."""

    def blocks(self, path: Path, key: str, after: Place | None, dead: Dead | None) -> Blocks[pa.Table]:
        """Open a file behind a place."""
        return _Groups(path, key, after, self.columns, rows=False)


class _Groups(Generic[T]):
    """The row groups of a file from a place on, `[key, row group, rows of it]`, one of them in memory at a time."""

    def __init__(
        self, path: Path, key: str, after: Place | None, columns: tuple[str, ...] | None, *, rows: bool
    ) -> None:
        self._key = key
        self._path = path
        self._columns = None if columns is None else [*columns]
        try:
            self._file = _parquet().ParquetFile(path, memory_map=False, pre_buffer=False)
        except OSError as error:
            raise OSError(f"files: {path} cannot be read as Parquet: {error}") from error
        except ValueError as error:  # ArrowInvalid
            raise ValueError(f"files: {path} is no whole Parquet file: {error}") from error
        group, row = after[1:] if after else (0, 0)
        if group > self._file.num_row_groups:
            self._file.close()
            raise ValueError(
                f"files: the position is in row group {group} of {path}, which has {self._file.num_row_groups} now"
            )
        self._blocks = self._rows(group, row) if rows else self._tables(group + 1 if after else 0)

    def _rows(self, first: int, skip: int) -> Iterator[list[tuple[Place, Any]]]:
        key = self._key
        for group in range(first, self._file.num_row_groups):
            row = 0
            for batch in self._file.iter_batches(ROWS, row_groups=[group], columns=self._columns):
                self._check_names(batch.schema.names)
                count = batch.num_rows
                if row + count > skip:
                    elements = batch.slice(max(skip - row, 0)).to_pylist()
                    begin = max(skip, row) + 1
                    yield [([key, group, begin + n], element) for n, element in enumerate(elements)]
                row += count
            skip = 0

    def _check_names(self, names: Sequence[str]) -> None:
        """Refuse names of columns of which two are the same: a row would lose a value."""
        if len({*names}) < len(names):
            name = next(each for each in names if names.count(each) > 1)
            raise ValueError(
                f"files: the names of columns must differ, got {name!r} {names.count(name)} times in {self._path}; "
                "ParquetGroups() gives tables, which have them all"
            )

    def _tables(self, first: int) -> Iterator[list[tuple[Place, Any]]]:
        for group in range(first, self._file.num_row_groups):
            table = self._file.read_row_group(group, columns=self._columns)
            yield [([self._key, group, table.num_rows], table)]

    def next(self) -> list[tuple[Place, T]] | None:
        """Return the next rows."""
        return next(self._blocks, None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _RowSheet:
    """A Parquet file that is being written, a row group for each call."""

    def __init__(self, file: IO[bytes], form: Parquet) -> None:
        _parquet()
        self._file = file
        self._form = form
        self._writer: Any = None

    def write(self, elements: Sequence[Any], /) -> None:
        """Write rows as a row group."""
        import pyarrow as pa  # noqa: PLC0415

        schema = self._form.schema if self._writer is None else self._writer.schema
        for element in elements:
            if not isinstance(element, dict):
                raise TypeError(f"files: a row of Parquet is a dictionary, got {element!r:.100}")
        names = {*(elements[0] if schema is None else schema.names)}
        if not names:
            raise ValueError("files: a row of Parquet must have a column, got {}")
        for element in elements:  # Arrow would leave out what the schema does not name
            if not element.keys() <= names:
                raise ValueError(
                    f"files: a row must have the columns {sorted(names)} of its file, got {element!r:.100}"
                )
        try:
            table = pa.Table.from_pylist(cast("list[dict[str, Any]]", elements), schema=schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(f"files: rows of one Parquet file have one schema, say schema=: {error}") from error
        if self._writer is None:
            self._writer = _parquet().ParquetWriter(self._file, table.schema, compression=self._form.compression)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the footer."""
        writer = self._writer
        if writer is not None:
            try:
                writer.close()
            finally:
                writer.is_open = False  # or it would try again when it is collected


__all__ = ["Parquet", "ParquetGroups"]
