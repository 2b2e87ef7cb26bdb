"""read: a file that is whole, of every form, from every position."""

from __future__ import annotations

import asyncio
import gzip
import json
import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from penstock import Sink
from penstock.connectors import files
from penstock.connectors.files.forms import LONGEST
from penstock.connectors.files.line_file import CHUNK
from penstock.connectors.files.reader import FileReader
from penstock.run.resumption import Resumption
from penstock.testing import check_resumable

EXPECTED = "Expecting value: line 1 column 7 (char 6): b'{\"a\": '"
INVALID = r"invalid start byte: b'\xff'"
ROWS = [{"id": n, "text": f"row {n}"} for n in range(40)]


def squeezed(path: Path, data: bytes) -> None:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".zst":
        path.write_bytes(zstandard.compress(data))
    else:
        path.write_bytes(data)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.proves("files.read", "restart from every position", "the rest, in the same order")
def test_lines_go_on_behind_every_position(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"lines{ending}"
    squeezed(path, "eins\nzwei ä\r\n\nvier\nohne Ende".encode())
    assert list(files.read(path)) == ["eins", "zwei ä", "", "vier", "ohne Ende"]
    check_resumable(lambda: files.read(path))


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_json_lines_go_on_behind_every_position(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.jsonl{ending}"
    squeezed(path, b"".join(json.dumps(row).encode() + b"\n\n" for row in ROWS))
    assert list(files.read(path, files.JsonLines())) == ROWS
    check_resumable(lambda: files.read(path, files.JsonLines()))


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_csv_goes_on_behind_every_position(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.csv{ending}"
    squeezed(path, b'id,text\r\n1,"two\nlines"\r\n\r\n2,"a ""quote"", and more"\n3,\xc3\xa4')
    expected = [
        {"id": "1", "text": "two\nlines"}, {"id": "2", "text": 'a "quote", and more'}, {"id": "3", "text": "ä"},
    ]  # fmt: skip
    assert list(files.read(path, files.Csv())) == expected
    check_resumable(lambda: files.read(path, files.Csv()))


@pytest.mark.parametrize("before", ["\n\r\n", "\ufeff", '\ufeff"id",text\n'], ids=["blank", "mark", "mark and quote"])
@pytest.mark.parametrize("columns", [None, ("id", "text")])
def test_what_stands_before_the_first_record_of_a_csv_is_left_out(
    tmp_path: Path, before: str, columns: tuple[str, ...] | None
) -> None:
    path = tmp_path / "rows.csv"
    names = "" if "id" in before else "id,text\n"
    path.write_text(f"{before}{names}1,a\n2,b\n")
    records = [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]
    if columns is not None:
        records.insert(0, {"id": "id", "text": "text"})
    assert list(files.read(path, files.Csv(columns))) == records
    check_resumable(lambda: files.read(path, files.Csv(columns)))


@pytest.mark.parametrize("first", ["größe,id".encode("latin-1"), b'"size"x,id', b"size\rx,id"])
def test_a_record_behind_names_that_cannot_be_read_is_not_taken_for_them(tmp_path: Path, first: bytes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(first + b"\n1,2\n3,4\n")
    bad: list[files.BadLine] = []
    assert list(files.read(path, files.Csv(), dead=bad.append)) == []
    assert [each.data for each in bad] == [first, b"1,2", b"3,4"]
    assert {each.reason for each in bad[1:]} == {"CSV: the names of the columns could not be read"}


def test_columns_of_a_csv_with_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,text,text\n1,a,b\n")
    message = (
        "files: the names of columns must differ, got 'text' 2 times; give others as Csv(columns=...), and leave out "
        "the first record"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        list(files.read(path, files.Csv(), dead=lambda line: None))
    with pytest.raises(ValueError, match=r"^files: the names of columns must differ, got 'a' 2 times"):
        files.Csv(columns=("a", "a"))


def test_a_file_is_closed_when_the_interpreter_has_ended_its_thread(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("a\nb\n")
    thread = ThreadPoolExecutor(1)
    blocks = files.Lines().blocks(path, "lines", None, None)
    thread.shutdown()
    asyncio.run(FileReader(thread, blocks, 1.0).close())
    with pytest.raises(ValueError, match=r"closed file"):
        blocks.next()


def test_csv_without_names_gets_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("1\ta\n2\tb\n")
    form = files.Csv(columns=("id", "text"), delimiter="\t")
    assert list(files.read(path, form)) == [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]
    check_resumable(lambda: files.read(path, form))


def test_parquet_goes_on_behind_every_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=7)
    assert list(files.read(path, files.Parquet())) == ROWS
    check_resumable(lambda: files.read(path, files.Parquet()))
    assert list(files.read(path, files.Parquet(columns=("id",)))) == [{"id": row["id"]} for row in ROWS]


def test_parquet_row_groups_are_tables(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=7)
    groups = files.read(path, files.ParquetGroups())
    assert [table.num_rows for table in groups] == [7, 7, 7, 7, 7, 5]
    check_resumable(lambda: groups)


def test_lines_longer_than_a_chunk_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "long"
    lines = ["a" * (3 * CHUNK), "b", "c" * CHUNK, "d" * (CHUNK - 1)]
    path.write_text("\n".join(lines))
    assert list(files.read(path)) == lines
    check_resumable(lambda: files.read(path))


def test_a_csv_record_over_many_chunks_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    text = "\n".join(["x" * 100] * 1200)
    path.write_text(f'id,text\n1,"{text}"\n2,b\n')
    assert list(files.read(path, files.Csv())) == [{"id": "1", "text": text}, {"id": "2", "text": "b"}]


def test_a_stream_of_a_file_is_a_value(tmp_path: Path) -> None:
    stream = files.read(tmp_path / "a.csv", files.Csv())
    assert stream == files.read(str(tmp_path / "a.csv"), files.Csv())
    assert pickle.loads(pickle.dumps(stream)) == stream


@pytest.mark.parametrize(
    ("form", "data", "message"),
    [
        (files.JsonLines(), b'{"a": 1}\n{"a": \n2\n', "line 2 (byte 9): JSONDecodeError: " + EXPECTED),
        (files.JsonLines(), b"1\nnull\n2\n",
         "line 2 (byte 2): ValueError: None is not an element (rule 2.13): b'null'"),
        (files.Lines(), b"a\n\xff\nb\n",
         "line 2 (byte 2): UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: " + INVALID),
        (files.Csv(), b"a,b\n1,2\n3\n4,5\n", "line 3 (byte 8): CSV: 1 fields, and there are 2 columns: b'3'"),
        (files.Csv(), b'a,b\n1,2\n"x"y,2\n4,5\n', "line 3 (byte 8): CSV: ',' expected after '\"': b'\"x\"y,2'"),
        (files.Csv(), b"a,b\n1,2\n\xff,2\n4,5\n", "line 3 (byte 8): CSV: no UTF-8: b'\\xff,2'"),
    ],
)  # fmt: skip
@pytest.mark.proves("files.read", "a poison line", "the error names file, line and byte, or the line is put aside")
def test_a_bad_line_is_named_or_put_aside(tmp_path: Path, form: Any, data: bytes, message: str) -> None:
    path = tmp_path / "bad"
    path.write_bytes(data)
    got: list[Any] = []
    with pytest.raises(files.BadLineError) as caught:
        (files.read(path, form).tap(got.append) | Sink.count()).run().wait()
    assert str(caught.value) == f"{path}, {message}; mend the line, or say dead= to have such lines put aside"
    assert len(got) == 1  # what comes before it is given
    dead: list[files.BadLine] = []
    rest = list(files.read(path, form, dead=dead.append))
    assert [bad.line for bad in dead] == [caught.value.bad.line]
    assert rest[0] == got[0]
    assert len(rest) == 2
    check_resumable(lambda: files.read(path, form, dead=files.DeadLines(tmp_path / "dead.jsonl")))
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert {letter["line"] for letter in letters} == {caught.value.bad.line}
    assert pickle.loads(pickle.dumps(caught.value)).bad == caught.value.bad


def test_a_reader_of_ones_own_whose_error_cannot_say_what_it_is_puts_the_line_aside(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def loads(text: str) -> int:
        if text == "2":
            raise Mute
        return int(text)

    path = tmp_path / "lines"
    path.write_bytes(b"1\n2\n3\n")
    dead: list[files.BadLine] = []
    assert list(files.read(path, files.JsonLines(loads=loads), dead=dead.append)) == [1, 3]
    assert [bad.reason for bad in dead] == ["Mute: <exception str() failed>"]


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    path.write_bytes(b"ok\n" + bytes(LONGEST + 2 * CHUNK))
    words = rf"line 2 \(byte 3\): is longer than {LONGEST} bytes.*; mend the line, or cut it: what has no end"
    with pytest.raises(files.BadLineError, match=words):
        list(files.read(path))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_file_that_is_cut_off_is_named(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"cut{ending}"
    squeezed(path, b"".join(f"{n * 7919}\n".encode() for n in range(100_000)))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(OSError, match=rf"^files: {path} is damaged behind line \d+ \(byte \d+ of what it holds\): "):
        list(files.read(path))


def test_columns_of_a_parquet_file_with_one_name_are_refused_where_a_row_would_lose_one(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    message = (
        f"files: the names of columns must differ, got 'a' 2 times in {path}; ParquetGroups() gives tables, which have "
        "them all"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        list(files.read(path, files.Parquet()))
    assert [table.num_columns for table in files.read(path, files.ParquetGroups())] == [2]


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no.parquet"
    path.write_bytes(b"no")
    with pytest.raises(ValueError, match=rf"^files: {path} is no whole Parquet file: "):
        list(files.read(path, files.Parquet()))


def test_a_file_that_is_shorter_than_the_position_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\n")
    with pytest.raises(ValueError, match=r"^files: the position is behind byte 9 of .*, which has 4 now; it was repla"):
        list(Resumption.of(files.read(path)).open([["a", 9, 3], 0]))


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        list(files.read(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: files.read(3), "read: path must be a path, got 3"),  # type: ignore[call-overload]
        (lambda: files.read("a", "csv"), "read: form must be a form with the method blocks, as Lines() is, got 'csv'"),
        (lambda: files.tail("a", files.Parquet()),
         "tail: form must be a form with the method parser, as Lines() is, got " + repr(files.Parquet())),
        (lambda: files.tail("a", begin="now"), "tail: begin must be one of 'oldest', 'active', 'end', got 'now'"),
        (lambda: files.tail("a", gone="now"), "tail: gone must be one of 'fail', 'oldest', 'active', got 'now'"),
        (lambda: files.tail("a", poll=0), "tail: poll must be > 0, got 0"),
        (lambda: files.folder("a", order="size"), "folder: order must be one of 'name', 'time', got 'size'"),
        (lambda: files.folder("a", late="read"), "folder: late must be one of 'fail', 'skip', got 'read'"),
        (lambda: files.read("a", dead=1), "read: dead must be callable, got 1"),
        (lambda: files.roll("a", files.Lines()), "roll: path must have {number} in its name once, got 'a'"),
        (lambda: files.roll("{x}", files.Lines()),
         "roll: path must have {number} in its name and no other field, got '{x}'"),
        (lambda: files.roll("{number}", files.Lines(), size=0), "roll: size must be >= 1, got 0"),
        (lambda: files.roll("{number}", files.Lines(), seconds=0), "roll: seconds must be > 0, got 0"),
        (lambda: files.Csv(delimiter=";;"),
         "files: delimiter must be one character, and neither a quote nor a line end, got ';;'"),
        (lambda: files.Csv(delimiter="\r"),
         "files: delimiter must be one character, and neither a quote nor a line end, got '\\r'"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_when_they_are_given(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert str(caught.value) == message
