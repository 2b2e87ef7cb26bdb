"""roll: files that appear whole, or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock import Stream
from penstock.connectors import files
from penstock.connectors.files.numbered import NumberedPaths
from penstock.connectors.files.roll import OpenRoll, Rolling, RollWriter

ROWS = [{"id": str(n), "text": f"row, {n}"} for n in range(100)]
FORMS = [
    ("jsonl", files.JsonLines()), ("jsonl.gz", files.JsonLines()), ("jsonl.zst", files.JsonLines()),
    ("csv", files.Csv()), ("csv.gz", files.Csv()), ("csv.zst", files.Csv()), ("parquet", files.Parquet()),
]  # fmt: skip


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("error", [None, asyncio.CancelledError()], ids=["completed", "cancelled"])
def test_a_file_is_ended_when_the_interpreter_has_ended_its_thread(tmp_path: Path, error: BaseException | None) -> None:
    paths = NumberedPaths(f"{tmp_path}/part-{{number}}.txt")
    rolling = Rolling(OpenRoll(paths, files.Lines(), 100, None, 100.0, None, 1))
    rolling.begin()
    rolling.write(["a"])
    thread = ThreadPoolExecutor(1)
    thread.shutdown()
    asyncio.run(RollWriter(thread, rolling, 100.0).close(error))
    assert names(tmp_path) == (["part-1.txt"] if error is None else [])


@pytest.mark.parametrize(("ending", "form"), FORMS)
@pytest.mark.proves("files.roll", "round trip", "what is read is what was written")
def test_what_was_written_is_read(tmp_path: Path, ending: str, form: Any) -> None:
    path = f"{tmp_path}/part-{{number:03}}.{ending}"
    assert (Stream.from_iterable(ROWS) | files.roll(path, form, rows=40, batch=20)).run().wait() == 100
    assert names(tmp_path) == [f"part-00{n}.{ending}" for n in (1, 2, 3)]
    assert list(files.folder(tmp_path, form, follow=False)) == ROWS


@pytest.mark.parametrize("text", ["a\r", "\r", "a\rb", "a\r\nb\n", '"', "", "\u2028\x85\x1c", "x" * 200_000])
@pytest.mark.parametrize("columns", [None, ("text", "id")])
def test_any_text_is_a_field_of_a_csv(tmp_path: Path, text: str, columns: tuple[str, ...] | None) -> None:
    rows = [{"text": text, "id": "1"}, {"text": "b", "id": text}]
    (Stream.from_iterable(rows) | files.roll(tmp_path / "{number}.csv", files.Csv(columns))).run().wait()
    assert list(files.read(tmp_path / "1.csv", files.Csv(columns))) == rows


def test_values_are_written_as_json_dumps_writes_them(tmp_path: Path) -> None:
    class Named(str):
        __slots__ = ()

    values: list[Any] = [
        1, 10**40, -0.0, 1e22, float("inf"), True, "a\n\u2028\ud800", Named("x"), [], (1, [None]),
        {"a": {1: 2, None: 3, False: 4, 1.5: {}}},
    ]  # fmt: skip
    (Stream.from_iterable(values) | files.roll(tmp_path / "{number}", files.JsonLines(), batch=4)).run().wait()
    (
        Stream.from_iterable(values) | files.roll(tmp_path / "own-{number}", files.JsonLines(dumps=partial(json.dumps)))
    ).run().wait()
    assert (tmp_path / "1").read_text() == (tmp_path / "own-1").read_text() == "\n".join(map(json.dumps, values)) + "\n"


def test_a_value_that_holds_itself_is_refused_and_is_forgotten(tmp_path: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    sink = files.roll(tmp_path / "{number}", files.JsonLines())
    with pytest.raises(ValueError, match="Circular"):
        (Stream.just(circle) | sink).run().wait()
    circle[0] = 1
    assert (Stream.just(circle) | sink).run().wait() == 1


def test_a_file_rolls_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "{number}"
    lines = Stream.range(100).map(lambda n: f"{n:099}")
    assert (lines | files.roll(path, files.Lines(), size=1000, batch=5)).run().wait() == 100
    assert {each.stat().st_size for each in tmp_path.iterdir()} == {1000}


def test_a_file_rolls_by_time_while_nothing_comes(tmp_path: Path) -> None:
    lines = Stream.just("one").concat(Stream.never())
    run = (lines | files.roll(tmp_path / "{number}", files.Lines(), seconds=0.05)).run()
    while names(tmp_path) != ["1"]:
        threading.Event().wait(0.005)
    assert (tmp_path / "1").read_text() == "one\n"
    run.cancel()


def test_numbers_go_on_where_the_last_run_was(tmp_path: Path) -> None:
    for name in ("a-7.txt", "a-x.txt", "b-90.txt", "a-007.txt"):
        (tmp_path / name).write_text("")
    assert (Stream.just("x") | files.roll(tmp_path / "a-{number}.txt", files.Lines())).run().wait() == 1
    assert (tmp_path / "a-8.txt").read_text() == "x\n"


def test_nothing_makes_no_file(tmp_path: Path) -> None:
    assert (Stream.empty() | files.roll(tmp_path / "{number}", files.Lines())).run().wait() == 0
    assert names(tmp_path) == []


@pytest.mark.proves("files.roll", "a failure upstream", "finished files stay, the open one is removed")
def test_a_failure_leaves_finished_files_alone(tmp_path: Path) -> None:
    lines = Stream.just("a", "b", "c").concat(Stream.error(ValueError("no")))
    with pytest.raises(ValueError, match="no"):
        (lines | files.roll(tmp_path / "{number}", files.Lines(), rows=2, batch=1)).run().wait()
    assert names(tmp_path) == ["1"]


@pytest.mark.proves("files.roll", "cancel", "finished files stay, the open one is removed")
def test_a_cancel_removes_the_open_file(tmp_path: Path) -> None:
    path = tmp_path / "{number}"
    endless = Stream.just("a").concat(Stream.never())
    run = (endless | files.roll(path, files.Lines(), batch=1)).run()
    while not any(name.endswith(".part") for name in names(tmp_path)):
        threading.Event().wait(0.002)
    run.cancel()
    while names(tmp_path):
        threading.Event().wait(0.002)


@pytest.mark.parametrize(
    ("form", "rows", "message"),
    [
        (files.Lines(), ["a", 1], "files: a line is a text without line ends, got 1; put map(str) before it"),
        (files.Lines(), ["a\nb"], r"files: a line is a text without line ends, got 'a\nb'; put map(str) before it"),
        (files.Csv(), [{"a": 1}, {"b": 1}], "files: a record must have the columns ['a'] of its file, got {'b': 1}"),
        (files.Csv(), [1], "files: a record is a dictionary, got 1"),
        (files.Csv(), [{}], "files: a record of CSV must have a column, got {}"),
        (files.Parquet(), [{}], "files: a row of Parquet must have a column, got {}"),
        (files.Parquet(), [{"a": 1}, {"b": 1}], "files: a row must have the columns ['a'] of its file, got {'b': 1}"),
        (files.Parquet(), [1], "files: a row of Parquet is a dictionary, got 1"),
    ],
)
def test_what_does_not_fit_is_named_and_leaves_nothing(tmp_path: Path, form: Any, rows: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        (Stream.from_iterable(rows) | files.roll(tmp_path / "{number}", form)).run().wait()
    assert str(caught.value) == message
    assert names(tmp_path) == []


def test_parquet_of_other_types_names_the_cure(tmp_path: Path) -> None:
    rows = Stream.just({"a": 1}, {"a": "x"})
    with pytest.raises(ValueError, match=r"^files: rows of one Parquet file have one schema, say schema=: "):
        (rows | files.roll(tmp_path / "{number}", files.Parquet(), batch=1)).run().wait()
    with pytest.raises(
        ValueError, match=r"^files: Parquet is compressed within, got the name '1.gz'; say compression=$"
    ):
        (rows | files.roll(tmp_path / "{number}.gz", files.Parquet(), batch=1)).run().wait()


@pytest.mark.parametrize(("ending", "form"), FORMS)
@pytest.mark.proves("files.roll", "elements are given again after a crash, with `once`", "each is there once")
def test_what_is_given_again_is_written_once(tmp_path: Path, ending: str, form: Any) -> None:
    sink = files.roll(f"{tmp_path}/{{number}}.{ending}", form, rows=20, batch=10, once=identity, back=2)
    assert (Stream.from_iterable(ROWS[:60]) | sink).run().wait() == 60
    assert (Stream.from_iterable(ROWS[25:]) | sink).run().wait() == 75
    assert list(files.folder(tmp_path, form, follow=False)) == ROWS
    assert pickle.loads(pickle.dumps(sink)) == sink


def identity(row: dict[str, str]) -> str:
    return row["id"]


def test_a_number_that_another_writer_took_is_left_to_it(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield "mine"
        (tmp_path / "1").write_text("theirs")

    assert (Stream.from_iterable(lines()) | files.roll(tmp_path / "{number}", files.Lines(), batch=1)).run().wait() == 1
    assert ((tmp_path / "1").read_text(), (tmp_path / "2").read_text()) == ("theirs", "mine\n")


def test_what_a_killed_run_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    (tmp_path / ".3.0123abcd.part").write_text("left")
    (tmp_path / ".3.txt.0123abcd.part").write_text("of another sink")
    sink = files.roll(tmp_path / "{number}", files.Lines(), batch=1)
    living = (Stream.just("one").concat(Stream.never()) | sink).run()
    while len(names(tmp_path)) != 2 or ".3.0123abcd.part" in names(tmp_path):
        threading.Event().wait(0.002)
    assert (Stream.just("two") | sink).run().wait() == 1
    assert (tmp_path / "1").read_text() == "two\n"
    assert len(names(tmp_path)) == 3  # what the living one writes is there still
    living.cancel()
    while len(names(tmp_path)) == 3:
        threading.Event().wait(0.002)
    assert names(tmp_path) == [".3.txt.0123abcd.part", "1"]


FULL = """
    import resource, sys
    from pathlib import Path
    from penstock import Stream
    from penstock.connectors import files
    if sys.argv[2] == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    lines = Stream.range(100_000).map(lambda n: f"{n:099}")
    try:
        (lines | files.roll(f"{sys.argv[1]}/{{number}}", files.Lines(), size=int(sys.argv[3]), batch=50)).run().wait()
    except OSError as error:
        print(error.errno, error.strerror)
