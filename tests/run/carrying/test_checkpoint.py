"""A checkpoint in this process: another run of the same pipeline goes on behind what the one before has done."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock import NotResumableError, PenstockError, Pipeline, Sink, Stream, branch
from penstock.run.carrying import committing
from penstock.run.carrying.committing import OFTEN, CommitError, KeptPositions
from penstock.testing import VirtualClock
from tests.run.carrying import counting
from tests.run.carrying.ledger import WAIT, Ledger


class Stopped(Exception):
    """The end of a run in the middle."""


class Until:
    """A function that fails at an element, once."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.came: list[int] = []

    def __call__(self, number: int) -> None:
        if number == self.last:
            raise Stopped
        self.came.append(number)


SOURCES: dict[str, Any] = {
    "resumable": lambda: Stream.resumable(Ledger(20).pairs),
    "counted": lambda: Stream.resumable(lambda count: range(count + 1, 21), counted=True),
    "range": lambda: Stream.range(1, 21),
    "list": lambda: Stream.from_iterable(list(range(1, 21))),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_run_goes_on_behind_the_one_before(name: str, tmp_path: Path) -> None:
    first, second = Until(13), Until(-1)
    with pytest.raises(Stopped):
        (SOURCES[name]() | Sink.for_each(first)).run(checkpoint=tmp_path).wait(WAIT)
    assert (SOURCES[name]() | Sink.for_each(second)).run(checkpoint=tmp_path).wait(WAIT) == 8
    assert first.came + second.came == list(range(1, 21))
    third = Until(-1)
    assert (SOURCES[name]() | Sink.for_each(third)).run(checkpoint=tmp_path).wait(WAIT) == 0


def test_each_of_two_sources_goes_on_by_itself(tmp_path: Path) -> None:
    def run(end: Until) -> None:
        left = Stream.resumable(Ledger(6).pairs)
        right = Stream.resumable(Ledger(6, of=lambda n: 100 + n).pairs)
        (left.concat(right) | Sink.for_each(end)).run(checkpoint=tmp_path).wait(WAIT)

    first, second = Until(103), Until(-1)
    with pytest.raises(Stopped):
        run(first)
    run(second)
    assert first.came + second.came == [*range(1, 7), *range(101, 107)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> VirtualClock:
    """Have the time by which positions are written stand still until the test moves it."""
    found = VirtualClock(1000.0)
    monkeypatch.setattr(committing, "SYSTEM_CLOCK", found)
    return found


def kept(folder: Path) -> Any:
    return json.loads((folder / "positions.json").read_text())["positions"]["0"]


def test_what_is_done_is_kept_soon_though_nothing_more_comes(tmp_path: Path, clock: VirtualClock) -> None:
    places = KeptPositions(tmp_path, "source")
    for position in (1, 2, 3):
        places.keep(0, position)
    assert kept(tmp_path) == 1
    clock.advance(OFTEN)
    assert kept(tmp_path) == 3
    places.keep(0, 4)
    places.close()
    assert kept(tmp_path) == 4
    assert clock.pending == 0


def test_a_folder_that_is_lost_is_told_by_the_next_position(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "folder").mkdir()
    places = KeptPositions(tmp_path / "folder", "source")
    places.keep(0, 1)
    places.keep(0, 2)
    shutil.rmtree(tmp_path / "folder")
    clock.advance(OFTEN)
    with pytest.raises(FileNotFoundError):
        places.keep(0, 3)


def test_a_source_with_a_commit_is_told_as_well(tmp_path: Path) -> None:
    source = Ledger(10)
    (source.stream() | Sink.count()).run(checkpoint=tmp_path / "made" / "here").wait(WAIT)
    assert source.last == 10
    assert json.loads((tmp_path / "made" / "here" / "positions.json").read_text())["positions"] == {"0": 10}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            Stream.range(5).map(str) | Sink.to_list(),
            Stream.range(5).filter(bool) | Sink.to_list(),
            "it was range | map(str) | to_list, and is range | filter(bool) | to_list",
        ),
        (
            Stream.range(5) | Sink.count(),
            Stream.just(5) | Sink.count(),
            "it was range | count, and is just | count",
        ),
        (
            Stream.range(5).merge(Stream.range(7)) | Sink.count(),
            Stream.range(5).merge(Stream.just(1).map(str)) | Sink.count(),
            "it was merge(range, range) | count, and is merge(range, just | map(str)) | count",
        ),
    ],
    ids=["steps", "source", "inner"],
)
def test_another_pipeline_is_refused(before: Pipeline[Any], after: Pipeline[Any], words: str, tmp_path: Path) -> None:
    before.run(checkpoint=tmp_path).wait(WAIT)
    with pytest.raises(PenstockError) as caught:
        after.run(checkpoint=tmp_path)
    assert str(caught.value) == (
        f"run: the checkpoint in {tmp_path} is of another pipeline: {words}; give another folder, or the same pipeline"
    )


