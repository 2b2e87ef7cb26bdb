"""tail: a file that grows and is rotated while it is read, or while nothing reads it."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock import Sink
from penstock.connectors import files
from penstock.connectors.files.tail import OpenTail
from penstock.testing import check_resumable
from tests.connectors.files.taking import opened, taken, until_closed

POLL = 0.002


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def renamed(path: Path) -> None:
    """Rotate as logrotate does: what is .1 becomes .2, the file becomes .1, and a new one is begun."""
    shift(path)
    path.rename(f"{path}.1")
    path.touch()


def copied(path: Path) -> None:
    """Rotate as logrotate does with copytruncate."""
    shift(path)
    shutil.copyfile(path, f"{path}.1")
    os.truncate(path, 0)


def shift(path: Path) -> None:
    count = 1
    while Path(f"{path}.{count}").exists():
        count += 1
    for number in range(count, 1, -1):
        Path(f"{path}.{number - 1}").rename(f"{path}.{number}")


each_way = pytest.mark.parametrize("rotate", [renamed, copied])


def tail(path: Path, **options: Any) -> Any:
    return files.tail(path, poll=POLL, **options)


def test_lines_come_as_they_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    got: list[str] = []
    seen = [threading.Event() for _ in range(3)]

    def note(line: str) -> None:
        got.append(line)
        seen[len(got) - 1].set()

    run = (tail(path).take(3) | Sink.for_each(note)).run()
    add(path, "one\ntw")
    assert seen[0].wait(60)
    assert got == ["one"]
    add(path, "o\n")
    assert seen[1].wait(60)
    add(path, "three\n")
    run.wait()
    assert got == ["one", "two", "three"]


def test_every_position_of_a_file_leads_to_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {n} {'x' * (n % 50)}\n" for n in range(60)))
    check_resumable(lambda: tail(path), most=60)


@each_way
@pytest.mark.proves("files.tail", "restart, the file rotated meanwhile", "nothing lost, nothing twice")
def test_a_restart_goes_on_in_the_rotated_file(tmp_path: Path, rotate: Any) -> None:
    path = tmp_path / "log"
    add(path, "".join(f"a{n}\n" for n in range(1000)))
    first, position = taken(tail(path), 700)
    rotate(path)
    add(path, "".join(f"b{n}\n" for n in range(10)))
    rotate(path)
    add(path, "c0\n")
    rest, _ = taken(tail(path), 311, position)
    assert first + rest == [*(f"a{n}" for n in range(1000)), *(f"b{n}" for n in range(10)), "c0"]


@each_way
def test_a_restart_behind_the_last_line_begins_with_the_new_file(tmp_path: Path, rotate: Any) -> None:
    path = tmp_path / "log"
    add(path, "a0\na1\n")
    _, position = taken(tail(path), 2)
    rotate(path)
    add(path, "b0\n")
    assert taken(tail(path), 1, position)[0] == ["b0"]


def test_a_rotated_file_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a0\na1\na2\n")
    _, position = taken(tail(path), 1)
    Path(f"{path}-20260101.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    add(path, "b0\n")
    assert taken(tail(path), 3, position)[0] == ["a1", "a2", "b0"]


def test_a_last_line_without_end_is_given_when_a_newer_file_has_some(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a0\na1")
    renamed(path)
    add(path, "b0\n")
    lines, position = taken(tail(path, begin="oldest"), 2)
    assert lines == ["a0", "a1"]
    assert taken(tail(path), 1, position)[0] == ["b0"]


def test_the_writer_may_go_on_in_the_old_file_until_it_opens_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w", buffering=1) as old:
        old.write("a0\n")
        reading = iter(tail(path))
        assert next(reading) == "a0"
        renamed(path)
        old.write("a1\n")
        assert next(reading) == "a1"
        old.write("a2\n")
        add(path, "b0\n")
        assert [next(reading), next(reading)] == ["a2", "b0"]
        reading.close()


def test_begins_at_the_end_behind_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a0\na1\nhal")

    async def half() -> Any:
        reader = await OpenTail(str(path), files.Lines(), "end", "log.*", "fail", None, POLL)(None)
        add(path, "f\n")
        try:
            return await reader.fetch(10)
        finally:
            await reader.close()

    [([_, offset, line], element)] = asyncio.run(half())
    assert (element, offset, line) == ("half", 11, 3)


def test_csv_reads_the_names_of_each_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a,b\n1,2\n3,4\n")
    _, position = taken(tail(path, form=files.Csv()), 1)
    renamed(path)
    add(path, "b,a\n5,6\n")
    assert taken(tail(path, form=files.Csv()), 2, position)[0] == [{"a": "3", "b": "4"}, {"b": "5", "a": "6"}]


def test_a_file_that_was_saved_anew_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a0\na1\n")
    reading = iter(tail(path))
    assert [next(reading), next(reading)] == ["a0", "a1"]
    shutil.copyfile(path, tmp_path / "copy")
    add(tmp_path / "copy", "a2\n")
    (tmp_path / "copy").replace(path)
    assert next(reading) == "a2"
    reading.close()


@pytest.mark.proves("files.tail", "the rotated file is gone", "a clear error, or the user's choice")
def test_a_position_whose_file_is_gone_is_refused_or_left(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a0\na1\n")
    _, position = taken(tail(path), 1)
    path.unlink()
    add(tmp_path / "log.1", "b0\n")
    add(path, "c0\n")
    with pytest.raises(LookupError, match=rf"^tail: the file of position .* is neither {path} nor beside it as '.*'; "
                       "what it held behind the position cannot be read; say gone='oldest' "):  # fmt: skip
        taken(tail(path), 1, position)
    assert taken(tail(path, gone="oldest"), 2, position)[0] == ["b0", "c0"]
    assert taken(tail(path, gone="active"), 1, position)[0] == ["c0"]


def test_a_file_cut_off_without_a_copy_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a0\na1\n")
    reading = iter(tail(path))
    assert next(reading) == "a0"
    assert next(reading) == "a1"
    os.truncate(path, 0)
    with pytest.raises(LookupError, match=r"log was cut off, and no copy with its first 6 bytes is beside it"):
        next(reading)


class Writer(threading.Thread):
    """A program that writes numbered lines, and is rotated between two lines now and then."""

    def __init__(self, path: Path, count: int, rotate: Any, seed: int) -> None:
        super().__init__()
        self.path, self.count, self.rotate = path, count, rotate
        self.random = random.Random(seed)
        self.rotated = 0

    def run(self) -> None:
        file = self.path.open("ab", buffering=0)
        for number in range(self.count):
            data = f"{number} {'x' * self.random.randrange(200)}\n".encode()
            cut = self.random.randrange(len(data))
            file.write(data[:cut])
            file.write(data[cut:])
            if self.random.random() < 0.02:
                self.rotated += 1
                self.rotate(self.path)
                if self.rotate is renamed:
                    file.close()
                    file = self.path.open("ab", buffering=0)
        file.close()


@each_way
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.proves("files.tail", "rotated hundreds of times while it is read", "nothing lost, nothing twice")
def test_races_with_rotation_lose_nothing(tmp_path: Path, rotate: Any, seed: int) -> None:
    path = tmp_path / "log"
    writer = Writer(path, 5000, rotate, seed)
    path.touch()
    writer.start()
    got: list[int] = []
    position: Any = None
    while len(got) < 5000:  # a new run every so often, which opens behind a position
        lines, position = taken(tail(path, begin="oldest"), min(700, 5000 - len(got)), position)
        got += [int(line.split()[0]) for line in lines]
    writer.join()
    assert writer.rotated > 50
    assert got == list(range(5000))


@pytest.mark.proves("files.tail", "cancel", "the file is closed and the thread ends")
def test_cancel_closes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, "a0\n")
    reading = iter(tail(path))
    next(reading)
    assert str(path) in opened()
    reading.close()
    until_closed(path)
