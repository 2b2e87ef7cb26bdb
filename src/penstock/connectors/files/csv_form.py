"""csv_form: files of comma-separated values."""

from __future__ import annotations

import csv
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import IO, Any

from penstock.connectors.files.bad_lines import Dead
from penstock.connectors.files.compression import compressing
from penstock.connectors.files.forms import LONGEST, Blocks, LineParser, Parsed, Place
from penstock.connectors.files.line_file import LineBlocks


@dataclass(frozen=True, slots=True)
class Csv:
    """A form of files: records of texts by the names of their columns, `{"name": "value"}`.

    A record may be of several lines, where a field in quotes is. A mark of UTF-8 before the first one is left out.
    """

    columns: tuple[str, ...] | None = None
    """The names, where the file has none in its first record; one that is written then has none, either."""
    delimiter: str = ","

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ValueError(
                f"files: delimiter must be one character, and neither a quote nor a line end, got {self.delimiter!r}"
            )
        _check_names(self.columns or ())

    def parser(self) -> LineParser:
        """Return what reads the lines of one file."""
        return _Records(self.columns, self.delimiter)

    def blocks(self, path: Path, key: str, after: Place | None, dead: Dead | None) -> Blocks[dict[str, str]]:
        """Open a file behind a place."""
        return LineBlocks(path, key, after, self.parser(), dead)

    def sheet(self, file: IO[bytes], name: Path) -> _RecordSheet:
        """Begin a file."""
        return _RecordSheet(file, name, self)


class _Fed:
    """Lines for a reader of records, which asks for one more when it is within a record or wants the next."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self.dry = False

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            yield line.decode("utf-8", "surrogateescape") + "\n"
        self.dry = True


class _Records:
    """What reads records."""

    def __init__(self, columns: tuple[str, ...] | None, delimiter: str) -> None:
        self._columns = columns
        self._delimiter = delimiter
        self._begun = False
        if csv.field_size_limit() < LONGEST:  # it is one for the whole process, and lines have a bound here already
            csv.field_size_limit(LONGEST)

    def begin(self, lines: list[bytes], /) -> None:
        """Learn the names of the columns."""
        if self._columns is None:
            self.parse(lines, last=False)
        self._begun = True

    def parse(self, lines: list[bytes], /, *, last: bool) -> Parsed:
        """Read records; one that is not whole stays for the next block."""
        elements: list[Any] = []
        behind: list[int] = []
        bad: list[tuple[int, int, str]] = []
        if lines and not self._begun:
            lines = [lines[0].removeprefix(BOM_UTF8), *lines[1:]]
        fed = _Fed(lines)
        records = csv.reader(fed, strict=True, delimiter=self._delimiter)
        doubtful = not _is_text(lines)
        used = 0
        while True:
            try:
                record = next(records, None)
                if record is None or (fed.dry and not last):
                    break
                reason = self._refused(record, doubtful=doubtful)
            except csv.Error as error:
                if fed.dry and not last:
                    break  # within a record
                record, reason = None, f"CSV: {error}"
            if reason is not None:
                bad.append((used, records.line_num, reason))
                self._columns = self._columns or ()  # what comes behind bad names is no record
            elif record and self._columns is None:
                _check_names(record)
                self._columns = tuple(record)
            elif record and self._columns:
                elements.append(dict(zip(self._columns, record, strict=True)))
                behind.append(records.line_num)
            used = records.line_num
            self._begun = True
        return Parsed(elements, behind, len(lines) if last else used, bad)

    def _refused(self, record: list[str], *, doubtful: bool) -> str | None:
        """Return what is wrong with a record; one without fields is a line without text."""
        if doubtful and not _is_text([field.encode("utf-8", "surrogateescape") for field in record]):
            return "CSV: no UTF-8"
        if record and self._columns == ():
            return "CSV: the names of the columns could not be read"
        if record and self._columns is not None and len(record) != len(self._columns):
            return f"CSV: {len(record)} fields, and there are {len(self._columns)} columns"
        return None


def _check_names(names: Sequence[str]) -> None:
    """Refuse names of columns of which two are the same: a record would lose a field."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"files: the names of columns must differ, got {name!r} {names.count(name)} times; give others as"
                " Csv(columns=...), and leave out the first record"
            )


def _is_text(data: list[bytes]) -> bool:
    try:
        b"\n".join(data).decode()
    except UnicodeDecodeError:
        return False
    return True


class _RecordSheet:
    """A file of records that is being written."""

    def __init__(self, file: IO[bytes], name: Path, form: Csv) -> None:
        self._file = compressing(file, name)
        self._columns = form.columns
        self._delimiter = form.delimiter

    def write(self, elements: Sequence[Any], /) -> None:
        """Write records, and the names of the columns before the first."""
        named = self._columns is not None
        if self._columns is None:
            if not isinstance(elements[0], dict):
                raise TypeError(f"files: a record is a dictionary, got {elements[0]!r:.100}")
            self._columns = tuple(elements[0])
        if not self._columns:
            raise ValueError("files: a record of CSV must have a column, got {}")
        text = self._text(elements, csv.QUOTE_MINIMAL, named=named)
        if "\r" in text:  # which the writer of some versions leaves without quotes, and no reader gives back then
            text = self._text(elements, csv.QUOTE_ALL, named=named)
        self._file.write(text.encode())

    def _text(self, elements: Sequence[Any], quoting: Any, *, named: bool) -> str:
        assert self._columns is not None
        text = StringIO()
        records = csv.writer(text, delimiter=self._delimiter, lineterminator="\n", quoting=quoting)
        if not named:
            records.writerow(self._columns)
        for element in elements:
            if not isinstance(element, dict) or len(element) != len(self._columns):
                raise self._other(element)
            try:
                records.writerow(map(element.__getitem__, self._columns))
            except KeyError:
                raise self._other(element) from None
        return text.getvalue()

    def _other(self, element: Any) -> Exception:
        names = [*(self._columns or ())]
        if not isinstance(element, dict):
            return TypeError(f"files: a record is a dictionary, got {element!r:.100}")
        return ValueError(f"files: a record must have the columns {names} of its file, got {element!r:.100}")

    def close(self) -> None:
        """End what is compressed."""
        self._file.close()


__all__ = ["Csv"]