def test_a_branched_pipeline_says_its_branches(tmp_path: Path) -> None:
    (Stream.range(5) | branch(Sink.count(), Sink.to_list())).run(checkpoint=tmp_path).wait(WAIT)
    with pytest.raises(PenstockError, match=r"and is branches\(range, .*to_set"):
        (Stream.range(5) | branch(Sink.count(), Sink.to_set())).run(checkpoint=tmp_path)


@pytest.mark.parametrize(
    "stream", [Stream.interval(60), Stream.from_iterable(iter([1, 2]))], ids=["interval", "iterator"]
)
def test_a_source_that_cannot_go_on_is_refused(stream: Stream[int], tmp_path: Path) -> None:
    with pytest.raises(NotResumableError):
        (stream | Sink.count()).run(checkpoint=tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"chain": "range | count", "positions": 7}'])
def test_a_file_that_is_none_of_positions_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "positions.json").write_text(text)
    words = (
        f"^run: {re.escape(str(tmp_path))}.*positions.json is no file of positions: .*; give another folder, or remove"
    )
    with pytest.raises(PenstockError, match=words):
        (Stream.range(5) | Sink.count()).run(checkpoint=tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, reason in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "below", "Not a directory")):
        message = f"run: checkpoint must be a folder that can be written, got {place}: {reason}"
        with pytest.raises(PenstockError, match=f"^{re.escape(message)}$"):
            (Stream.range(5) | Sink.count()).run(checkpoint=place)


def test_what_is_no_folder_of_this_machine_is_refused() -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match=r"^run: checkpoint must be the path of a folder, got 5$"):
        (Stream.range(5) | Sink.count()).run(checkpoint=wrong)
    with pytest.raises(ValueError, match=r"must be a folder of this machine, got 'hdfs://host/folder'$"):
        (Stream.range(5) | Sink.count()).run(checkpoint="hdfs://host/folder")


def test_a_position_that_is_no_json_fails_the_run(tmp_path: Path) -> None:
    stream = Stream.resumable(lambda _: [(b"a", 1), (b"b", 2)])
    with pytest.raises((TypeError, CommitError), match=r"a checkpoint keeps positions that are JSON values, got b'"):
        (stream | Sink.for_each(str)).run(checkpoint=tmp_path).wait(WAIT)


@pytest.mark.slow
def test_nothing_is_lost_when_the_process_is_killed_ten_times(tmp_path: Path) -> None:
    results, checkpoint = tmp_path / "results", tmp_path / "checkpoint"
    command = [sys.executable, counting.__file__, str(results), str(checkpoint)]
    opened: list[int] = []
    for kill in range(10):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            opened.append(int(process.stdout.readline().removeprefix("opened")))
            for _ in range(20 + 17 * kill):
                assert process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert isinstance(json.loads((checkpoint / "positions.json").read_text())["positions"]["0"], int)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=WAIT)
    came = list(map(int, results.read_text().split()))
    assert set(came) == set(range(1, counting.COUNT + 1))
    assert opened == sorted(opened)
    assert opened[0] == 0 < opened[-1]


def test_equal_sources_that_are_told_nothing_have_a_position_each(tmp_path):
    numbers = Stream.range(5).merge(Stream.range(5)).concat(Stream.empty()).concat(Stream.empty())
    assert sorted((numbers | Sink.to_list()).run(checkpoint=tmp_path).wait()) == sorted([*range(5), *range(5)])
    assert (numbers | Sink.to_list()).run(checkpoint=tmp_path).wait() == []
