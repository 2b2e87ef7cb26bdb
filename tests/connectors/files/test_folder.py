"""folder: files that appear in a folder, one after another."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.connectors import files
from penstock.run.resumption import Resumption
from penstock.testing import check_resumable
from tests.connectors.files.taking import opened, taken, until_closed


def folder(path: Path, *form: Any, **options: Any) -> Any:
    return files.folder(path, *form, poll=0.002, **options)


def put(path: Path, text: str) -> None:
    """Let a file appear whole."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text)
    part.rename(path)


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    put(tmp_path / "b", "3\n4\n")
    put(tmp_path / "a", "1\n2")
    put(tmp_path / "c", "")
    put(tmp_path / "d", "5\n")
    assert list(folder(tmp_path, follow=False)) == ["1", "2", "3", "4", "5"]
    check_resumable(lambda: folder(tmp_path, follow=False))


def test_files_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    for number, name in enumerate("bca"):
        put(tmp_path / name, f"{name}1\n{name}2\n")
        os.utime(tmp_path / name, ns=(0, 1_000_000_000 + number // 2))
    assert list(folder(tmp_path, follow=False, order="time")) == ["b1", "b2", "c1", "c2", "a1", "a2"]
    check_resumable(lambda: folder(tmp_path, follow=False, order="time"))


def test_compressed_files_are_read_beside_others(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", "1\n2\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"3\n4\n"))
    assert list(folder(tmp_path, files.JsonLines(), follow=False)) == [1, 2, 3, 4]
    check_resumable(lambda: folder(tmp_path, files.JsonLines(), follow=False))


def test_parquet_files_are_read_row_by_row(tmp_path: Path) -> None:
    for number in range(3):
        pq.write_table(
            pa.table({"n": [number * 10, number * 10 + 1]}), tmp_path / f"{number}.parquet", row_group_size=1
        )
    check_resumable(lambda: folder(tmp_path, files.Parquet(), follow=False))
    assert [row["n"] for row in folder(tmp_path, files.Parquet(), follow=False)] == [0, 1, 10, 11, 20, 21]


def test_half_written_files_and_other_names_are_left_out(tmp_path: Path) -> None:
    for name in (".a.part", "a.tmp", "a.csv~", ".hidden", "readme.md", "b.csv.crdownload"):
        (tmp_path / name).write_text("no\n")
    (tmp_path / "folder.csv").mkdir()
    put(tmp_path / "a.csv", "x\n1\n")
    assert list(folder(tmp_path, files.Csv(), pattern="*.csv", follow=False)) == [{"x": "1"}]


def test_files_that_appear_are_waited_for(tmp_path: Path) -> None:
    put(tmp_path / "1", "a\n")
    got: list[str] = []
    first = threading.Event()
    for line in folder(tmp_path).take(3):
        got.append(line)
        if not first.is_set():
            first.set()
            put(tmp_path / "3", "c\n")
            put(tmp_path / "2", "b\n")  # before 3 in the order, and 3 is not read yet
    assert got == ["a", "b", "c"]


@pytest.mark.proves("files.folder", "a file appears before one that was read", "a clear error, or the user's choice")
def test_a_late_file_is_told_or_left_out(tmp_path: Path) -> None:
    put(tmp_path / "2", "b\n")
    reading = iter(folder(tmp_path))
    assert next(reading) == "b"
    put(tmp_path / "1", "a\n")
    put(tmp_path / "3", "c\n")
    with pytest.raises(files.LateFileError, match=r"^folder: 1 appeared in .* when 2 had been read, which comes "
                       r"behind it in name order; give files names that grow, or say late='skip'$"):  # fmt: skip
        next(reading)
    assert taken(folder(tmp_path, late="skip", pattern="[23]"), 2)[0] == ["b", "c"]


def test_a_file_that_was_read_may_be_removed(tmp_path: Path) -> None:
    put(tmp_path / "1", "a\nb\n")
    put(tmp_path / "2", "c\n")
    _, position = taken(folder(tmp_path), 2)
    (tmp_path / "1").unlink()
    assert taken(folder(tmp_path), 1, position)[0] == ["c"]


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match=r"^folder: .*/missing must be a folder that is there$"):
        list(folder(tmp_path / "missing"))


@pytest.mark.parametrize(("order", "place"), [("name", [3, 1, 1]), ("time", ["a", 1, 1]), ("name", "a")])
def test_a_position_of_something_else_is_refused(tmp_path: Path, order: Any, place: Any) -> None:
    with pytest.raises(ValueError, match=rf"^folder: a position in {order} order is no "):
        list(Resumption.of(folder(tmp_path, order=order)).open([place, 0]))


@pytest.mark.parametrize("ending", ["", ".gz", ".parquet"])
@pytest.mark.proves("files.folder", "cancel", "the file is closed and the thread ends")
@pytest.mark.proves("files.read", "cancel", "the file is closed and the thread ends")
def test_cancel_closes_the_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    if ending == ".parquet":
        pq.write_table(pa.table({"n": list(range(10_000))}), path, row_group_size=100)
    else:
        path.write_bytes((gzip.compress if ending else bytes)(b"line\n" * 100_000))
    form = files.Parquet() if ending == ".parquet" else files.Lines()
    for stream in (files.read(path, form), folder(tmp_path, form)):
        reading = iter(stream)
        next(reading)
        assert str(path) in opened()
        reading.close()
        until_closed(path)