"""


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


def fill(folder: Path, way: str, size: int) -> str:
    code = [sys.executable, "-c", textwrap.dedent(FULL), str(folder), way, str(size)]
    return subprocess.run(code, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.proves("files.roll", "a full disk", "a clear error, finished files whole, none half-written")
def test_no_room_is_told_and_leaves_whole_files(tmp_path: Path) -> None:
    assert fill(tmp_path, "limit", 200_000) == (
        f"27 roll: {tmp_path}/1 cannot be written: File too large; what was open is removed, and its elements are not "
        "done\n"
    )
    assert names(tmp_path) == []
    if can_mount():  # as root a disk can be had that is full indeed
        with small_disk(tmp_path):
            told = fill(tmp_path, "disk", 50_000)
            assert told.startswith(f"28 roll: {tmp_path}/5 cannot be written: No space left on device; "), told
            assert names(tmp_path) == ["1", "2", "3", "4"]
            assert {each.stat().st_size for each in tmp_path.iterdir()} == {50_000}


@pytest.mark.proves(
    "files.roll", "the source waits until elements are done", "the open file is finished after half a second"
)
def test_a_source_that_waits_for_its_elements_to_be_done_goes_on(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("".join(f"{n}\n" for n in range(250)))
    sink = files.roll(tmp_path / "out-{number}", files.Lines(), rows=10_000, seconds=600.0, batch=10)
    assert (files.read(tmp_path / "in", window=100) | sink).run().wait() == 250
    written = [int(line) for line in files.folder(tmp_path, pattern="out-*", follow=False)]
    assert written == list(range(250))
    assert len(names(tmp_path)) >= 3  # a file for each time that it had to wait


def test_a_file_of_zstd_tells_what_was_damaged(tmp_path: Path) -> None:
    path = tmp_path / "1.txt.zst"
    (Stream.just("a" * 100) | files.roll(tmp_path / "{number}.txt.zst", files.Lines())).run().wait()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"a", b"b", 1))
    with pytest.raises(OSError, match=rf"^files: {path} is damaged behind line 0 \(byte 0 of what it holds\): "):
        list(files.read(path))
